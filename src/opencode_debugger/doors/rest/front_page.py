"""What the relay says of itself in text: at `/` to programs, at `/llms.txt` to agents that debug with curl."""

from shlex import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ... import __version__

ABOUT = (
    "Keeps debug sessions of programs alive (Python, C, C++, Rust and more), and lets agents, scripts and editors "
    "drive them with single calls.")
PLACES = (
    ("/", "in a browser: the page that shows every session"),
    ("/llms.txt", "how to debug with curl, in one page"),
    ("/docs", "every call with its fields"),
    ("/openapi.json", "the same for programs"),
    ("/api/v1/sessions?format=text", "the sessions that there are, in words"),
    ("/api/v1/info?format=text", "versions, debuggers, endpoints"),
    ("/api/v1/health", "whether it is up"),
)

AGENTS = """\
# OpenCode Debug Relay {version}

> Debugs programs (Python, C, C++, Rust) with single HTTP calls; between them the program stands still. Debug when
> reading does not show which value is wrong, or where a program hangs: run to the place and look.

Paste this first. `Accept: text/plain`, or `?format=text`, gives short text; without it answers are JSON. Relays that
need a token take `-H "Authorization: Bearer TOKEN"`.

    R={base}/api/v1
    d() {{ {curl} -s -H 'Accept: text/plain' -H 'Content-Type: application/json' "$@"; }}

## Run to the first stop

    d $R/run -d '{{"script": "app.py", "cwd": "'"$PWD"'", "breakpoints": ["app.py:42 if x > 3", "Cart.add"]}}'
    d $R/run -d '{{"test": "tests/test_app.py::test_total", "cwd": "'"$PWD"'"}}'

The answer begins with the session's id, then: where and why it stopped, source, locals, stack, output. A test stops
where it fails, a program on an exception that nothing catches. More fields: `module`, `code`, `program` (native, or any
command), `args`, `env`, `stdin_inputs`, `watches`, `stop_on_entry`, `stop_on_exception` (uncaught, raised,
test_failure, false), `python_path`, `wait` (seconds). Breakpoints: `FILE:LINE`, `FILE~"TEXT OF THE LINE"`, `FUNCTION`,
`FILE:FUNCTION`, each with ` if CONDITION`, ` hits >=3`, ` log x is {{x}}` as needed. Put the id in here:

    S=$R/sessions/sess_1234abcd

## Look, while it is paused

    d $S/evaluate -d '{{"expression": "x * 2"}}'
    d $S/evaluate -d '{{"expression": "len(items)", "frame_id": 1}}'
    d $S/frames/0/variables
    d $S/stacktrace
    d $S/source
    d $S/report

Statements work too (`x = 3`). Frame 0 is the top.

## Move

    d $S/step-over -d '{{"count": 2}}'
    d -X POST $S/step-into
    d -X POST $S/step-out
    d $S/step-until -d '{{"expression": "x > 5"}}'
    d $S/run-to -d '{{"file": "app.py", "line": 43}}'
    d $S/breakpoints -d '{{"breakpoints": ["app.py:41 if x == 9"]}}'
    d -X DELETE $S/breakpoints/bp_1
    d -X POST "$S/continue?wait=30"

Each answers with the next stop, the end, or that it still runs. `run` and the steps wait 30 seconds unless `wait` says
otherwise; `continue` and `restart` wait only if told to.

## Input and output

    d "$S/output?tail=20"
    d "$S/stdin?wait=2" -d '{{"input": "yes\\n"}}'

## Programs that hang

    d -X POST $S/pause
    d $S/threads
    d $S/tasks
    d $S/locks
    d $S/threads/1/stacktrace

Locks say who waits for whom. Programs that run already:

    d $R/processes
    d $R/attach -d '{{"pid": 4711, "pause": true}}'

## Again, and the end

    d -X POST "$S/restart?wait=30"
    d $R/sessions
    d -X DELETE $S

Deleting ends the program, unless it was attached to. Sessions expire after an hour without a call.

## Errors

`error CODE: what happened`, then `→ what to call next`; in JSON `error.code`, `error.message` and
`error.details.suggestion`. The status is 4xx for what you can correct. Everything else: {base}/docs
"""


def text_routes(uds: str) -> list[Route]:
    """Return the routes of what the relay says of itself; `uds` is the unix socket on which it listens, if it does."""
    curl = f"curl --unix-socket {quote(uds)}" if uds else "curl"

    async def get_agents_text(request: Request) -> Response:
        return PlainTextResponse(AGENTS.format(version=__version__, base=address_of(request), curl=curl))

    return [Route("/llms.txt", get_agents_text)]


def address_of(request: Request) -> str:
    """Return the address by which the client has reached the relay: the guard has checked that it is one of ours."""
    return str(request.base_url).rstrip("/")


def front_text(base: str) -> str:
    rows = "".join(f"  {base}{path}  {what}\n" for path, what in PLACES)
    return f"OpenCode Debug Relay {__version__}\n{ABOUT}\n\n{rows}"
