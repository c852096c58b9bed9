"""A real relay for tests, and a small client that says what it expects."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import breadth
import httpx2
import psutil
import pytest
from forked_relays import RELAY_FORKS, ForkedProcess
from waiting import runs, wait_until

from opencode_debugger.operations.event_kinds import EventKind
from opencode_debugger.runner.paths import FORKS

T = TypeVar("T")

RUN_MARKER = "TEST_RUN_OF_THE_RELAY"
RUN_ID = uuid.uuid4().hex
"""In the environment of everything that this test run starts."""


class ApiError(Exception):
    def __init__(self, status: int, error: dict[str, Any]) -> None:
        super().__init__(f"{status} {error['code']}: {error['message']} {error['details']}")
        self.status = status
        self.code: str = error["code"]
        self.message: str = error["message"]
        self.details: dict[str, Any] = error["details"]


class Api:
    """Calls that return `data`, or raise what the envelope says."""

    def __init__(self, base_url: str, token: str | None = None) -> None:
        self.base_url = base_url
        headers = {"Authorization": f"Bearer {token}"} if token else None
        # Without certificates to load a client is made in no time.
        self.http = httpx2.Client(base_url=base_url, timeout=60, headers=headers, verify=False)

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def request(self, method: str, path: str, body: Any = None, **params: Any) -> Any:
        answer = self.http.request(method, path, json=body, params=params or None)
        envelope = answer.json()
        if not envelope["success"]:
            raise ApiError(answer.status_code, envelope["error"])
        return envelope["data"]

    def get(self, path: str, **params: Any) -> Any:
        return self.request("GET", path, **params)

    def post(self, path: str, body: Any = None, **params: Any) -> Any:
        return self.request("POST", path, body, **params)

    def patch(self, path: str, body: Any = None, **params: Any) -> Any:
        return self.request("PATCH", path, body, **params)

    def delete(self, path: str, **params: Any) -> Any:
        return self.request("DELETE", path, **params)

    def session(self, **options: Any) -> Session:
        return Session(self, self.post("/sessions", options)["session_id"])


def refusal(status: int, code: str, call: Callable[..., Any], /, *args: Any, **options: Any) -> ApiError:
    """The error that a call must end in; each says what to do next."""
    try:
        answer = call(*args, **options)
    except ApiError as error:
        assert (error.status, error.code) == (status, code), error
        assert error.message
        assert len(error.details["suggestion"]) > 10
        return error
    raise AssertionError(f"expected {status} {code}, but it was done: {answer}")


class Session:
    """One session of the relay; `with` deletes it."""

    def __init__(self, api: Api, session_id: str) -> None:
        self.api = api
        self.id = session_id

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.api.delete(f"/sessions/{self.id}", force="true")
        except ApiError as error:
            if error.code not in ("SESSION_NOT_FOUND", "SESSION_EXPIRED"):
                raise

    def get(self, path: str = "", **params: Any) -> Any:
        return self.api.get(f"/sessions/{self.id}{path}", **params)

    def post(self, path: str, body: Any = None, **params: Any) -> Any:
        return self.api.post(f"/sessions/{self.id}{path}", body, **params)

    def patch(self, path: str, body: Any = None, **params: Any) -> Any:
        return self.api.patch(f"/sessions/{self.id}{path}", body, **params)

    def delete(self, path: str = "", **params: Any) -> Any:
        return self.api.delete(f"/sessions/{self.id}{path}", **params)

    def break_at(self, path: Path, *lines: int | str, **options: Any) -> list[dict[str, Any]]:
        """Breakpoints at lines given by number or by `# @marker`."""
        items = [{"source": {"path": str(path)}, "line": line_of(path, line), **options} for line in lines]
        return self.post("/breakpoints", {"breakpoints": items})["breakpoints"]  # type: ignore[no-any-return]

    def launch(self, script: Path | None = None, **options: Any) -> Any:
        """Waits for the first stop or the end, unless told otherwise."""
        target = {"script": str(script)} if script is not None else {}
        return self.post("/launch", {**target, "wait": 30, **options})

    def resume(self, **options: Any) -> Any:
        return self.post("/continue", {"wait": 30, **options})

    def step(self, how: str = "over", **options: Any) -> Any:
        return self.post(f"/step-{how}", options or None)

    def evaluate(self, expression: str, **options: Any) -> Any:
        return self.post("/evaluate", {"expression": expression, **options})

    def locals(self, frame_id: int = 0) -> dict[str, str]:
        rows = self.get(f"/frames/{frame_id}/variables")["variables"]
        return {row["name"]: row["value"] for row in rows}

    def output(self, category: str | None = "stdout") -> str:
        """Everything printed so far."""
        text, cursor = "", None
        while True:
            params = {"cursor": cursor} if cursor else {}
            page = self.get("/output", limit=1000, **params)
            text += "".join(e["output"] for e in page["entries"] if category in (None, e["category"]))
            cursor = page["next_cursor"]
            if not page["has_more"]:
                return text

    def wait_for_output(self, text: str) -> None:
        wait_until(lambda: text in self.output(None), lambda: f"{text!r} was not printed, but {self.output(None)!r}")

    def events(self, *types: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor = None
        while True:
            params = {"cursor": cursor} if cursor else {}
            page = self.get("/events", limit=1000, **params)
            found += page["events"]
            for event in page["events"]:
                assert EventKind(event["type"]).allows(event["body"]), event
            cursor = page["next_cursor"]
            if not page["has_more"]:
                return [event for event in found if not types or event["type"] in types]


@contextlib.contextmanager
def meanwhile(session: Session, call: Callable[[Session], Any]) -> Iterator[Future[Any]]:
    """What another client does with the session at the same time."""
    with Api(session.api.base_url) as api, ThreadPoolExecutor(1) as pool:
        yield pool.submit(call, Session(api, session.id))


def busy_until(go: Path) -> str:
    """An expression that prints `begun` and takes until there is such a file."""
    nap, is_there = "__import__('time').sleep(0.01)", f"lambda: __import__('os').path.exists({str(go)!r})"
    return f"print('begun', flush=True), [{nap} for _ in iter({is_there}, True)] and 'done'"


def line_of(path: Path, line: int | str) -> int:
    """A line number, or the number of the line that ends in `# @name` (in C: `// @name`)."""
    if isinstance(line, int):
        return line
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if re.search(rf"(#|//) @{re.escape(line)}\b", text):
            return number
    raise AssertionError(f"no line marked # @{line} in {path}")


def pythons(*versions: str, each: bool = breadth.ALL) -> dict[str, Path]:
    """Interpreters on this machine, by version; of all that the relay debugs, or of those asked for.

    Unless each of them is wanted, the oldest and the newest: tests that name no version use the relay's own.
    """
    wanted = versions or ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
    installed = sorted((Path.home() / ".pyenv" / "versions").glob("*/bin/python"))
    found = {version: path for version in wanted for path in installed if path.parts[-3].startswith(f"{version}.")}
    if len(found) > 2 and not each:
        found = {version: found[version] for version in (next(iter(found)), next(reversed(found)))}
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return found or {own: Path(sys.executable)}


def session_on(pythons: Iterable[Any]) -> Any:
    """A fixture: a session for programs of each of these interpreters, which may be parameters with marks."""

    @pytest.fixture(params=pythons)
    def session(request: pytest.FixtureRequest, api: Api) -> Iterator[Session]:
        with api.session(python_path=str(request.param)) as session:
            yield session

    return session


WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
PORTS = itertools.count(random.randrange(10_000, 20_000, 8) + WORKER % 8, 8)


def free_port() -> int:
    """For whoever binds it later: below those that the system hands out itself, and of this worker only."""
    for port in PORTS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("there is always one more")


COMMAND = (sys.executable, "-m", "opencode_debugger")


class Relay:
    """A relay in a process of its own."""

    def __init__(
        self,
        data_dir: Path,
        port: int | None = None,
        descriptors: int | None = None,
        started_by: tuple[str, ...] = (),
        **settings: Any,
    ) -> None:
        self.data_dir = data_dir
        self.started_by = ("prlimit", f"--nofile={descriptors}:") if descriptors else started_by
        self.port = port or free_port()
        self.settings = {"max_sessions": 100, **settings}
        self.log = data_dir.parent / f"relay-{self.port}.log"
        self.process: subprocess.Popen[bytes] | ForkedProcess | None = None
        self.program = COMMAND
        self.cwd: Path | None = None
        self.env: dict[str, str] = {}
        self.is_up = lambda: httpx2.get(f"{self.base_url}/health", verify=False).status_code == 200

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1"

    @property
    def is_ordinary(self) -> bool:
        """Whether nothing is special in how it is started."""
        return self.program == COMMAND and not self.started_by and self.cwd is None and not self.env

    def start(self) -> Relay:
        names = {f"OPENCODE_DEBUG_{name.upper()}": str(value) for name, value in self.settings.items()}
        where = [] if "uds" in self.settings else ["--port", str(self.port)]
        arguments = ["serve", *where, "--data-dir", str(self.data_dir)]
        env = {**os.environ, **names, RUN_MARKER: RUN_ID, **self.env}
        with open(self.log, "ab") as log:
            if self.is_ordinary:
                self.process = RELAY_FORKS.start(arguments, env, self.log)
            else:
                command = [*self.started_by, *self.program, *arguments]
                self.process = subprocess.Popen(
                    command, env=env, cwd=self.cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
        wait_until(self._has_answered, lambda: f"the relay did not start:\n{self.log.read_text()}")
        return self

    def _has_answered(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the relay did not start:\n{self.log.read_text()}"
        try:
            return self.is_up()
        except httpx2.TransportError:
            return False

    def runner_of(self, session: Session) -> psutil.Process:
        """The process that holds a session."""
        for runner in self.runners():
            with contextlib.suppress(psutil.Error):
                if runner.cmdline()[-1].endswith(session.id):
                    return runner
        raise AssertionError(f"no runner for {session.id}")

    def runners(self) -> list[psutil.Process]:
        """Those that run, spares included, the oldest first."""
        assert self.process is not None
        found = []
        for process in psutil.Process(self.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                command = process.cmdline()
                if command[-3:-1] == ["-m", "opencode_debugger.runner"] and not command[-1].endswith(FORKS):
                    found.append(process)
        return sorted((process for process in found if runs(process.pid)), key=psutil.Process.create_time)

    def call_back_of(self, session: Session) -> Path | None:
        """Where the program of a session calls its runner, while it is awaited."""
        return next((self.data_dir / "sessions" / session.id).glob("call-*"), None)

    def kill(self) -> None:
        """As a crash would: its runners live on."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """As Ctrl-C would."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(timeout=60)


def wait_for_requests(relay: Relay, count: int) -> None:
    """Until that many connections besides the test's own are open."""
    assert relay.process is not None
    process = psutil.Process(relay.process.pid)
    wait_until(lambda: sum(each.status == "ESTABLISHED" for each in process.net_connections("tcp")) > count)


def left_running() -> list[str]:
    """Processes of this test run that are still there."""
    found = []
    for process in psutil.process_iter():
        try:
            ours = process.pid != os.getpid() and process.environ().get(RUN_MARKER) == RUN_ID
            if ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid}: {' '.join(process.cmdline())}")
        except psutil.Error:
            continue
    return found
