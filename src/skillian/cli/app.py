"""The `skillian` command and what it can do."""

import sys

import typer
from pydantic import ValidationError

from skillian.cli.ask import ask
from skillian.cli.chat import chat
from skillian.cli.compare import compare
from skillian.cli.demo import demo
from skillian.cli.doctor import doctor
from skillian.cli.mcp import mcp
from skillian.cli.serve import serve
from skillian.cli.shell import ExitCode, settings_faults, show_error
from skillian.cli.skills import skills_app
from skillian.cli.sources import sources_app
from skillian.cli.worker import worker
from skillian.settings import Settings

app = typer.Typer(
    help="Compare two systems that should agree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(ask)
app.command()(chat)
app.command()(compare)
app.command()(doctor)
app.command()(mcp)
app.command()(serve)
app.command()(worker)
app.add_typer(sources_app, name="sources")
app.add_typer(skills_app, name="skills")


def main() -> None:
    """The entry point of the `skillian` command."""
    try:
        app()
    except ValidationError as error:
        if error.title != Settings.__name__:
            raise
        for fault in settings_faults(error):
            show_error(fault)
        sys.exit(ExitCode.COULD_NOT)
