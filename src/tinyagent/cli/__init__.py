"""The command line: `tinyagent run`, `exec`, `worker`, `runs` and `doctor`; one file a command."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import cast

import typer

from tinyagent.cli import runs
from tinyagent.cli.doctor import doctor
from tinyagent.cli.execute import execute
from tinyagent.cli.run import run
from tinyagent.cli.worker import worker

app = typer.Typer(
    help="Run agents from the command line. Run code in a sandbox.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(run)
app.command("exec")(execute)
app.command()(worker)
app.add_typer(runs.app, name="runs")
app.command()(doctor)


def main() -> None:
    """The entry point of the `tinyagent` command."""
    # A model may write what no encoding can say.
    cast("TextIOWrapper", sys.stdout).reconfigure(errors="replace")
    app()
