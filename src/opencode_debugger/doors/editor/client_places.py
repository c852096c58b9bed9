"""Files, lines and columns as a client counts and calls them."""

import os
from urllib.parse import quote, unquote, urlsplit

from ...errors import RelayError
from ...files import is_inside
from .dap_arguments import Initialize, PathMapping


class ClientPlaces:
    def __init__(self) -> None:
        self._first_line = self._first_column = 1
        self._with_uris = False
        self.mappings: list[PathMapping] = []
        """where the client has the folders that the program runs from"""

    def learn_conventions(self, client: Initialize) -> None:
        self._first_line = int(client.lines_start_at1)
        self._first_column = int(client.columns_start_at1)
        self._with_uris = client.path_format == "uri"

    def own_path(self, given: str) -> str:
        """Return the session's path of a file of the client."""
        path = unquote(urlsplit(given).path) if self._with_uris else given
        if "\0" in path:
            raise RelayError("INVALID_REQUEST", "A path cannot contain NUL")
        for mapping in self.mappings:
            folder = mapping.local_root.rstrip("/\\")
            if path == folder or path.startswith((f"{folder}/", f"{folder}\\")):
                rest = path[len(folder) :].replace("\\", "/").lstrip("/")
                return os.path.normpath(os.path.join(mapping.remote_root, rest))
        return path

    def their_path(self, path: str) -> str:
        for mapping in self.mappings:
            folder = os.path.normpath(mapping.remote_root)
            if is_inside(path, folder):
                separator = "\\" if "\\" in mapping.local_root else "/"
                rest = path[len(folder) :].lstrip("/").replace("/", separator)
                path = mapping.local_root.rstrip("/\\") + separator + rest
                break
        return f"file://{quote(path)}" if self._with_uris else path

    def own_line(self, line: int) -> int:
        return line + 1 - self._first_line

    def their_line(self, line: int) -> int:
        return line - 1 + self._first_line

    def own_column(self, column: int) -> int:
        return column + 1 - self._first_column

    def their_column(self, column: int) -> int:
        return column - 1 + self._first_column
