"""Makes comparisons and hands their report out, in a terminal or in a file."""

import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.console import Console

from skillian.cli.progress import watching
from skillian.cli.shell import ExitCode, notes, out, run
from skillian.data.declare.saved import Saved
from skillian.display import printable
from skillian.reports.as_html import write_html
from skillian.reports.as_json import write_json
from skillian.reports.as_junit import write_junit
from skillian.reports.as_markdown import write_markdown
from skillian.reports.as_table import show_table
from skillian.reports.formats import Format, depth_of
from skillian.reports.outcome import VERDICTS, Compared, Outcome, worst
from skillian.reports.running import open_engine, run_all

Load = Callable[[], Coroutine[Any, Any, Saved]]
"""Reads what to compare; may raise what a user can mend."""

_WRITERS: dict[Format, Callable[[Sequence[Outcome]], str]] = {
    Format.JSON: write_json,
    Format.MARKDOWN: write_markdown,
    Format.HTML: write_html,
    Format.JUNIT: write_junit,
}
_STOPPED = "Interrupted; the statement was stopped."


class Wanted(NamedTuple):
    """How to report, where to, and how many of the largest differences."""

    form: Format
    output: Path | None
    top: int


def report(load: Load, wanted: Wanted) -> ExitCode:
    """Compare and report; the exit code is the worst that was found."""
    _check(wanted)
    outcomes = run(_compare(load, wanted), _STOPPED)
    if wanted.output is not None:
        _write(wanted.output, _text(outcomes, wanted.form))
        for outcome in outcomes:
            notes.print(printable(_line(outcome)), markup=False, soft_wrap=True)
        notes.print(printable(f"The report is in {wanted.output}"), markup=False, soft_wrap=True)
    elif wanted.form is Format.TABLE:
        show_table(out, outcomes, notes)
    else:
        typer.echo(_text(outcomes, wanted.form), nl=False)
    return ExitCode(VERDICTS.index(worst(outcomes)))


async def _compare(load: Load, wanted: Wanted) -> tuple[Outcome, ...]:
    saved = await load()
    with watching(notes) as watch:
        async with open_engine(saved.registry, wanted.top) as engine:
            return await run_all(engine, saved.comparisons, depth_of(wanted.form), watch)


def _check(wanted: Wanted) -> None:
    """Refuse at once what would fail after a long run."""
    if wanted.output is None:
        if wanted.form is Format.HTML and sys.stdout.isatty():
            raise typer.BadParameter("name the page's file", param_hint="--output")
        return
    folder = wanted.output.parent
    if wanted.output.is_dir() or not os.access(folder, os.W_OK):
        raise typer.BadParameter(f"{wanted.output} cannot be written", param_hint="--output")


def _text(outcomes: Sequence[Outcome], form: Format) -> str:
    if form is not Format.TABLE:
        return _WRITERS[form](outcomes)
    written = StringIO()
    show_table(Console(file=written, highlight=False, color_system=None), outcomes)
    return written.getvalue()


def _line(outcome: Outcome) -> str:
    said = outcome.result.interpretation[0] if isinstance(outcome, Compared) else outcome.reason
    return f"{outcome.asked.name}: {said}"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        notes.print(printable(f"error: {path}: {error.strerror}"), style="red", markup=False)
        raise typer.Exit(ExitCode.COULD_NOT) from None
