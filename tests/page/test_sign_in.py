"""Browsers sign in on a relay that asks for tokens: by a code that works once, for a cookie of the page's own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from locked_door import Locked, locked_door
from relays import Relay
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from opencode_debugger.auth.sign_ins import CODE_SECONDS, MOST_TRIES, SIGN_IN_SECONDS, SignIns, set_cookie
from opencode_debugger.auth.tokens import hash_of

SIGN_IN, SIGN_OUT, CODE = "/api/v1/sign-in", "/api/v1/sign-out", "/api/v1/sign-in-code"
SESSIONS = "/api/v1/sessions"
OWN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    with locked_door(tmp_path_factory.mktemp("tokens") / "data") as locked:
        yield locked


class Browser:
    """A client that keeps its cookie, and says where its requests come from."""

    def __init__(self, locked: Locked) -> None:
        self.origin = f"http://127.0.0.1:{locked.door.port}"
        self.client = locked.door.client
        self.cookie = ""

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        with_cookie = {"Cookie": self.cookie} if self.cookie else {}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.request(method, path, json=body, headers={**with_cookie, **given})

    def sign_in(self, **given: str) -> httpx2.Response:
        answer = self.send("POST", SIGN_IN, given, Origin=self.origin)
        self.cookie = answer.headers.get("set-cookie", "").partition(";")[0]
        return answer

    def may_look(self, **headers: str) -> int:
        return self.send("GET", SESSIONS, **(headers or {"Sec_Fetch_Site": "same-origin"})).status_code


@pytest.fixture
def browser(locked: Locked) -> Browser:
    return Browser(locked)


def test_a_token_signs_in_for_a_cookie_that_no_script_can_read(locked: Locked, browser: Browser) -> None:
    answer = browser.sign_in(token=locked.tokens["all"])
    assert (answer.status_code, answer.json()["data"]["is_required"]) == (200, True)
    cookie = answer.headers["set-cookie"]
    assert re.fullmatch(
        rf"ocdb-{locked.door.port}=[\w-]{{43}}; Max-Age=43200; Path=/; HttpOnly; SameSite=Strict", cookie)
    assert locked.tokens["all"] not in cookie
    assert browser.may_look() == 200
    assert browser.may_look(Origin=browser.origin) == 200


@pytest.mark.parametrize("headers", [
    {}, {"Sec_Fetch_Site": "none"}, {"Accept": "text/html"}, {"Authorization": "Bearer wrong"},
])
def test_the_cookie_is_for_requests_of_the_page(locked: Locked, browser: Browser, headers: dict[str, str]) -> None:
    browser.sign_in(token=locked.tokens["all"])
    assert browser.may_look(**{"Accept": "*/*", **headers}) == 401


@pytest.mark.parametrize("headers", [
    {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}, {"Origin": "http://evil.example"},
    {"Origin": "http://127.0.0.1:1", "Sec_Fetch_Site": "same-site"}, {"Origin": "null"},
])
def test_other_sites_cannot_use_it_nor_sign_anybody_in(
    locked: Locked, browser: Browser, headers: dict[str, str]
) -> None:
    browser.sign_in(token=locked.tokens["all"])
    assert browser.may_look(**headers) == 403
    assert browser.send("POST", SIGN_IN, {"token": locked.tokens["all"]}, **headers).status_code == 403


def test_mcp_takes_tokens_only(locked: Locked, browser: Browser) -> None:
    browser.sign_in(token=locked.tokens["all"])
    assert browser.send("POST", "/mcp", {}, Origin=browser.origin).status_code == 401


def test_a_code_signs_in_once_with_the_scopes_of_its_token(locked: Locked, browser: Browser) -> None:
    reader = {"Authorization": f"Bearer {locked.tokens['sessions:read']}"}
    code = browser.send("POST", CODE, **reader).json()["data"]["code"]
    assert browser.sign_in(code=code).json()["data"]["scopes"] == ["sessions:read"]
    assert browser.may_look() == 200
    assert browser.send("POST", SESSIONS, {}, Origin=browser.origin).status_code == 403
    again = Browser(locked).sign_in(code=code)
    assert (again.status_code, "set-cookie" in again.headers) == (401, False)
    assert "ocdb open" in again.json()["error"]["details"]["suggestion"]
    assert browser.send("POST", CODE).status_code == 401


@pytest.mark.parametrize("given, status", [
    ({"token": "wrong"}, 401), ({"code": "x" * 500}, 401), ({"code": "x" * 501}, 400), ({}, 400), ({"code": ""}, 400),
    ({"code": "a", "token": "b"}, 400), ({"user": "me"}, 400), ({"token": "\0"}, 401), ({"token": "ü" * 400}, 401),
])
def test_what_is_wrong_signs_nobody_in(browser: Browser, given: dict[str, str], status: int) -> None:
    answer = browser.sign_in(**given)
    assert (answer.status_code, browser.cookie) == (status, "")
    assert answer.json()["error"]["details"]["suggestion"]


@pytest.mark.parametrize("kind", ["expired", "revoked"])
def test_tokens_that_are_no_longer_good_sign_nobody_in(locked: Locked, browser: Browser, kind: str) -> None:
    assert browser.sign_in(token=locked.tokens[kind]).status_code == 401


def test_whoever_signs_out_is_out(locked: Locked, browser: Browser) -> None:
    browser.sign_in(token=locked.tokens["all"])
    other = Browser(locked)
    other.sign_in(token=locked.tokens["all"])
    answer = browser.send("POST", SIGN_OUT, Origin=browser.origin)
    assert (answer.status_code, "Max-Age=0" in answer.headers["set-cookie"]) == (200, True)
    assert (browser.may_look(), other.may_look()) == (401, 200)


def test_codes_and_sign_ins_end_in_time_and_wrong_codes_are_counted() -> None:
    now = [1000.0]
    sign_ins = SignIns(lambda: now[0])
    late, _ = sign_ins.make_code("token")
    now[0] += CODE_SECONDS
    with pytest.raises(Exception, match="expired"):
        sign_ins.take_code(late)
    code, _ = sign_ins.make_code("token")
    for _ in range(MOST_TRIES):
        with pytest.raises(Exception, match="wrong"):
            sign_ins.take_code("guessed")
    with pytest.raises(Exception, match="wrong"):
        sign_ins.take_code(code)
    id, _ = sign_ins.sign_in("token")
    assert sign_ins.find(hash_of(id)) == "token"
    now[0] += SIGN_IN_SECONDS
    assert sign_ins.find(hash_of(id)) is None


def test_with_tls_the_cookie_is_for_tls_alone() -> None:
    assert set_cookie("__Host-ocdb-1", "x", 60, is_tls=True).endswith(b"; Path=/; HttpOnly; SameSite=Strict; Secure")


def test_serve_and_ocdb_open_give_an_address_that_signs_in(tmp_path: Path) -> None:
    relay = Relay(tmp_path / "data", require_token=True).start()
    try:
        (printed,) = re.findall(r"Page +(\S+)", relay.log.read_text())
        command = [sys.executable, "-m", "opencode_debugger", "open", "--print", "--data-dir", str(relay.data_dir)]
        opened = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
        for address in (printed, opened):
            origin, _, code = address.partition("/?code=")
            with httpx2.Client(base_url=origin, headers={"Origin": origin}) as client:
                assert client.get(SESSIONS).status_code == 401
                page = client.get("/", headers={"Accept": "text/html"})
                assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
                assert client.post(SIGN_IN, json={"code": code}).status_code == 200
                assert client.get(SESSIONS).status_code == 200
                cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
            url, sent = f"ws://127.0.0.1:{relay.port}/sessions/sess_1/debug", {"Cookie": cookie}
            refused = pytest.raises(ConnectionClosed, match="UNAUTHORIZED")  # WebSockets are for tokens
            with connect(url, additional_headers=sent, origin=origin) as socket, refused:
                socket.recv(timeout=10)
            assert httpx2.post(f"{origin}{SIGN_IN}", json={"code": code}, headers={"Origin": origin}).status_code == 401
    finally:
        assert relay.stop() == 0
