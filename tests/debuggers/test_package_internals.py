"""Inner parts of other packages that our code leans on are still there.

The classes below are extended beyond what their packages promise. Whatever our files use of them must exist, and
whatever they override must still be a method there, or it would never be called.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
import uvicorn
from starlette.routing import Route
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.server import ServerProtocol

from opencode_debugger.cli.serving import serve
from opencode_debugger.doors.rest import routes
from opencode_debugger.doors.transport import uvicorn_http, uvicorn_websocket

Overrides = tuple[str, ...]

EXTENDED: list[tuple[type, type, Overrides, dict[str, type]]] = [
    (
        uvicorn_http.Http,
        HttpToolsProtocol,
        (
            "connection_made",
            "connection_lost",
            "data_received",
            "handle_websocket_upgrade",
            "on_message_begin",
            "on_header",
            "on_headers_complete",
            "on_body",
            "on_message_complete",
            "on_response_complete",
            "pause_writing",
            "resume_writing",
            "send_400_response",
            "shutdown",
        ),
        {"flow": FlowControl, "cycle": RequestResponseCycle},
    ),
    (
        uvicorn_websocket.BoundedWebSocket,
        WebSocketsSansIOProtocol,
        (
            "connection_lost",
            "data_received",
            "handle_connect",
            "handle_ping",
            "handle_close",
            "handle_parser_exception",
            "send_receive_event_to_app",
            "pause_writing",
            "resume_writing",
            "shutdown",
        ),
        {"conn": ServerProtocol},
    ),
    (
        serve.RelayServer,
        uvicorn.Server,
        ("startup", "on_tick", "shutdown", "capture_signals"),
        {"server_state": ServerState, "config": uvicorn.Config},
    ),
    (routes.OperationRoute, Route, ("matches",), {}),
]
NAMES = [ours.__name__ for ours, *_ in EXTENDED]


def attributes(of: type) -> set[str]:
    """Return the names that instances have: methods, and what the package's source assigns to `self`."""
    found = set(dir(of))
    for each in of.__mro__:
        if each.__module__ != "builtins":
            for node in ast.walk(syntax_of(each)):
                if isinstance(node, ast.Attribute) and is_self(node.value) and isinstance(node.ctx, ast.Store):
                    found.add(node.attr)
            found |= set(getattr(each, "__annotations__", ()))
    return found


def syntax_of(each: type) -> ast.AST:
    module = ast.parse(inspect.getsource(inspect.getmodule(each) or each))
    classes = [node for node in ast.walk(module) if isinstance(node, ast.ClassDef) and node.name == each.__name__]
    return classes[0] if classes else module


def is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def own_names(syntax: ast.AST) -> set[str]:
    """Return the methods and attributes that our class has of its own."""
    defined = {node.name for node in ast.walk(syntax) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    nodes = [node for node in ast.walk(syntax) if isinstance(node, ast.Attribute) and is_self(node.value)]
    return defined | {node.attr for node in nodes if isinstance(node.ctx, ast.Store)}


def where(ours: type, name: str, theirs: type) -> str:
    file = Path(inspect.getfile(ours)).name
    return f"{file} leans on {theirs.__module__}.{theirs.__name__}.{name}, which is no longer there"


@pytest.mark.parametrize(("ours", "theirs", "overridden", "parts"), EXTENDED, ids=NAMES)
def test_what_is_overridden_is_a_method_of_the_package(
    ours: type, theirs: type, overridden: Overrides, parts: dict[str, type]
) -> None:
    for name in overridden:
        assert name in vars(ours), f"{ours.__name__} does not override {name} any more: take it off this list"
        assert callable(getattr(theirs, name, None)), where(ours, name, theirs)
    also = {name for name in vars(ours) if not name.startswith("__") and name in dir(theirs)}
    assert also <= {*overridden}, f"{ours.__name__} overrides more: add it to this list"


@pytest.mark.parametrize(("ours", "theirs", "overridden", "parts"), EXTENDED, ids=NAMES)
def test_what_is_used_of_a_package_exists(
    ours: type, theirs: type, overridden: Overrides, parts: dict[str, type]
) -> None:
    syntax = syntax_of(ours)
    own, inherited = own_names(syntax), attributes(theirs)
    for node in ast.walk(syntax):
        if isinstance(node, ast.Attribute) and is_self(node.value):
            assert node.attr in own or node.attr in inherited, where(ours, node.attr, theirs)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and is_self(node.value.value):
            part = parts.get(node.value.attr)
            assert part is None or node.attr in attributes(part), part and where(ours, node.attr, part)
    for name in parts:
        assert name in inherited, where(ours, name, theirs)
