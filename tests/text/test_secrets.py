"""Values of names that look like secrets are masked in text, unless they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from relays import Session
from text_answers import in_text, launch_in_text, step_in_text

from opencode_debugger.text.secrets import MASK, looks_secret, mask_inside, mask_value

PROGRAM = """
    import os
    from dataclasses import dataclass

    @dataclass
    class Login:
        user: str
        password: str

    def connect(db_password, author):
        login = Login("eve", db_password)
        config = {"apiKey": db_password, "host": "here"}
        url = f"postgres://eve:{db_password}@here/db"
        headers = {"Authorization": f"Bearer {db_password}", "Accept": "text/plain"}
        token = None
        retries = 3  # @here
        db_password = db_password[::-1]  # @turned
        return login, config, url, headers, token, author

    connect("hunter2hunter2", "Eve")  # @call
"""


def test_no_text_has_a_secret(session: Session, program: Callable[..., Path]) -> None:
    path = program(PROGRAM)
    session.break_at(path, "here")
    stop = launch_in_text(session, path)
    assert f"db_password = {MASK}" in stop and f"login = Login(user='eve', password={MASK})" in stop
    assert f"config = {{'apiKey': {MASK}, 'host': 'here'}}" in stop
    assert f"url = 'postgres://eve:{MASK}@here/db'" in stop
    assert "author = 'Eve'" in stop and "token = None" in stop
    step_in_text(session)
    changed = step_in_text(session)
    assert f"changed: db_password: {MASK} → {MASK}" in changed
    rows = in_text(session, "GET", "/frames/0/variables")
    assert f"db_password: str = {MASK}" in rows
    config = session.evaluate("config")["variables_reference"]
    assert f"'apiKey': str = {MASK}" in in_text(session, "GET", f"/variables/{config}")
    for text in (stop, changed, rows, in_text(session, "GET", "/report")):
        assert "hunter2" not in "".join(line for line in text.split("\n") if "@call" not in line)
        assert "2retnuh" not in text


def test_secrets_are_shown_when_they_are_asked_for(session: Session, program: Callable[..., Path]) -> None:
    path = program(PROGRAM)
    session.break_at(path, "here")
    session.launch(path)
    assert in_text(session, "POST", "/evaluate", {"expression": "db_password"}) == "'hunter2hunter2'"
    assert in_text(session, "POST", "/evaluate", {"expression": "config['apiKey']"}) == "'hunter2hunter2'"
    assert "hunter2" not in in_text(session, "POST", "/evaluate", {"expression": "[config, login]"})
    assert "db_password = 'hunter2hunter2'" in in_text(session, "GET", "/report", reveal="true")
    assert session.locals()["db_password"] == "'hunter2hunter2'"  # JSON is for programs


@pytest.mark.parametrize("name", [
    "password", "PASSWORD", "db_password", "userPassword", "'token'", "X-Auth-Token", "api_key", "APIKey", "apikey",
    "AWS_SECRET_ACCESS_KEY", "private_key", "sessionKey", "credentials", "auth", "HTTPAuth", "cookie", "self.secret",
])
def test_names_of_secrets(name: str) -> None:
    assert looks_secret(name)
    assert mask_value(name, "'value'") == MASK


@pytest.mark.parametrize("name", ["author", "tokenizer", "tokens", "key", "secretary", "PWD", "authority", "monkey"])
def test_names_of_other_things(name: str) -> None:
    assert not looks_secret(name)
    assert mask_value(name, "'value'") == "'value'"


@pytest.mark.parametrize("value", ["None", "True", "3", "''", "b''", "<function auth at 0x7f>", "[]"])
def test_what_is_no_secret_is_shown(value: str) -> None:
    assert mask_value("password", value) == value


@pytest.mark.parametrize(("text", "masked"), [
    ("{'password': 'x', 'n': 1}", f"{{'password': {MASK}, 'n': 1}}"),
    ("User(name='eve', api_key='it\\'s')", f"User(name='eve', api_key={MASK})"),
    ("{'token': 'cut off", f"{{'token': {MASK}"),
    ("'{\"secret\": \"x y\"}'", f"'{{\"secret\": {MASK}}}'"),
    ("'{\\'secret\\': \\'x y\\'}'", f"'{{\\'secret\\': {MASK}}}'"),
    ("{'password': None, 'secret': ''}", "{'password': None, 'secret': ''}"),
    ("{'Authorization': 'Bearer abc'}", f"{{'Authorization': {MASK}}}"),
    ("'curl -H \"x: Bearer abcdefgh1234\"'", f"'curl -H \"x: Bearer {MASK}\"'"),
    ("{'author': 'Eve', 'tokens': 'a b'}", "{'author': 'Eve', 'tokens': 'a b'}"),
])
def test_secrets_inside_of_values(text: str, masked: str) -> None:
    assert mask_inside(text) == masked


@given(st.text(), st.text(), st.sampled_from(["password", "api_key", "TOKEN"]))
def test_a_secret_in_a_mapping_is_never_shown(secret: str, other: str, name: str) -> None:
    value = repr({"x": other, name: f"!{secret}!", "z": 1})
    shown = mask_inside(value)
    assert repr(f"!{secret}!") not in shown or MASK not in shown
    assert MASK in shown


@given(st.text(alphabet="password='\"\\:{ =,x-_", max_size=500))
def test_any_text_can_be_masked(text: str) -> None:
    mask_inside(text)
