"""The served OpenAPI document held against a real relay: no faults, and every answer as the document says."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import breadth
import httpx2
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from relays import Api, Relay, Session
from schemathesis.checks import not_a_server_error
from schemathesis.pytest.lazy import get_all_tests
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from stub_relay import ACCESS, StubRelay, StubSettings

from opencode_debugger.app import create_app
from opencode_debugger.doors.rest import openapi
from opencode_debugger.doors.rest.routes import PREFIX, OperationRoute

CONFORMANCE = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
HONEST = {"ATTACH_REFUSED", "ATTACH_TIMEOUT", "ATTACH_FAILED", "LAUNCH_FAILED"}
"""What random ports and interpreter options rightly end in; no other answer may be a 5xx."""

FIRST, THEN_ONE_IN = 4, 60
"""Cases of an operation that are tried, in the order in which they are made: some have hundreds."""
ONE_OF_OTHER_METHODS = 4
"""Of the methods that a path does not offer, five or so for each path: all of them at some paths."""
LARGE = {f"{PREFIX}/run", f"{PREFIX}/sessions/import"}
"""Each case starts a program or a session, and there are thousands, which take seconds to make: a few are made up."""
LONGEST = {"timeout": 1, "wait": 0.2, "connect_timeout": 1}
"""Seconds to which requests that may wait for minutes are held."""


STREAM = (0.5, 2, 8, 30)
"""Seconds for which a stream is read: that of events goes on also when the program has ended; more where the relay has
not begun to answer in that time."""


class Sessions:
    """Sessions in several states, one of them for each request; what a request used up is made again."""

    def __init__(self, api: Api, folder: Path) -> None:
        self.api = api
        self.script = folder / "program.py"
        # Ends by itself when its file is gone: some are let go by the requests that are tried.
        self.script.write_text(
            "import os, time\nitems = [1, 2]\nitems.append(items)\n"
            "while os.path.exists(__file__):\n    time.sleep(0.01)\n"
        )
        self.turns = itertools.cycle((None, "created", "paused", "terminated", "running", "paused"))
        self.wholly = itertools.cycle((True, True, False))
        """Whether an answer that may be lean is asked for as the document describes it."""
        self.made: dict[str, Session] = {}
        self.are_as_before = False
        """Since the last look: what was refused has changed none."""

    def next_id(self, ended: bool = False) -> str | None:
        state = next(self.turns)
        if state is None:
            return None
        if ended:
            state = "terminated"
        if not (self.are_as_before and state in self.made):
            self.look(state)
        self.are_as_before = True
        return self.made[state].id

    def look(self, state: str) -> None:
        there = {item["session_id"]: item["status"] for item in self.api.get("/sessions", limit=1000)["items"]}
        self.made = {name: session for name, session in self.made.items() if there.get(session.id) == name}
        if state not in self.made:
            self.made[state] = self.make(state)
        self.remove_others(there)

    def make(self, state: str) -> Session:
        session = self.api.session()
        if state == "paused":
            session.break_at(self.script, 5)
            session.launch(self.script)
        elif state == "running":
            session.launch(self.script, wait=False)
        elif state == "terminated":
            session.launch(code="print('done')")
        return session

    def remove_others(self, there: dict[str, str]) -> None:
        """Those that are used up, and those that requests to create one have left."""
        for id in set(there) - {session.id for session in self.made.values()}:
            self.api.delete(f"/sessions/{id}", force="true")


@pytest.fixture(scope="module")
def own_relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    folder = tmp_path_factory.mktemp("schemathesis")
    relay = Relay(folder / "data", **SETTINGS).start()
    yield relay
    assert relay.stop() == 0


@pytest.fixture(scope="module")
def sessions(own_relay: Relay, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    with Api(own_relay.base_url) as api:
        sessions = Sessions(api, tmp_path_factory.mktemp("program"))
        yield sessions
        sessions.script.unlink()


APP = create_app(StubRelay(), StubSettings(), ACCESS)
PATHS = dict.fromkeys(route.path for route in APP.routes if isinstance(route, OperationRoute))
SETTINGS = {"max_sessions": 50, "dap_timeout_seconds": 1, "evaluate_timeout_seconds": 3}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return openapi.openapi_document(StubSettings().port)


@pytest.fixture(scope="module")
def whole(document: dict[str, Any]) -> BaseSchema:
    schema = schemathesis.openapi.from_dict(document)
    schema.hook("filter_case")(is_tried)
    return schema


TRIED = [path for path in PATHS if not path.endswith("/shutdown")][:: 1 if breadth.ALL else 3]


@pytest.fixture(params=TRIED)
def part(whole: BaseSchema, request: pytest.FixtureRequest) -> BaseSchema:
    is_large = request.param in LARGE
    whole.config.phases.coverage.enabled = breadth.ALL or not is_large
    whole.config.phases.fuzzing.enabled = breadth.ALL or is_large
    return whole.include(path=request.param)


def test_the_relay_serves_this_document(own_relay: Relay, document: dict[str, Any]) -> None:
    served = httpx2.get(f"http://127.0.0.1:{own_relay.port}/openapi.json", timeout=60).json()
    served["info"]["description"] = document["info"]["description"]  # has the relay's port
    assert served == json.loads(json.dumps(document))


FEW = settings(max_examples=4, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))


def test_answers_are_as_the_document_says(part: BaseSchema, own_relay: Relay, sessions: Sessions) -> None:
    """Without `parametrize` of the schema: each worker would make all cases, which takes a while, to collect them."""
    for operation in get_all_tests(schema=part, test_func=check, settings=FEW, given_kwargs=None):
        _, try_all = operation.ok()
        try_all(own_relay=own_relay, sessions=sessions)


made: Counter[str] = Counter()


def check(case: schemathesis.Case, own_relay: Relay, sessions: Sessions) -> None:
    endless = case.path.endswith("/stream")  # as long as the program runs
    if "session_id" in case.path_parameters and (session_id := sessions.next_id(ended=endless)):
        case.path_parameters["session_id"] = session_id
    case.headers.pop("Authorization", None)  # none that it makes up is good
    if str((case.query or {}).get("lean")).lower() == "true" and next(sessions.wholly):
        case.query["lean"] = "false"
    shorten(case.query)
    shorten(case.body)
    response = call_patiently(case, own_relay.base_url.removesuffix("/api/v1"), STREAM if endless else (None,))
    sessions.are_as_before &= case.method == "GET" or response.status_code >= 400
    if case.path.endswith("/wheel") and response.status_code == 200:
        sessions.made.clear()  # who has the wheel would be all that later requests are told
    is_lean = str((case.query or {}).get("lean")).lower() == "true"  # the document describes whole answers
    checks = [each for each in CONFORMANCE if not (is_lean and each is response_schema_conformance)]
    case.validate_response(response, checks=checks)
    if case.method == "PATCH" and case.path.endswith("/config") and response.status_code == 200:
        restore_settings(sessions.api)
    if response.status_code >= 500 and not any(code in response.text for code in HONEST):
        case.validate_response(response, checks=[not_a_server_error])


def is_tried(context: schemathesis.HookContext, case: schemathesis.Case) -> bool:
    is_offered = case.method.upper() == case.operation.method.upper()
    made[case.operation.label if is_offered else ""] += 1
    number = made[case.operation.label if is_offered else ""]
    if not is_offered:
        return breadth.ALL or number % ONE_OF_OTHER_METHODS == 0
    return breadth.ALL or number <= FIRST or number % THEN_ONE_IN == 0


def call_patiently(case: schemathesis.Case, url: str, patience: Sequence[float | None]) -> schemathesis.Response:
    try:
        return case.call(base_url=url, timeout=patience[0])
    except requests.ReadTimeout:
        if len(patience) == 1:
            raise
        return call_patiently(case, url, patience[1:])


def restore_settings(api: Api) -> None:
    """So that the next request finds a relay as the first did."""
    settings = api.get("/config")["settings"]
    defaults = {name: setting["default"] for name, setting in settings.items() if setting["changeable"]}
    api.patch("/config", {**defaults, **SETTINGS})


def shorten(values: Any) -> None:
    for name, longest in LONGEST.items():
        if isinstance(values, dict) and (values.get(name) is True or is_longer(values.get(name), longest)):
            values[name] = longest


def is_longer(value: Any, longest: float) -> bool:
    try:
        return not isinstance(value, bool) and longest < float(value) < float("inf")
    except (TypeError, ValueError):
        return False
