"""Runs the comparisons of `skillian compare` and writes their report, to the terminal or a file."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.console import Console

from skillian.cli.shell import ExitCode, notes, out, read_settings, run, say, show_error
from skillian.data.declare.saved import Saved
from skillian.data.engine import open_engine
from skillian.data.results.result import ComparisonResult
from skillian.data.results.rows import map_options
from skillian.display import as_text, printable, show_differences
from skillian.errors import InvalidInputError, ToolError
from skillian.reports.outcome import (
    ROWS,
    VERDICTS,
    Compared,
    Failed,
    Format,
    OnProgress,
    Outcome,
    depth_of,
    run_all,
    worst,
)
from skillian.reports.replacing import write_whole

if TYPE_CHECKING:
    from rich.progress import TaskID

    from skillian.data.declare.sources import SourceRegistry
    from skillian.data.engine import ComparisonEngine

_LISTED = 5
_NO_REPORTS = frozenset({".db", ".duckdb", ".sqlite", ".sqlite3", ".yaml", ".yml"})
"""Suffixes of files that no report replaces, such as a saved comparison and the history."""
INTERRUPTED = "Interrupted. The statement was stopped."


class ReportTarget(NamedTuple):
    """The format and the file of a report, and how many of the largest differences it lists."""

    form: Format
    path: Path | None
    top: int


class _Written:
    """What is written besides the result; what cannot be written does not stop the rest."""

    def __init__(self, outputs: Iterable[ReportTarget]) -> None:
        self._files = [(each.path, each.form) for each in outputs if each.path is not None]
        self._written: list[Path] = []
        self._faults: list[str] = []

    async def write(self, engine: ComparisonEngine, result: ComparisonResult) -> None:
        """Write all that differs in a comparison."""
        from skillian.reports.every_row import write_rows
        from skillian.reports.spreadsheets import summary_of

        summary = [*summary_of(result)]
        for path, form in self._files:
            try:
                await write_rows(path, form, engine.batches(result.cache_key), summary)
            except (OSError, ToolError) as error:
                self.fail(_reason(path, error))
            else:
                self._written.append(path)

    def fail(self, fault: str) -> None:
        """Remember that something could not be written."""
        self._faults.append(fault)

    def show(self) -> None:
        """Say where the rows are; exit with a message if something could not be written."""
        for path, _ in self._files:
            if path in self._written:
                say(f"All rows that differ are in {path}")
            elif path.exists():
                say(f"{path} has the rows of an earlier run", "yellow")
        for fault in self._faults:
            show_error(fault)
        if self._faults:
            raise typer.Exit(ExitCode.COULD_NOT)


def report(
    load: Callable[[], Coroutine[Any, Any, Saved]],
    outputs: Sequence[ReportTarget],
    *,
    why: bool = False,
) -> ExitCode:
    """Compare and report.

    Args:
        load: Reads what to compare; may raise an error that the user can fix.
        outputs: Where reports and the rows that differ go.
        why: Whether to look for what explains the rows that differ.

    Returns:
        The exit code for the worst outcome.
    """
    for output in outputs:
        check_target(output)
    reports = [each for each in outputs if each.form not in ROWS]
    files = _Written([each for each in outputs if each.form in ROWS])
    outcomes = run(_compare(load, outputs, files, why=why), INTERRUPTED)
    written = [write_report(output, outcomes, show_table) for output in reports]
    if not all(written):
        show_table(out, outcomes)
        files.show()
        raise typer.Exit(ExitCode.COULD_NOT)
    if not reports:
        show_table(out, outcomes)
    if paths := [str(output.path) for output in reports if output.path is not None]:
        for outcome in outcomes:
            say(_line(outcome))
        say(f"The report is in {', '.join(paths)}")
    files.show()
    return ExitCode(VERDICTS.index(worst(outcomes)))


def write_report(
    output: ReportTarget,
    outcomes: Sequence[Outcome],
    show: Callable[[Console, Sequence[Outcome]], None],
) -> bool:
    """Print a report, a table by `show`, or write its file; whether that succeeded."""
    if output.form is not Format.TABLE:
        from skillian.reports.writers import WRITERS  # slow to load

        text = WRITERS[output.form](outcomes)
    elif output.path is not None:
        text = as_text(lambda console: show(console, outcomes))
    else:
        show(out, outcomes)
        return True
    if output.path is not None:
        return write_text(output.path, text)
    typer.echo(text, nl=False)
    return True


async def _compare(
    load: Callable[[], Coroutine[Any, Any, Saved]],
    outputs: Sequence[ReportTarget],
    files: _Written,
    *,
    why: bool,
) -> tuple[Outcome, ...]:
    saved = await load()
    names = {name for each in saved.comparisons for name in (each.a, each.b)}
    check_inputs(saved.registry, names, [each.path for each in outputs])
    forms = {each.form for each in outputs}
    wants_rows = not forms.isdisjoint(ROWS)
    if wants_rows and len(saved.comparisons) != 1:
        raise InvalidInputError(
            f"a file of rows holds those of one comparison, and there are {len(saved.comparisons)};"
            " write a report, such as --output report.html"
        )
    with showing_progress(notes) as on_progress:
        keep = wants_rows or saved.has_history or why
        async with open_engine(saved.registry, outputs[0].top, keep_rows=keep) as engine:
            outcomes = await run_all(
                engine,
                saved.comparisons,
                replace(depth_of(forms), why=why),
                on_progress,
                files.write if wants_rows else None,
            )
            return await _with_history(engine, outcomes, files) if saved.has_history else outcomes


async def _with_history(
    engine: ComparisonEngine, outcomes: tuple[Outcome, ...], files: _Written
) -> tuple[Outcome, ...]:
    """Record the outcomes; without a history they stand, unless only new findings count."""
    from skillian.reports.tracking import tracked  # loads SQLAlchemy

    url = read_settings().database_url.get_secret_value()
    try:
        return await tracked(engine, outcomes, url)
    except ToolError as error:
        if any(outcome.comparison.fail_on == "new" for outcome in outcomes):
            files.fail(str(error))
            return outcomes
        say(f"warning: this run is not in the history: {error}", "yellow")
        return outcomes


def check_target(output: ReportTarget) -> None:
    """Refuse immediately what would fail after a long run."""
    if output.path is None:
        if output.form is Format.HTML and sys.stdout.isatty():
            raise typer.BadParameter("name a file for the page", param_hint="--output")
        if output.form in ROWS:
            raise typer.BadParameter("name a file for the rows", param_hint="--output")
        return
    if output.path.exists() and output.path.suffix.lower() in _NO_REPORTS:
        reason = f"{output.path} is a file of another kind; name another one"
        raise typer.BadParameter(reason, param_hint="--output")


def check_inputs(
    registry: SourceRegistry, names: Iterable[str], outputs: Iterable[Path | None]
) -> None:
    """Refuse to write over a file with the rows of one of these sources."""
    read = registry.files(names)
    for path in outputs:
        if path is not None and path.resolve() in read:
            raise InvalidInputError(f"--output {path} is what is compared; name another file")


def show_table(
    console: Console, outcomes: Sequence[Outcome], errors: Console | None = None
) -> None:
    """Print the largest differences of each comparison, and what its numbers point to.

    Args:
        console: Where the tables go.
        outcomes: The comparisons.
        errors: Where the reasons of failures go; None for the notes of a terminal, or the console.
    """
    errors = errors or (notes if console is out else console)
    for outcome in outcomes:
        if len(outcomes) > 1:
            console.print()
            console.rule(printable(outcome.comparison.name), align="left")
        if isinstance(outcome, Compared) and not (outcome.reason and outcome.result.is_empty):
            result = outcome.result
            show_differences(console, result.to_dict())
            style = "green" if result.equal else None
            for sentence in outcome.sentences:
                say(sentence, style, console=console)
            advice = mapping_advice([(each.a, each.b) for each in result.proposals])
            for sentence in (*advice, *_standing(outcome), *_why(outcome)):
                say(sentence, console=console)
        else:
            say(f"error: {outcome.reason}", "red", console=errors)


def mapping_advice(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield how to pair columns that may have been renamed, if there are any."""
    if pairs:
        yield f"To compare columns with different names, add {map_options(pairs)}"


def _why(outcome: Compared) -> Iterator[str]:
    """What explains the rows that differ, if that was asked."""
    if outcome.reasons:
        yield "\nWhy\n"
        yield from outcome.reasons


def _standing(outcome: Compared) -> Iterator[str]:
    """The counts of findings by state, and the first that are not known with their ids."""
    standing = outcome.standing
    if standing is None or standing.is_empty:
        return
    yield f"Compared with earlier runs: {standing.sentence}"
    groups = {"new": standing.new, "open": standing.open, "fixed": standing.fixed}
    for state, group in groups.items():
        yield from (f"  {state} {each.id}: {each.sentence}" for each in group[:_LISTED])
        if len(group) > _LISTED:
            name = shlex.quote(outcome.comparison.name)
            yield f"  and {len(group) - _LISTED:,} more; see: skillian history show {name}"


def _line(outcome: Outcome) -> str:
    if isinstance(outcome, Failed):
        return f"{outcome.comparison.name}: {outcome.reason}"
    sentence = outcome.result.sentences[0]
    return f"{outcome.comparison.name}: {sentence} {next(_standing(outcome), '')}".rstrip()


def write_text(path: Path, text: str) -> bool:
    """Write a report to a file; print a message and return false if that fails."""
    try:
        write_whole(path, text)
    except OSError as error:
        show_error(_reason(path, error))
        return False
    return True


def _reason(path: Path, error: Exception) -> str:
    """Why a file could not be written."""
    return f"{path}: {getattr(error, 'strerror', None) or error}"


@contextmanager
def showing_progress(console: Console) -> Generator[OnProgress]:
    """Show a line for each running comparison, if the console is a terminal."""
    if not console.is_terminal:
        yield lambda _name, _activity: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[activity]}", markup=False),
        TimeElapsedColumn(),
    )
    lines: dict[str, TaskID] = {}
    with Progress(*columns, console=console, transient=True) as progress:

        def show(comparison: str, activity: str) -> None:
            if not activity:
                progress.remove_task(lines.pop(comparison))
            elif comparison in lines:
                progress.update(lines[comparison], activity=printable(activity), refresh=True)
            else:
                lines[comparison] = progress.add_task(
                    printable(comparison), total=None, activity=printable(activity)
                )

        yield show
