"""The command: `opencode-debugger` (short: `ocdb`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..files import see_that_streams_are_open
from . import token

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Debug programs with single calls.")
app.add_typer(token.app, name="token")


@app.callback()
def main() -> None:
    """Debug programs with single calls: a relay keeps the sessions alive."""


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (default 127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on (default 5679).")] = None,
    uds: Annotated[str | None, typer.Option(help="Unix socket to listen on, instead of a port.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where sessions and breakpoints are kept.")] = None,
    env_file: Annotated[Path | None, typer.Option(help="File with settings, each NAME=VALUE.")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning, error or critical.")] = None,
    log_format: Annotated[str | None, typer.Option(help="text, json, or auto: text on a terminal.")] = None,
    require_token: Annotated[
        bool | None, typer.Option("--require-token/--no-require-token", help="Ask for a token on every request.")
    ] = None,
    allow_other_users: Annotated[
        bool | None, typer.Option("--allow-other-users", help="Let other users of this machine in.")
    ] = None,
    certfile: Annotated[str | None, typer.Option(help="Certificate chain (PEM), for HTTPS.")] = None,
    keyfile: Annotated[str | None, typer.Option(help="Private key of the certificate (PEM).")] = None,
) -> None:
    """Start the relay and keep it running until Ctrl-C."""
    from .serve import serve as run

    code = run(
        env_file=env_file,
        host=host,
        port=port,
        uds=uds,
        data_dir=data_dir,
        log_level=log_level,
        log_format=log_format,
        require_token=require_token,
        allow_other_users=allow_other_users,
        certfile=certfile,
        keyfile=keyfile,
    )
    raise typer.Exit(code)


@app.command()
def tunnel(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Id of the session.")],
    listen: Annotated[
        int | None, typer.Option(min=0, max=65535, help="A port on this machine instead of a pipe; 0 for any.")
    ] = None,
    server: Annotated[str | None, typer.Option(help="Address of a relay, or unix:PATH of its socket.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with the token for it.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Data folder of the relay here.")] = None,
    cafile: Annotated[Path | None, typer.Option(help="Certificates to trust, in PEM format.")] = None,
) -> None:
    """Connect a debugger to a session: a pipe between stdin, stdout and the session's tunnel."""
    from .tunnel import tunnel as run

    raise typer.Exit(run(session, listen, server, token_file, data_dir, cafile))


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


def run() -> None:
    see_that_streams_are_open()
    app()
