"""The command line: `tinyagent run`, `exec` and `doctor`; one file a command."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import cast

import typer

from tinyagent.cli.doctor import doctor
from tinyagent.cli.execute import execute
from tinyagent.cli.run import run

app = typer.Typer(
    help="Run agents from the command line. Run code in a sandbox.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(run)
app.command("exec")(execute)
app.command()(doctor)


def main() -> None:
    """The entry point of the `tinyagent` command."""
    # A model may write what no encoding can say.
    cast("TextIOWrapper", sys.stdout).reconfigure(errors="replace")
    app()
