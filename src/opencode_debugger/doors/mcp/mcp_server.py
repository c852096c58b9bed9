"""Makes the MCP server: tools, resources and the prompt, whatever the transport."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from difflib import get_close_matches
from typing import Any, Protocol

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)
from msgspec import MsgspecError

from ... import __version__
from ...agents.conversation import Conversation, Told
from ...agents.table import AGENT_CALLS, AgentCall
from ...client.address import Problem
from ...errors import RelayError
from ...operations.door_words import MCP, speak_as
from ...text.render import render_error
from ...text.secrets import mask_answer
from . import session_resources
from .server_words import INSTRUCTIONS, WORKFLOW
from .tool_calls import compact_schema, list_tools, read_arguments

Context = ServerRequestContext[Any]

SHOW_ONLY_STRUCTURE = ("claude-code", "visual studio code")
"""Clients whose models see the structured content and not the text, if there are both: they get the text alone."""
BETWEEN_NOTICES = 3.0
"""Seconds between two times that a client is told how long it has been waiting."""
NOT_UNDERSTOOD = (
    "the relay's answer is not understood ({error}): it has another version. Start one of this version, and call again")
PROMPT = Prompt(
    name="debug", title="Debug", description="How to find a bug with this debugger",
    arguments=[PromptArgument(name="problem", description="what goes wrong")])


class Connections(Protocol):
    """The clients of a transport."""

    async def converse(self, context: Context) -> Conversation:
        """Return the conversation that a request is part of."""

    def has_relay(self) -> bool:
        """Tell whether there is a relay to be asked; else one would be started."""


def make_server(connections: Connections) -> Server[Any]:
    calls = Calls(connections)
    return Server(
        "opencode-debugger", version=__version__, title="OpenCode Debug Relay", instructions=INSTRUCTIONS,
        get_tool_input_schema=input_schema, on_list_tools=calls.list_tools, on_call_tool=calls.call_tool,
        on_list_resources=calls.list_resources, on_list_resource_templates=calls.list_resource_templates,
        on_read_resource=calls.read_resource, on_list_prompts=calls.list_prompts, on_get_prompt=calls.get_prompt)


def input_schema(name: str) -> dict[str, Any] | None:
    return compact_schema(AGENT_CALLS[name].takes) if name in AGENT_CALLS else None


class Calls:
    """Carries out what clients ask for."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def list_tools(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=list_tools())

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        call = find_call(params.name)
        with speak_as(MCP):
            try:
                given = read_arguments(call, params.arguments or {})
                async with telling_progress(context):
                    told = await call.perform(await self._connections.converse(context), given)
            except (RelayError, Problem, MsgspecError) as error:
                return CallToolResult(content=[text_content(refusal_text(error))], is_error=True)
        return CallToolResult(content=[text_content(told.text)], structured_content=structure_of(context, told))

    async def list_resources(self, context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        with speak_as(MCP), refusals_told():
            # Clients ask for it before anybody wants to debug.
            if not self._connections.has_relay():
                return ListResourcesResult(resources=[])
            conversation = await self._connections.converse(context)
            return ListResourcesResult(resources=await session_resources.list_outputs(conversation))

    async def list_resource_templates(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=session_resources.TEMPLATES)

    async def read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        with speak_as(MCP), refusals_told():
            text = await session_resources.read_resource(await self._connections.converse(context), params.uri)
        return ReadResourceResult(contents=[text])

    async def list_prompts(self, context: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=[PROMPT])

    async def get_prompt(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        if params.name != PROMPT.name:
            raise MCPError(INVALID_PARAMS, f"There is no prompt {params.name[:100]!r}: {PROMPT.name} is the one")
        problem = (params.arguments or {}).get("problem")
        text = f"{WORKFLOW}\n\nThe problem: {problem}" if problem else WORKFLOW
        return GetPromptResult(messages=[PromptMessage(role="user", content=text_content(text))])


def find_call(name: str) -> AgentCall:
    if (call := AGENT_CALLS.get(name)) is not None:
        return call
    near = get_close_matches(name, AGENT_CALLS, 1)
    meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(AGENT_CALLS)}"
    raise MCPError(INVALID_PARAMS, f"There is no tool {name[:100]!r}: {meant}")


def text_content(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def client_name(context: Context) -> str:
    """Return what the client calls itself; nothing if it has not said it."""
    client = context.session.client_params
    return client.client_info.name if client is not None else ""


def structure_of(context: Context, told: Told) -> dict[str, Any] | None:
    """Return the answer as structured content, which is an object; nothing for clients that would hide the text."""
    if client_name(context).lower().startswith(SHOW_ONLY_STRUCTURE):
        return None
    shown = mask_answer(told.data)
    return shown if isinstance(shown, dict) else {"items": shown}


@contextmanager
def refusals_told() -> Iterator[None]:
    """Tell what is refused as an error of the protocol: a resource has no other place for it."""
    try:
        yield
    except (RelayError, Problem, MsgspecError) as error:
        raise MCPError(INVALID_PARAMS, refusal_text(error)) from None


def refusal_text(error: RelayError | Problem | MsgspecError) -> str:
    if isinstance(error, RelayError):
        return render_error(error.to_dict())
    return f"error: {NOT_UNDERSTOOD.format(error=error) if isinstance(error, MsgspecError) else error}"


@asynccontextmanager
async def telling_progress(context: Context) -> AsyncIterator[None]:
    """Tell a client how long it waits for the block, if it has asked for that with a progress token."""
    if not context.meta or context.meta.get("progress_token") is None:
        yield
        return
    telling = asyncio.create_task(_tell_progress(context))
    try:
        yield
    finally:
        telling.cancel()


async def _tell_progress(context: Context) -> None:
    started = time.monotonic()
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the client has gone
        while True:
            await asyncio.sleep(BETWEEN_NOTICES)
            seconds = time.monotonic() - started
            await context.session.report_progress(seconds, message=f"running, {seconds:.0f} s")
