"""Debian's Firefox without a window, driven by WebDriver BiDi, which it speaks itself."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from waiting import PATIENCE, wait_until
from websockets.sync.client import ClientConnection, connect

FIREFOX = "firefox-esr"


class FirefoxPage:
    """One tab. What the page did wrong is in `faults`."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)
        self.faults: list[str] = []
        self.requests: list[str] = []
        self._ask("session.new", capabilities={})
        self._ask("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self._tab = self._ask("browsingContext.getTree")["contexts"][0]["context"]

    def _ask(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._connection.recv(PATIENCE))
            if message["type"] == "event":
                self._note(message["method"], message["params"])
            elif message["id"] == number:
                assert message["type"] == "success", message
                return message["result"]

    def _note(self, event: str, params: dict[str, Any]) -> None:
        if event == "network.beforeRequestSent":
            self.requests.append(params["request"]["url"])
        elif params["level"] in ("error", "warn"):
            self.faults.append(params["text"])

    def open(self, address: str) -> None:
        self._ask("browsingContext.setViewport", context=self._tab, viewport={"width": 1600, "height": 1000})
        self._ask("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """Return a text, number or truth value that JavaScript works out."""
        target = {"context": self._tab}
        answer = self._ask("script.evaluate", expression=expression, target=target, awaitPromise=True)
        assert answer["type"] == "success", answer
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        return wait_until(lambda: self.evaluate(expression), lambda: f"never so: {expression}\n{self.text()}")

    def text(self) -> str:
        return str(self.evaluate("document.body.innerText"))

    def press(self, *keys: str) -> None:
        """Press each and let it go, as a person does."""
        actions = [{"type": how, "value": key} for key in keys for how in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        self._ask("input.performActions", context=self._tab, actions=[source])

    def click(self, selector: str) -> None:
        """Click with the mouse at the middle of an element."""
        middle = self.evaluate(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            " return `${Math.round(box.x + box.width / 2)} ${Math.round(box.y + box.height / 2)}` })()"
        )
        x, y = map(int, middle.split())
        moves = [{"type": "pointerMove", "x": x, "y": y}]
        buttons = [{"type": how, "button": 0} for how in ("pointerDown", "pointerUp")]
        source = {"type": "pointer", "id": "mouse", "actions": [*moves, *buttons]}
        self._ask("input.performActions", context=self._tab, actions=[source])

    def keep_screenshot(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        picture = self._ask("browsingContext.captureScreenshot", context=self._tab)["data"]
        path.write_bytes(base64.b64decode(picture))


@contextlib.contextmanager
def firefox_page(folder: Path) -> Iterator[FirefoxPage]:
    """A tab of a Firefox of its own, whose profile and log are in a folder."""
    log = folder / "firefox.log"
    profile = folder / "profile"
    profile.mkdir()
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [FIREFOX, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, env={**os.environ, "HOME": str(folder)},
        )
    try:
        found = wait_until(
            lambda: re.search(r"listening on (ws://\S+)", log.read_text(encoding="utf-8")), lambda: log.read_text()
        )
        with connect(f"{found[1]}/session", max_size=None) as connection:
            yield FirefoxPage(connection)
    finally:
        process.terminate()
        process.wait(PATIENCE)
