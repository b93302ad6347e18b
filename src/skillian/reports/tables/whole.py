"""Reports on all tables of two schemas: a line for each table, and a page for each one in HTML."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillian.reports.as_html import render_page, write_html
from skillian.reports.outcome import Compared, Outcome, Verdict, worst
from skillian.reports.replacing import write_whole

_NOT_IN_FILES = re.compile(r"[^\w.-]+")
_LONGEST_FILE = 80
_WORDS: Mapping[Verdict, str] = {
    "equal": "equal",
    "findings": "differs",
    "failed": "could not be compared",
}

HEADINGS = ("rows in a", "rows in b", "differing", "only in a", "only in b", "repeated keys")


@dataclass(frozen=True, slots=True)
class TableLine:
    """One table of the report; `counts` has a number for each of `HEADINGS`, if it was compared."""

    name: str
    verdict: Verdict
    words: str
    counts: tuple[int | None, ...]
    sentences: tuple[str, ...]
    page: str = ""


def table_line(outcome: Outcome, page: str = "") -> TableLine:
    """The line of a table; `page` is the address of its own page."""
    counts: tuple[int | None, ...] = (None,) * len(HEADINGS)
    sentences: tuple[str, ...] = (outcome.reason,) if outcome.reason else ()
    scope = ""
    if isinstance(outcome, Compared):
        result = outcome.result  # all tables are compared by whole rows
        rows = result.rows
        counts = (
            *(rows.rows_a, rows.rows_b, rows.differing, rows.only_in_a, rows.only_in_b),
            rows.duplicate_keys_a + rows.duplicate_keys_b,
        )
        sentences = result.sentences
        scope = result.coverage.words
    name, verdict = outcome.comparison.name, outcome.verdict
    return TableLine(name, verdict, f"{_WORDS[verdict]}{scope}", counts, sentences, page)


def in_total(outcomes: Sequence[Outcome]) -> str:
    """How many tables are equal, differ, and could not be compared, in words."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    parts = [f"{counts['equal']} equal"]
    if counts["findings"]:
        parts.append(f"{counts['findings']} with differences")
    if counts["failed"]:
        parts.append(f"{counts['failed']} that could not be compared")
    tables = "1 table" if len(outcomes) == 1 else f"{len(outcomes)} tables"
    return f"{tables}: {', '.join(parts)}"


def write_pages(outcomes: Sequence[Outcome], names: tuple[str, str], path: Path) -> None:
    """Write an index at `path`, and a page for each table in a folder next to it.

    Raises:
        OSError: A file cannot be written.
    """
    folder = path.with_name(f"{path.stem}_tables")
    folder.mkdir(exist_ok=True)
    lines: list[TableLine] = []
    for position, outcome in enumerate(outcomes, 1):
        # The number keeps apart names that differ only in what a file system does not.
        word = _NOT_IN_FILES.sub("_", outcome.comparison.name)[:_LONGEST_FILE]
        page = folder / f"{position:03d}_{word}.html"
        write_whole(page, write_html([outcome]))
        lines.append(table_line(outcome, f"{folder.name}/{page.name}"))
    index = render_page(
        "index.html",
        lines=sorted(lines, key=lambda line: line.verdict == "equal"),
        names=names,
        total=in_total(outcomes),
        verdict=worst(outcomes),
        headings=HEADINGS,
    )
    write_whole(path, index)
