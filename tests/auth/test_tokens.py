"""Tokens: how they are made, kept, used up and revoked; the local one; the relay with and without TLS."""

from __future__ import annotations

import json
import os
import re
import socket
import ssl
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import Result
from relays import RUN_ID, RUN_MARKER, Api, Relay, free_port, refusal
from typer.testing import CliRunner

from opencode_debugger import logs
from opencode_debugger.auth.access import Access
from opencode_debugger.auth.guard import HostNames
from opencode_debugger.auth.local import ensure_local_token
from opencode_debugger.auth.tokens import hash_of, new_token
from opencode_debugger.cli.serving.main import app
from opencode_debugger.errors import RelayError
from opencode_debugger.files import NotPrivate
from opencode_debugger.operations.scopes import ALL_SCOPES
from opencode_debugger.persistence.local_token import NoToken, own_token, read_local_token
from opencode_debugger.persistence.token_store import NameTaken, TokenStore

Write = Callable[..., Path]


def run_here(*args: str) -> Result:
    """The command in this process: quicker, where nothing is left running."""
    return CliRunner().invoke(app, args)


def command(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "opencode_debugger", *args],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "NO_COLOR": "1", RUN_MARKER: RUN_ID, **env},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    """A relay that wants tokens, and logs all that it can."""
    folder = tmp_path_factory.mktemp("strict") / "data"
    relay = Relay(folder, require_token=True, log_level="debug", token="ocdb_of-a-client").start()
    yield relay
    assert relay.stop() == 0


@pytest.fixture
def token(strict: Relay) -> Callable[..., str]:
    """Makes one with the command, while the relay runs."""

    def make(name: str, *scopes: str) -> str:
        options = [part for scope in scopes for part in ("--scope", scope)]
        done = command("token", "create", "--name", name, *options, "--data-dir", str(strict.data_dir))
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return make


# What they are.


def test_a_token_is_recognised_and_has_256_random_bits() -> None:
    made = {new_token() for _ in range(1000)}
    assert len(made) == 1000
    for token in made:
        assert re.fullmatch(r"ocdb_[A-Za-z0-9_-]{43}", token)
        assert logs.without_tokens(f"a {token} b".encode()) == b"a ocdb_... b"


def test_only_a_hash_is_kept(folder: Path) -> None:
    token = new_token()
    TokenStore(folder).add("ci", hash_of(token), ["admin"], expires_at=5.0)
    path = folder / "tokens.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token.removeprefix("ocdb_") not in path.read_text()
    (kept,) = json.loads(path.read_text())["tokens"]
    assert (kept["name"], kept["scopes"], kept["expires_at"]) == ("ci", ["admin"], 5.0)
    assert kept["hash"] == hash_of(token)


def test_a_token_is_good_until_the_moment_it_expires(folder: Path) -> None:
    now = 1000.0
    store = TokenStore(folder, clock=lambda: now)
    store.add("brief", hash_of("brief"), ["admin"], expires_at=2000.0)
    access = Access(store, is_required=True)
    caller = access.find_caller([(b"authorization", b"Bearer brief")])
    now = 1999.9
    caller.require("shutdown")
    now = 2000.0
    with pytest.raises(RelayError, match=r"The token 'brief' expired at 1970-01-01T00:33:20Z") as caught:
        caller.require("shutdown")
    assert caught.value.code == "UNAUTHORIZED"
    wait_for_uses()


def test_a_caller_whose_token_is_revoked_may_do_nothing_more(folder: Path) -> None:
    store = TokenStore(folder)
    store.add("ci", hash_of("ci"), list(ALL_SCOPES))
    caller = Access(TokenStore(folder), is_required=False).find_caller([(b"authorization", b"Bearer ci")], always=True)
    caller.require("debug")
    wait_for_uses()
    store.remove("ci")
    with pytest.raises(RelayError, match="it is wrong, or was revoked"):
        caller.require("debug")


def test_where_a_token_is_always_needed_nobody_else_comes_in(folder: Path) -> None:
    access = Access(TokenStore(folder), is_required=False)
    access.find_caller([]).require("shutdown")
    with pytest.raises(RelayError, match="none was sent") as caught:
        access.find_caller([(b"host", b"127.0.0.1")], always=True)
    assert caught.value.code == "UNAUTHORIZED"


# The store.


def wait_for_uses() -> None:
    for thread in threading.enumerate():
        if thread.name == "token-use":
            thread.join(10)


def test_use_is_recorded_once_a_minute(folder: Path) -> None:
    now = 1000.0
    store = TokenStore(folder, clock=lambda: now)
    token = store.add("ci", "hash", ["admin"])

    def last_use_after(moment: float) -> float | None:
        nonlocal now
        now = moment
        found = store.find("hash")
        assert found is not None
        store.note_use(found)
        wait_for_uses()
        return store.all()[0].last_used_at

    assert token.last_used_at is None
    assert last_use_after(1001.0) == 1001.0
    assert last_use_after(1060.0) == 1001.0
    assert last_use_after(1062.0) == 1062.0


def test_what_one_process_does_the_other_sees_at_once(folder: Path) -> None:
    relay, other = TokenStore(folder), TokenStore(folder)
    assert relay.find("hash") is None
    for _ in range(50):
        made = other.add("ci", "hash", ["admin"])
        found = relay.find("hash")
        assert found is not None and found.id == made.id
        other.remove(made.id)
        assert relay.find("hash") is None


def test_changes_at_the_same_time_lose_nothing(folder: Path) -> None:
    def add(number: int) -> None:
        TokenStore(folder).add(f"name {number}", f"hash {number}", ["admin"])

    threads = [threading.Thread(target=add, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(TokenStore(folder).all()) == 20


def test_a_use_does_not_bring_a_revoked_token_back(folder: Path) -> None:
    relay, other = TokenStore(folder), TokenStore(folder)
    token = relay.add("ci", "hash", ["admin"])
    other.remove("ci")
    relay.note_use(token)
    wait_for_uses()
    assert other.all() == []


def test_a_name_is_taken_once_and_an_id_wins_over_a_name(folder: Path) -> None:
    store = TokenStore(folder)
    first = store.add("ci", "1", ["admin"])
    with pytest.raises(NameTaken):
        store.add("ci", "2", ["admin"])
    store.add(first.id, "3", ["admin"])
    removed = store.remove(first.id)
    assert removed is not None and removed.name == "ci"


@pytest.mark.parametrize("content", ["{", "[]", '{"tokens": 5}', '{"tokens": [], "version": 99}'])
def test_a_file_that_cannot_be_understood_is_set_aside_and_lets_nobody_in(folder: Path, content: str) -> None:
    store = TokenStore(folder)
    store.add("ci", "hash", ["admin"])
    store.path.write_text(content)
    assert store.find("hash") is None
    (aside,) = folder.glob("tokens.json.corrupt-*")
    assert aside.read_text() == content


# Files that others may have had access to.


def opened(path: Path, mode: int) -> None:
    path.chmod(mode)


def linked(path: Path, _: int) -> None:
    real = path.with_name("elsewhere")
    path.rename(real)
    path.symlink_to(real)


@pytest.mark.parametrize("name", ["local-token", "tokens.json", ""])
@pytest.mark.parametrize(
    ("spoil", "mode", "said"),
    [
        (opened, 0o644, "its mode is 0644"),
        (opened, 0o620, "its mode is 0620"),
        (opened, 0o755, "its mode is 0755"),
        (linked, 0, "it is a symbolic link"),
    ],
)
def test_files_that_are_not_private_are_refused(
    folder: Path, name: str, spoil: Callable[[Path, int], None], mode: int, said: str
) -> None:
    store = TokenStore(folder)
    ensure_local_token(store)
    token = read_local_token(folder)
    spoil(folder / name, mode)
    with pytest.raises(NotPrivate, match=said) as caught:
        ensure_local_token(TokenStore(folder))
    assert str(folder / name) in str(caught.value) and "\n" not in str(caught.value)
    if name != "tokens.json":
        with pytest.raises(NoToken, match=said):
            read_local_token(folder)
    if name != "local-token":
        assert TokenStore(folder).find(hash_of(token)) is None


def test_files_of_somebody_else_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_local_token(TokenStore(folder))
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(NoToken, match=rf"it belongs to user {owner}\. Move it away"):
        read_local_token(folder)
    assert TokenStore(folder).find("hash") is None


def test_a_token_file_that_is_no_file_holds_nobody_up(folder: Path) -> None:
    os.mkfifo(folder / "local-token", 0o600)
    with pytest.raises(NotPrivate, match="it is not a file"):
        ensure_local_token(TokenStore(folder))


@pytest.mark.parametrize("spoil", ["mode", "link", "folder"])
def test_a_relay_does_not_start_with_a_token_file_that_is_not_private(tmp_path: Path, spoil: str) -> None:
    folder, port = tmp_path / "data", str(free_port())
    ensure_local_token(TokenStore(folder))
    if spoil == "link":
        linked(folder / "local-token", 0)
    else:
        (folder / "local-token" if spoil == "mode" else folder).chmod(0o755)
    done = command("serve", "--port", port, "--data-dir", str(folder))
    assert done.returncode == 1
    assert re.fullmatch(r"opencode-debugger: refusing to use \S+: it.+\n", done.stderr)
    assert read_or_none(tmp_path) not in done.stderr


def read_or_none(tmp_path: Path) -> str:
    found = [path for path in (tmp_path / "data").iterdir() if path.name in ("local-token", "elsewhere")]
    return found[0].read_text().strip()


# The local token.


def test_the_local_token_is_private_stays_and_has_all_scopes(strict: Relay) -> None:
    path = strict.data_dir / "local-token"
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert stat.S_IMODE(strict.data_dir.lstat().st_mode) == 0o700
    token = read_local_token(strict.data_dir)
    ensure_local_token(TokenStore(strict.data_dir))
    assert read_local_token(strict.data_dir) == token
    with Api(strict.base_url, token) as api:
        api.get("/config")
        with api.session() as session:
            session.launch(code="print('out')")
            assert session.output() == "out\n"


def test_a_new_local_token_is_made_when_the_old_one_is_gone(folder: Path) -> None:
    store = TokenStore(folder)
    ensure_local_token(store)
    tokens = [read_local_token(folder)]
    for gone in ("local-token", "tokens.json"):
        (folder / gone).unlink()
        ensure_local_token(TokenStore(folder))
        tokens.append(read_local_token(folder))
        (only,) = store.all()
        assert only.hash == hash_of(tokens[-1])
    assert len(set(tokens)) == 3


def test_clients_take_the_environments_token_before_the_local_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENCODE_DEBUG_TOKEN", raising=False)
    with pytest.raises(NoToken, match=r"start the relay \(opencode-debugger serve\), which makes it"):
        own_token(folder)
    ensure_local_token(TokenStore(folder))
    assert own_token(folder) == read_local_token(folder)
    monkeypatch.setenv("OPENCODE_DEBUG_TOKEN", "ocdb_mine")
    assert own_token(folder) == "ocdb_mine"


# The command, with a relay that runs.


def test_a_token_works_at_once_and_not_a_moment_after_it_is_revoked(strict: Relay, token: Callable[..., str]) -> None:
    with Api(strict.base_url, token("reader", "sessions:read")) as api:
        assert api.get("/sessions")["items"] == []
        error = refusal(403, "FORBIDDEN", api.post, "/sessions")
        assert error.details["required_scopes"] == ["sessions:write"]
        done = command("token", "revoke", "reader", "--data-dir", str(strict.data_dir))
        assert (done.returncode, done.stderr) == (0, "")
        refusal(401, "UNAUTHORIZED", api.get, "/sessions")


def test_a_stream_ends_when_its_token_is_revoked(strict: Relay, token: Callable[..., str], program: Write) -> None:
    script = program("import sys\nprint('first', flush=True)\nfor line in sys.stdin: print('more', flush=True)")
    local = Api(strict.base_url, read_local_token(strict.data_dir))
    with local, local.session() as session:
        session.launch(script, wait=False)
        headers = {"Authorization": f"Bearer {token('follower', 'sessions:read', 'artifacts:read')}"}
        url = f"{strict.base_url}/sessions/{session.id}/output/stream"
        with httpx2.stream("GET", url, headers=headers, timeout=30) as stream:
            lines = stream.iter_lines()
            assert next(line for line in lines if line.startswith("data:") and "first" in line)
            TokenStore(strict.data_dir).remove("follower")
            session.post("/stdin", {"input": "x\n"})
            rest = list(lines)
    assert "event: error" in rest
    assert '"code":"UNAUTHORIZED"' in next(line for line in reversed(rest) if line.startswith("data:"))


def test_the_token_of_a_tunnel_is_for_those_who_may_open_it(strict: Relay, token: Callable[..., str]) -> None:
    local = Api(strict.base_url, read_local_token(strict.data_dir))
    with local, local.session() as session, Api(strict.base_url, token("looker", "sessions:read")) as looker:
        session.launch(code="input()", wait=False)
        assert session.get()["debugger"]["token"]
        shown = looker.get(f"/sessions/{session.id}")["debugger"]
        assert shown["uri"].startswith("tcp://127.0.0.1:") and "token" not in shown


def test_the_list_shows_everything_but_the_tokens(folder: Path) -> None:
    made = json.loads(
        run_here(
            *("token", "create", "--name", "ci", "--scope", "admin,sessions:read", "--scope", "artifacts:read"),
            *("--expires", "2h", "--json", "--data-dir", str(folder)),
        ).stdout
    )
    assert made["scopes"] == ["sessions:read", "artifacts:read", "admin"]
    assert re.fullmatch(r"ocdb_[\w-]{43}", made.pop("token"))
    (listed,) = json.loads(run_here("token", "list", "--json", "--data-dir", str(folder)).stdout)
    assert listed == made
    assert list(listed) == ["id", "name", "scopes", "created_at", "expires_at", "last_used_at", "expired"]
    TokenStore(folder).add("old", "hash", list(ALL_SCOPES), expires_at=0.0)
    head, row, old = run_here("token", "list", "--data-dir", str(folder)).stdout.splitlines()
    assert head.split() == ["ID", "NAME", "SCOPES", "CREATED", "EXPIRES", "LAST", "USED"]
    assert row.split()[:3] == [made["id"], "ci", "sessions:read,artifacts:read,admin"]
    assert old.split()[2] == "all" and "1970-01-01T00:00:00Z (expired)" in old


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("create", "--name", "x", "--scope", "sessions:raed"), 1, "Did you mean sessions:read"),
        (("create", "--name", "x", "--scope", ""), 1, "choose from sessions:read, "),
        (("create", "--name", "x", "--scope", "all", "--expires", "soon"), 1, "30d, 8w (at most 10 years) or never"),
        (("create", "--name", "x", "--scope", "all", "--expires", "999999w"), 1, "at most 10 years"),
        (("create", "--name", " ", "--scope", "all"), 1, "printable characters"),
        (("create", "--name", "local", "--scope", "all"), 1, "choose another"),
        (("create", "--name", "taken", "--scope", "all"), 1, "opencode-debugger token revoke taken"),
        (("create", "--name", "x"), 2, "--scope"),
        (("revoke", "nobody"), 1, "opencode-debugger token list"),
        (("revoke", "ocdb_x"), 1, "give its id or name"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_what_the_command_cannot_do_it_says_with_what_to_do(
    folder: Path, args: tuple[str, ...], code: int, said: str
) -> None:
    TokenStore(folder).add("taken", "hash", ["admin"])
    done = run_here("token", *args, "--data-dir", str(folder))
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr
    assert code == 2 or re.fullmatch(r"opencode-debugger: .+\n", done.stderr)
    assert [token.name for token in TokenStore(folder).all()] == ["taken"]


def test_the_revoked_local_token_goes_with_its_file(folder: Path) -> None:
    ensure_local_token(TokenStore(folder))
    done = run_here("token", "revoke", "local", "--data-dir", str(folder))
    assert done.exit_code == 0 and "when it starts again" in done.stderr
    assert not (folder / "local-token").exists()
    assert TokenStore(folder).all() == []


# Where tokens never are.


def test_no_token_is_in_the_log_or_reaches_a_program(strict: Relay, token: Callable[..., str], program: Write) -> None:
    script = program("import os\nprint(dict(os.environ))\nprint(open('/proc/self/environ').read())")
    local, other = read_local_token(strict.data_dir), token("everything", "all")
    with Api(strict.base_url, other) as api:
        assert api.get("/sessions", limit=1)["limit"] == 1
        refusal(400, "INVALID_PARAMETER", api.get, "/sessions", token=other)
        refusal(404, "ROUTE_NOT_FOUND", api.get, f"/{local}")
        with api.session() as session:
            session.launch(script)
            printed = session.output()
        websocket = b"GET /sessions/x/logs HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %b\r\n" % (
            strict.port,
            other.encode(),
        )
        upgrade = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        with socket.create_connection(("127.0.0.1", strict.port), timeout=10) as connection:
            connection.sendall(websocket + upgrade + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
            assert connection.recv(65536)
    assert "PATH" in printed and "ocdb_" not in printed
    log = strict.log.read_text()
    assert "/api/v1/ocdb_..." in log
    files = [path for path in strict.data_dir.rglob("*") if path.is_file() and path.name != "local-token"]
    for text in (log, *(path.read_text(errors="replace") for path in files)):
        assert local not in text and other not in text and "ocdb_of-a-client" not in text


# Beyond loopback, and TLS.


def test_a_relay_listens_elsewhere_only_with_tokens(tmp_path: Path) -> None:
    serve = ("serve", "--host", "0.0.0.0", "--port", str(free_port()), "--data-dir", str(tmp_path / "data"))
    done = command(*serve)
    assert done.returncode == 1
    assert re.fullmatch(r"opencode-debugger: refusing to listen on 0\.0\.0\.0 without tokens: .+\n", done.stderr)
    assert not (tmp_path / "data").exists()
    relay = Relay(tmp_path / "data", host="0.0.0.0", require_token=True).start()
    try:
        assert httpx2.get(f"http://127.0.0.1:{relay.port}/api/v1/sessions").status_code == 401
        with Api(relay.base_url, read_local_token(relay.data_dir)) as api:
            assert api.get("/sessions")["items"] == []
    finally:
        assert relay.stop() == 0
    assert "tokens travel unencrypted" in relay.log.read_text()


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate, its key, another key, and its key with a password."""
    folder = tmp_path_factory.mktemp("pem")
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-addext", names]
    for command in (
        [*request, "-keyout", "key.pem", "-out", "cert.pem"],
        [*request, "-keyout", "other-key.pem", "-out", "other-cert.pem"],
        ["pkey", "-in", "key.pem", "-aes256", "-passout", "pass:secret", "-out", "locked-key.pem"],
    ):
        subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)
    (folder / "both.pem").write_text((folder / "cert.pem").read_text() + (folder / "key.pem").read_text())
    return folder


@contextmanager
def over_tls(relay: Relay, certfile: Path) -> Iterator[httpx2.Client]:
    """The relay, started and addressed by HTTPS."""
    trust = ssl.create_default_context(cafile=str(certfile))
    with httpx2.Client(base_url=f"https://localhost:{relay.port}", verify=trust, trust_env=False) as client:
        relay.is_up = lambda: client.get("/api/v1/health").status_code == 200
        relay.start()
        try:
            yield client
        finally:
            assert relay.stop() == 0


def test_handshakes_that_are_never_done_take_no_place_for_long(tmp_path: Path, pem: Path) -> None:
    relay = Relay(tmp_path / "data", descriptors=128, certfile=pem / "cert.pem", keyfile=pem / "key.pem")
    with over_tls(relay, pem / "cert.pem") as client, ExitStack() as stack:
        alone = {"Connection": "close"}  # one that is kept is idle, and makes room at any moment
        client.get("/api/v1/health", headers=alone)
        for _ in range(200):
            stack.enter_context(socket.create_connection(("127.0.0.1", relay.port), 20))
        assert client.get("/api/v1/sessions", headers=alone, timeout=60).status_code == 200
        assert client.post("/api/v1/sessions", headers=alone, timeout=60).status_code == 201
    log = relay.log.read_text()
    assert "Too many open files" not in log and "Traceback" not in log


def test_over_tls_a_session_is_debugged_and_the_relay_knows_its_own_origin(tmp_path: Path, pem: Path) -> None:
    relay = Relay(tmp_path / "data", require_token=True, certfile=pem / "cert.pem", keyfile=pem / "key.pem")
    with over_tls(relay, pem / "cert.pem") as client:
        assert client.get("/api/v1/sessions").status_code == 401
        client.headers["Authorization"] = f"Bearer {read_local_token(relay.data_dir)}"
        for origin, status in (("https", 200), ("http", 403)):
            answer = client.get("/api/v1/sessions", headers={"Origin": f"{origin}://localhost:{relay.port}"})
            assert answer.status_code == status
        id = client.post("/api/v1/sessions").json()["data"]["session_id"]
        ended = client.post(f"/api/v1/sessions/{id}/launch", json={"code": "print(6 * 7)", "wait": 30}, timeout=60)
        assert ended.json()["data"]["exit_code"] == 0
        assert client.get(f"/api/v1/sessions/{id}/output").json()["data"]["entries"][0]["output"] == "42\n"
        second = command("serve", "--port", str(free_port()), "--data-dir", str(relay.data_dir))
        assert f"https://127.0.0.1:{relay.port}" in second.stderr
        to_nobody = ("tunnel", "sess_00000000", "--listen", "0", "--data-dir", str(relay.data_dir))
        assert "there is no session" in command(*to_nobody).stderr, "the relay's own certificate is trusted"
        elsewhere = ("--server", f"https://127.0.0.1:{relay.port}")
        assert "is not trusted" in command(*to_nobody, *elsewhere).stderr
        assert "there is no session" in command(*to_nobody, *elsewhere, "--cafile", str(pem / "cert.pem")).stderr
    log = relay.log.read_text()
    assert f"API       https://127.0.0.1:{relay.port}/api/v1" in log
    assert "unencrypted" not in log


def test_a_certificate_may_have_its_key_in_the_same_file(tmp_path: Path, pem: Path) -> None:
    with over_tls(Relay(tmp_path / "data", certfile=pem / "both.pem"), pem / "cert.pem") as client:
        assert client.get("/api/v1/sessions").json()["data"]["items"] == []


@pytest.mark.parametrize(
    ("certfile", "keyfile", "said"),
    [
        ("missing.pem", "key.pem", "--certfile .*missing.pem: No such file"),
        ("cert.pem", "missing.pem", "--keyfile .*missing.pem: No such file"),
        ("cert.pem", "other-key.pem", "is not the key of the certificate"),
        ("cert.pem", "locked-key.pem", "has a password"),
        ("key.pem", "key.pem", "are not a certificate and its key in PEM format"),
        ("cert.pem", None, "give --keyfile"),
        (None, "key.pem", "of no use without --certfile"),
        (".", "key.pem", "Is a directory"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_said_in_one_line(
    tmp_path: Path, pem: Path, certfile: str | None, keyfile: str | None, said: str
) -> None:
    options = [part for name, file in (("--certfile", certfile), ("--keyfile", keyfile)) if file
               for part in (name, str(pem / file))]  # fmt: skip
    done = run_here("serve", "--port", str(free_port()), "--data-dir", str(tmp_path / "data"), *options)
    assert done.exit_code == 1
    assert re.fullmatch(rf"opencode-debugger: .*{said}.*\n", done.stderr), done.stderr
    assert not (tmp_path / "data").exists()


def test_the_usual_port_of_https_need_not_be_said() -> None:
    scope: dict[str, Any] = {"server": ("127.0.0.1", 443)}
    hosts = HostNames("127.0.0.1", 443, is_tls=True)
    assert hosts.is_own(scope, b"localhost") and hosts.is_own_origin(scope, b"https://localhost")
    assert not hosts.is_own_origin(scope, b"http://localhost:443")
    assert not HostNames("127.0.0.1", 443).is_own(scope, b"localhost")
