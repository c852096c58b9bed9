"""`opencode-debugger token`: make, list and revoke tokens, while a relay runs or not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Make, list and revoke tokens. Changes are in force at once.")

DataDir = Annotated[Path | None, typer.Option(help="Data folder of the relay (default ~/.opencode-debugger).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def create(
    name: Annotated[str, typer.Option(help="Whom or what it is for.")],
    scope: Annotated[
        list[str],
        typer.Option(help="sessions:read, sessions:write, artifacts:read, admin or all; may be given several times."),
    ],
    expires: Annotated[str, typer.Option(help="After how long: 12h, 30d, 8w or never.")] = "30d",
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Make a token and print it, this once."""
    from .token_work import create as work

    raise typer.Exit(work(name, scope, expires, json, data_dir))


@app.command("list")
def list_(json: AsJson = False, data_dir: DataDir = None) -> None:
    """Show which tokens there are; not the tokens themselves."""
    from .token_work import show as work

    raise typer.Exit(work(json, data_dir))


@app.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID|NAME", help="As the list shows it.")],
    data_dir: DataDir = None,
) -> None:
    """Make a token worthless, at once."""
    from .token_work import revoke as work

    raise typer.Exit(work(token, data_dir))
