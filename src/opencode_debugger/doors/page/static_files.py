"""The page's own files, which hold no secret: `/` is the page for browsers, `/page/` has what it loads."""

import hashlib
from functools import lru_cache
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ..rest.answer_form import prefers
from ..rest.front_page import address_of, front_text
from .joined_modules import join_modules

HTML = "text/html"
STATIC = Path(__file__).resolve().with_name("static")
INDEX = "index.html"
JOINED = {"app/main.js": None, "app/session_parts.js": "app/main.js", "app/stream_worker.js": None}
"""Modules that come with all that they need, and for each the one that has been loaded before."""
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
"""Types by the end of a name; files of no other kind are served."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""What the page may load and run: its own files, and nothing from elsewhere; no page of others may frame it."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
"""Browsers keep the files, and ask each time whether they are still the same: after an upgrade they are not."""


def static_routes() -> list[Route]:
    return [Route("/", get_front), Route("/page/{path:path}", get_file)]


async def get_front(request: Request) -> Response:
    """Answer browsers with the page, and others with a text that says where to go on."""
    if not prefers(request.scope, HTML):
        return PlainTextResponse(front_text(address_of(request)), headers={"Vary": "Accept"})
    answer = file_response(request, STATIC / INDEX)
    answer.headers["Vary"] = "Accept"
    return answer


async def get_file(request: Request) -> Response:
    found = find_file(request.path_params["path"])
    if found is None:
        raise HTTPException(404)
    return file_response(request, found)


def find_file(path: str) -> Path | None:
    """Return the file of a path below the folder of the page's files; nothing if it leads anywhere else."""
    try:
        found = (STATIC / path).resolve()
        is_ours = found.is_relative_to(STATIC) and found.suffix in KINDS and found.is_file()
    except (OSError, ValueError):  # too long, or with a null character
        return None
    return found if is_ours else None


def file_response(request: Request, path: Path) -> Response:
    content = content_of(path)
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={**HEADERS, "ETag": tag})
    return Response(content, headers={**HEADERS, "ETag": tag}, media_type=KINDS[path.suffix])


def content_of(path: Path) -> bytes:
    name = path.relative_to(STATIC).as_posix()
    if name not in JOINED:
        return path.read_bytes()
    return joined(name, max(file.stat().st_mtime_ns for file in STATIC.glob("*/*.js")))


@lru_cache(maxsize=len(JOINED))
def joined(name: str, changed_ns: int) -> bytes:
    return join_modules(STATIC, name, JOINED[name]).encode()
