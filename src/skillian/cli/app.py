"""The `skillian` command and its subcommands."""

from collections import UserDict
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

_PLACES = {
    "demo": "demo:demo",
    "ask": "ask:ask",
    "chat": "chat:chat",
    "compare": "compare:compare",
    "doctor": "setup.doctor:doctor",
    "mcp": "serve:mcp",
    "models": "setup.models:models",
    "schema": "tables.schema:schema",
    "serve": "serve:serve",
    "worker": "serve:worker",
    "eval": "eval:evaluate",
    "history": "history:history_app",
    "sources": "sources:sources_app",
    "skills": "skills:skills_app",
}
"""The module below this package and the name of each command, in the order of the help."""


class _Commands(UserDict[str, Any]):
    """The commands; each is loaded when it is first asked for."""

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            self.data[name] = _loaded(name)
        return self.data[name]


def _loaded(name: str) -> Any:
    module, _, attribute = _PLACES[name].partition(":")
    found = getattr(import_module(f"skillian.cli.{module}"), attribute)
    command: Any
    if isinstance(found, typer.Typer):
        command = get_group(found)
    else:
        alone = typer.Typer(add_completion=False)
        alone.command(name)(found)
        command = get_command(alone)
    command.name = name
    return command


class _Program(TyperGroup):
    """Loads the command that is called, and all of them only for the help."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands(dict.fromkeys(_PLACES))


app = typer.Typer(
    cls=_Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(requested: bool) -> None:  # noqa: FBT001 - as typer calls it
    if requested:
        from importlib.metadata import version  # slow to load

        typer.echo(f"skillian {version('tinyagent-skillian')}")
        raise typer.Exit


@app.callback()
def skillian(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Compare two systems that should agree."""
