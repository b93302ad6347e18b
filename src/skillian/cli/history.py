"""`skillian history`: runs of saved comparisons, and the states of their findings."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer
from rich.table import Table

from skillian.cli.shell import AsJson, ExitCode, explained, out, read_settings, show_error
from skillian.display import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from skillian.history.findings import Tracked
    from skillian.history.store import History, PastRun

T = TypeVar("T")

history_app = typer.Typer(
    help="Runs of saved comparisons: their trend, and what is new, open, known or fixed."
)
_BARS = "▁▂▃▄▅▆▇█"
_TREND = 20

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a saved comparison.")]


def _day(text: str) -> date:
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a day of the calendar; write it as {datetime.now(UTC):%Y-%m-%d}"
        ) from None
    if day < datetime.now(UTC).date():
        raise typer.BadParameter(f"{day} is over; name today or a later day")
    return day


_Due = Annotated[
    date | None,
    typer.Option(
        parser=_day,
        metavar="YYYY-MM-DD",
        help="From the next day on it counts as new again.",
    ),
]


@history_app.callback(invoke_without_command=True)
def history(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List the saved comparisons and evaluations that have run, with the trend of their findings.

    The history is in the database of DATABASE_URL, by default the file skillian.db.
    """
    if context.invoked_subcommand is not None:
        return
    latest = _read(lambda opened: [(run, _trend(opened, run)) for run in opened.latest()])
    if as_json:
        typer.echo(json.dumps([run.to_dict() for run, _ in latest], ensure_ascii=False, indent=2))
        return
    table = Table("comparison", "last run (UTC)", "verdict", "new", "open", "known", "trend")
    for run, trend in latest:
        counts = (f"{number:,}" for number in (run.new, run.open, run.known))
        table.add_row(printable(run.comparison), _moment(run.at), run.verdict, *counts, trend)
    out.print(table)


@history_app.command()
def show(name: _Name, *, as_json: AsJson = False) -> None:
    """Show the last runs of a saved comparison, and its findings."""
    runs, findings = _read(lambda opened: (opened.runs(name), opened.findings(name)))
    if not runs:
        _no_runs(name)
    today = datetime.now(UTC).date()
    if as_json:
        report = {
            "runs": [run.to_dict() for run in runs],
            "findings": [finding.to_dict(today) for finding in findings],
        }
        typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
        return
    out.print(_runs_table(runs))
    if findings:
        out.print(_findings_table(findings, today))


@history_app.command()
def note(
    name: _Name,
    finding: Annotated[
        str, typer.Argument(metavar="FINDING", help="The id of the finding, or its beginning.")
    ],
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="What is known.")] = None,
    due: _Due = None,
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the note.")] = False,
) -> None:
    """Mark a finding as known, so that `--fail-on new` accepts it."""
    if not finding:
        raise typer.BadParameter("name the finding by its id", param_hint="FINDING")
    if remove == (text is not None):
        raise typer.BadParameter("write what is known, or use --remove", param_hint="TEXT")
    tracked = _read(lambda opened: opened.note(name, finding, text, due))
    state = tracked.state(datetime.now(UTC).date())
    until = f" until {tracked.due}" if tracked.due and state == "known" else ""
    out.print(printable(f"{tracked.id}: {tracked.text}: {state}{until}"), markup=False)


@history_app.command()
def accept(
    name: _Name,
    text: Annotated[str, typer.Option("--note", metavar="TEXT", help="What is known.")],
    due: _Due = None,
) -> None:
    """Mark all new and open findings as known, so that `--fail-on new` accepts them."""

    def work(opened: History) -> tuple[int, int]:
        if not opened.runs(name, 1):
            _no_runs(name)
        return len(opened.accept(name, text, due)), opened.untracked(name)

    accepted, untracked = _read(work)
    until = f" until {due}" if due else ""
    out.print(f"{accepted:,} finding{'s' * (accepted != 1)} marked as known{until}.")
    if untracked:
        out.print(
            f"{untracked:,} more are not tracked one by one; they cannot be known, and count as"
            " new or open.",
            soft_wrap=True,
        )


def _read(work: Callable[[History], T]) -> T:
    """The result of `work` on the history; exits with a message if nothing has been recorded."""
    url = read_settings().database_url.get_secret_value()
    path = url.removeprefix("sqlite:///") if url.startswith("sqlite:///") else None
    if path is not None and not Path(path).exists():
        _no_runs(None)
    from skillian.history.store import open_history  # slow to load

    with explained(), open_history(url) as opened:
        return work(opened)


def _no_runs(name: str | None) -> NoReturn:
    what = "no saved comparison or evaluation" if name is None else f"no comparison {name!r}"
    text = f"{what} has run yet; run one with: skillian compare FILE.yaml"
    show_error(text)
    raise typer.Exit(ExitCode.COULD_NOT)


def _trend(opened: History, run: PastRun) -> str:
    counts = [each.findings for each in reversed(opened.runs(run.comparison, _TREND))]
    most = max(counts)
    # A run with any finding is visibly above a run without.
    heights = [0 if not each else max(1, each * (len(_BARS) - 1) // most) for each in counts]
    return "".join(_BARS[height] for height in heights)


def _runs_table(runs: Sequence[PastRun]) -> Table:
    table = Table("run (UTC)", "verdict", "findings", "new", "open", "known", "fixed")
    for run in runs:
        counts = (f"{each:,}" for each in (run.findings, run.new, run.open, run.known, run.fixed))
        table.add_row(_moment(run.at), run.verdict, *counts)
    return table


def _findings_table(findings: Sequence[Tracked], today: date) -> Table:
    table = Table("finding", "state", "since (UTC)", "what", "note", "due")
    for each in findings:
        cells: list[Any] = [each.id, each.state(today), _moment(each.since)]
        due = "" if each.due is None else str(each.due)
        table.add_row(*cells, printable(each.sentence), printable(each.note or ""), due)
    return table


def _moment(at: str) -> str:
    return at[:16].replace("T", " ")
