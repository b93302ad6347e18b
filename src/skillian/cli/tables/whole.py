"""`skillian compare --all`: all tables of two schemas."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from skillian.cli.compare_report import (
    INTERRUPTED,
    ReportTarget,
    check_inputs,
    check_target,
    write_report,
)
from skillian.cli.compare_save import SavedFiles
from skillian.cli.shell import ExitCode, notes, out, run, say, show_error
from skillian.data.comparison import Depth
from skillian.data.declare.saved import SavedComparison
from skillian.data.engine import open_engine
from skillian.data.whole import MissingTable, WholeSchema, plan_whole
from skillian.display import printable, show_rows
from skillian.reports.outcome import (
    ROWS,
    VERDICTS,
    Compared,
    Failed,
    Format,
    Outcome,
    run_all,
    worst,
)
from skillian.reports.tables.whole import HEADINGS, in_total, table_line, write_pages

if TYPE_CHECKING:
    from skillian.reports.outcome import OnProgress


def report_whole(
    common: SavedComparison,
    selected: tuple[Sequence[str], Sequence[str]],
    outputs: Sequence[ReportTarget],
    save: str | None = None,
) -> ExitCode:
    """Compare all tables of two schemas, and report.

    Args:
        common: The two schemas, and what the comparisons of their tables have in common.
        selected: Patterns of the only tables to compare, and of those to leave out.
        outputs: Where the reports go, at least one.
        save: The name of the saved comparisons to write.

    Returns:
        The exit code for the worst outcome.
    """
    for output in outputs:
        if output.form in ROWS:
            raise typer.BadParameter(
                "a file of rows holds those of one comparison; --all writes reports",
                param_hint="--output",
            )
        if output.form is Format.HTML and output.path is None:
            raise typer.BadParameter("name a file for the index of pages", param_hint="--output")
        check_target(output)
    files = None if save is None else SavedFiles(save)
    whole, outcomes = run(_compared(common, selected, outputs, files), INTERRUPTED)
    written = [_written(whole, outcomes, output) for output in outputs]
    if not all(written):
        show_tables(out, outcomes)
        raise typer.Exit(ExitCode.COULD_NOT)
    if outputs[0].path is not None:
        paths = ", ".join(str(output.path) for output in outputs)
        for line in (in_total(outcomes), f"The report is in {paths}"):
            say(line)
    if files is not None:
        _save(files, whole, outcomes)
    return ExitCode(VERDICTS.index(worst(outcomes)))


def _written(whole: WholeSchema, outcomes: Sequence[Outcome], output: ReportTarget) -> bool:
    """Print or write a report; whether that succeeded."""
    if output.form is not Format.HTML or output.path is None:
        return write_report(output, outcomes, show_tables)
    try:
        write_pages(outcomes, whole.names, output.path)
    except OSError as error:
        show_error(f"{output.path}: {error.strerror}")
        return False
    return True


def _save(files: SavedFiles, whole: WholeSchema, outcomes: Sequence[Outcome]) -> None:
    """Write a block for each pair of tables compared, with the key by which its rows were."""
    keys = {
        each.comparison.name: each.result.key_columns
        for each in outcomes
        if isinstance(each, Compared)
    }
    comparisons = [
        each.model_copy(update={"key": keys[each.name]})
        for each in whole.comparisons
        if each.name in keys
    ]
    if comparisons:
        files.prepare(comparisons, whole.registry)
        files.write()
    for each in whole.comparisons:
        if each.name not in keys:
            say(f"{each.name} could not be compared and is not saved")
    for table in whole.missing:
        say(f"{table.name} is only on one side and is not saved")


def show_tables(console: Console, outcomes: Sequence[Outcome]) -> None:
    """Print a line for each table, and in words what differs."""
    lines = [table_line(outcome) for outcome in outcomes]
    show_rows(
        console,
        ("table", "result", *HEADINGS),
        [(line.name, line.words, *line.counts) for line in lines],
    )
    for line in lines:
        if line.verdict != "equal":
            say(f"{line.name}: {' '.join(line.sentences)}", console=console)
    console.print(in_total(outcomes), markup=False)


async def _compared(
    common: SavedComparison,
    selected: tuple[Sequence[str], Sequence[str]],
    outputs: Sequence[ReportTarget],
    files: SavedFiles | None,
) -> tuple[WholeSchema, tuple[Outcome, ...]]:
    whole = await plan_whole((common.a, common.b), Path(), common, *selected)
    for others in whole.others:
        say(f"warning: {others}", "yellow")
    check_inputs(whole.registry, whole.registry.names, [each.path for each in outputs])
    if files is not None:
        files.prepare(whole.comparisons, whole.registry)  # refuses a secret before the long run
    with _showing_progress(len(whole.comparisons)) as on_progress:
        async with open_engine(whole.registry, outputs[0].top) as engine:
            compared = await run_all(engine, whole.comparisons, Depth(), on_progress)
    missing = (_missing(each, whole, common) for each in whole.missing)
    return whole, tuple(sorted((*compared, *missing), key=lambda each: each.comparison.name))


def _missing(table: MissingTable, whole: WholeSchema, common: SavedComparison) -> Failed:
    update = {"name": table.name, "a": whole.names[0], "b": whole.names[1]}
    only = whole.names[0] if table.side == "a" else whole.names[1]
    reason = f"Table {table.name} is only in {only}."
    return Failed(common.model_copy(update=update), 0.0, reason, "findings")


@contextmanager
def _showing_progress(tables: int) -> Generator[OnProgress]:
    """Show how many tables are done and which ones are being compared, if this is a terminal."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[activity]}", markup=False),
        TimeElapsedColumn(),
    )
    running: dict[str, str] = {}
    with Progress(
        *columns, console=notes, transient=True, disable=not notes.is_terminal
    ) as progress:
        task = progress.add_task("Tables", total=tables, activity="")

        def show(name: str, activity: str) -> None:
            if activity:
                running[name] = activity
            else:
                running.pop(name, None)
                progress.advance(task)
            lines = (f"{name} ({words})" for name, words in running.items())
            progress.update(task, activity=printable(", ".join(lines)), refresh=True)

        yield show
