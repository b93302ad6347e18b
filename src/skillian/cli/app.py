"""The `skillian` command and what it can do."""

import typer

from skillian.cli.ask import ask
from skillian.cli.compare import compare
from skillian.cli.demo import demo
from skillian.cli.sources import sources_app

app = typer.Typer(
    help="Compare two systems that should agree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(ask)
app.command()(compare)
app.add_typer(sources_app, name="sources")


def main() -> None:
    """The entry point of the `skillian` command."""
    app()
