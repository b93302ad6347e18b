"""The `skillian` command and its subcommands."""

from typing import Annotated

import typer

from skillian.cli.ask import ask
from skillian.cli.chat import chat
from skillian.cli.compare import compare
from skillian.cli.demo import demo
from skillian.cli.eval import evaluate
from skillian.cli.history import history_app
from skillian.cli.serve import mcp, serve, worker
from skillian.cli.setup.doctor import doctor
from skillian.cli.setup.models import models
from skillian.cli.skills import skills_app
from skillian.cli.sources import sources_app
from skillian.cli.tables.schema import schema

app = typer.Typer(
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


for command in (demo, ask, chat, compare, doctor, mcp, models, schema, serve, worker):
    app.command()(command)
app.command("eval")(evaluate)
app.add_typer(history_app, name="history")
app.add_typer(sources_app, name="sources")
app.add_typer(skills_app, name="skills")
