"""The command line: `run`, `exec`, `worker`, `runs`, `policy` and `doctor`; one file a command."""

from __future__ import annotations

from typing import Annotated

import typer

import tinyagent
from tinyagent.cli import policy, runs
from tinyagent.cli.doctor import doctor
from tinyagent.cli.execute import execute
from tinyagent.cli.run import run
from tinyagent.cli.worker import worker

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - as typer calls it
    if wanted:
        typer.echo(f"tinyagent {tinyagent.__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Run agents from the command line. Run code in a sandbox."""


app.command()(run)
app.command("exec")(execute)
app.command()(worker)
app.add_typer(runs.app, name="runs")
app.add_typer(policy.app, name="policy")
app.command()(doctor)
