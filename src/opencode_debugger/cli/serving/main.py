"""The command: `opencode-debugger` (short: `ocdb`)."""

from pathlib import Path
from typing import Annotated

import typer

from ...files import see_that_streams_are_open

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Debug programs with single calls.")
tokens = typer.Typer(no_args_is_help=True, help="Make, list and revoke tokens. Changes are in force at once.")
app.add_typer(tokens, name="token")

DataDir = Annotated[Path | None, typer.Option(help="Data folder of the relay (default ~/.opencode-debugger).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def main() -> None:
    """Debug programs with single calls: a relay keeps the sessions alive."""


@app.command()
def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on (default 127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on (default 5679); 0 for any.")] = None,
    uds: Annotated[str | None, typer.Option(help="Unix socket to listen on, instead of a port.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where sessions and breakpoints are kept.")] = None,
    env_file: Annotated[Path | None, typer.Option(help="File with settings, each NAME=VALUE.")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning, error or critical.")] = None,
    log_format: Annotated[str | None, typer.Option(help="text, json, or auto: text on a terminal.")] = None,
    require_token: Annotated[bool | None, typer.Option(
        "--require-token/--no-require-token", help="Ask for a token on every request.")] = None,
    allow_other_users: Annotated[bool | None, typer.Option(
        "--allow-other-users", help="Let other users of this machine in.")] = None,
    certfile: Annotated[str | None, typer.Option(help="Certificate chain (PEM), for HTTPS.")] = None,
    keyfile: Annotated[str | None, typer.Option(help="Private key of the certificate (PEM).")] = None,
    idle_exit_minutes: Annotated[float | None, typer.Option(
        "--idle-exit", "--idle-exit-minutes", metavar="MINUTES",
        help="End after so long without a session or a request.")] = None,
) -> None:
    """Start the relay and keep it running until Ctrl-C."""
    from .serve import run_relay as run

    raise typer.Exit(run(**context.params))


@app.command()
def tunnel(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Id of the session.")],
    listen: Annotated[int | None, typer.Option(
        min=0, max=65535, help="A port on this machine instead of a pipe; 0 for any.")] = None,
    server: Annotated[str | None, typer.Option(help="Address of a relay, or unix:PATH of its socket.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with the token for it.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Data folder of the relay here.")] = None,
    cafile: Annotated[Path | None, typer.Option(help="Certificates to trust, in PEM format.")] = None,
) -> None:
    """Connect a debugger to a session: a pipe between stdin, stdout and the session's tunnel."""
    from .tunnel import open_tunnel as run

    raise typer.Exit(run(session, listen, server, token_file, data_dir, cafile))


@app.command()
def mcp(
    server: Annotated[str | None, typer.Option(help="Address of a relay, or unix:PATH of its socket.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with the token for it.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Data folder of the relay here.")] = None,
    cafile: Annotated[Path | None, typer.Option(help="Certificates to trust, in PEM format.")] = None,
) -> None:
    """Serve MCP on stdin and stdout: agents start this. The relay is found, or started."""
    from .mcp import serve_mcp as run

    raise typer.Exit(run(server, token_file, data_dir, cafile))


@app.command()
def debugserver(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The program: a Python file, or a native executable.")],
    args: Annotated[list[str] | None, typer.Argument(metavar="[-- ARGS]", help="Arguments of the program.")] = None,
) -> None:
    """Debug a program by the EZ protocol, on stdin and stdout: an IDE starts this."""
    from .debugserver import debugserver as run

    raise typer.Exit(run(file, args or []))


@app.command()
def stdio() -> None:
    """The same, for the program that the client names."""
    from .debugserver import debugserver as run

    raise typer.Exit(run(None, []))


@app.command(name="ez-conformance")
def ez_conformance(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND", help="The debugger, without a file.")],
    file: Annotated[str | None, typer.Option(help="Program to debug (default: a small Python program).")] = None,
    failing: Annotated[str | None, typer.Option(help="Program that fails.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for each answer.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """Test a debugger that speaks the EZ protocol: a table of what conforms."""
    from .conformance import conformance as run

    raise typer.Exit(run(command, file, failing, timeout, as_json))


@app.command()
def version() -> None:
    """Show the version."""
    from opencode_debugger import __version__

    typer.echo(__version__)


# Tokens: made, listed and revoked, while a relay runs or not.


@tokens.command()
def create(
    name: Annotated[str, typer.Option(help="Whom or what it is for.")],
    scope: Annotated[list[str], typer.Option(
        help="sessions:read, sessions:write, artifacts:read, admin or all; may be given several times.")],
    expires: Annotated[str, typer.Option(help="After how long: 12h, 30d, 8w or never.")] = "30d",
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Make a token and print it, this once."""
    from .token_work import create_token as work

    raise typer.Exit(work(name, scope, expires, json, data_dir))


@tokens.command("list")
def list_(json: AsJson = False, data_dir: DataDir = None) -> None:
    """Show which tokens there are; not the tokens themselves."""
    from .token_work import show_tokens as work

    raise typer.Exit(work(json, data_dir))


@tokens.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID|NAME", help="As the list shows it.")], data_dir: DataDir = None
) -> None:
    """Make a token worthless, at once."""
    from .token_work import revoke_token as work

    raise typer.Exit(work(token, data_dir))


def run() -> None:
    see_that_streams_are_open()
    app()
