"""`skillian compare --all`: all tables of two schemas."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from skillian.cli.compare_report import (
    INTERRUPTED,
    ReportTarget,
    check_target,
    report_text,
    write_text,
)
from skillian.cli.compare_rows import RowOptions
from skillian.cli.compare_save import SavedFiles
from skillian.cli.shell import ExitCode, notes, out, run, show_error
from skillian.data.declare.saved import SavedComparison
from skillian.data.named import saved_comparison
from skillian.data.whole import MissingTable, WholeSchema, plan_whole
from skillian.display import printable, show_rows
from skillian.reports.formats import ROWS, Depth, Format
from skillian.reports.outcome import VERDICTS, Compared, Outcome, TableMissing, worst
from skillian.reports.running import open_engine, run_all
from skillian.reports.tables.whole import HEADINGS, in_total, table_line, write_pages

if TYPE_CHECKING:
    from skillian.reports.running import OnProgress


class WholeQuestion(NamedTuple):
    """The two schemas, how their rows are compared, and which tables are."""

    urls: tuple[str, str]
    options: RowOptions
    fail_on: str
    include: Sequence[str]
    exclude: Sequence[str]


def report_whole(
    question: WholeQuestion, outputs: Sequence[ReportTarget], save: str | None = None
) -> ExitCode:
    """Compare all tables of two schemas, and report.

    Args:
        question: What to compare.
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
    whole, outcomes = run(_compared(question, outputs[0].top, files), INTERRUPTED)
    written = [_written(whole, outcomes, output) for output in outputs]
    if not all(written):
        show_tables(out, outcomes)
        raise typer.Exit(ExitCode.COULD_NOT)
    if outputs[0].path is not None:
        paths = ", ".join(str(output.path) for output in outputs)
        for line in (in_total(outcomes), f"The report is in {paths}"):
            notes.print(printable(line), markup=False, soft_wrap=True)
    if files is not None:
        _save(files, whole, outcomes)
    return ExitCode(VERDICTS.index(worst(outcomes)))


def _written(whole: WholeSchema, outcomes: Sequence[Outcome], output: ReportTarget) -> bool:
    """Print or write a report; whether that succeeded."""
    if output.path is not None:
        return _write(whole, outcomes, output.form, output.path)
    if output.form is Format.TABLE:
        show_tables(out, outcomes)
    else:
        typer.echo(report_text(outcomes, output.form), nl=False)
    return True


def _save(files: SavedFiles, whole: WholeSchema, outcomes: Sequence[Outcome]) -> None:
    """Write a block for each pair of tables, with the key by which its rows were compared."""
    keys = {
        each.comparison.name: each.result.key_columns
        for each in outcomes
        if isinstance(each, Compared)
    }
    comparisons = [
        each.model_copy(update={"key": keys.get(each.name, ())}) for each in whole.comparisons
    ]
    files.prepare(comparisons, whole.registry)
    files.write()
    for table in whole.missing:
        text = printable(f"{table.name} is only on one side and is not saved")
        notes.print(text, markup=False, soft_wrap=True)


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
            text = f"{line.name}: {' '.join(line.sentences)}"
            console.print(printable(text), markup=False, soft_wrap=True)
    console.print(in_total(outcomes), markup=False)


async def _compared(
    question: WholeQuestion, top: int, files: SavedFiles | None
) -> tuple[WholeSchema, tuple[Outcome, ...]]:
    a, b = question.urls
    common = saved_comparison(
        {"name": "all", "a": a, "b": b, "fail_on": question.fail_on, **question.options.to_saved()}
    )
    whole = await plan_whole(question.urls, Path(), common, question.include, question.exclude)
    if files is not None:
        files.prepare(whole.comparisons, whole.registry)  # refuses a secret before the long run
    with _showing_progress(len(whole.comparisons)) as on_progress:
        async with open_engine(whole.registry, top) as engine:
            compared = await run_all(engine, whole.comparisons, Depth(), on_progress)
    missing = (_missing(each, whole, common) for each in whole.missing)
    return whole, tuple(sorted((*compared, *missing), key=lambda each: each.comparison.name))


def _missing(table: MissingTable, whole: WholeSchema, common: SavedComparison) -> TableMissing:
    update = {"name": table.name, "a": whole.names[0], "b": whole.names[1]}
    only = whole.names[0] if table.side == "a" else whole.names[1]
    reason = f"Table {table.name} is only in {only}."
    return TableMissing(common.model_copy(update=update), 0.0, reason)


def _write(whole: WholeSchema, outcomes: Sequence[Outcome], form: Format, path: Path) -> bool:
    if form is Format.HTML:
        try:
            write_pages(outcomes, whole.names, path)
        except OSError as error:
            show_error(f"{path}: {error.strerror}")
            return False
        return True
    if form is Format.TABLE:
        written = StringIO()
        show_tables(Console(file=written, highlight=False, color_system=None), outcomes)
        return write_text(path, written.getvalue())
    return write_text(path, report_text(outcomes, form))


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
