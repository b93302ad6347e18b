"""Shows turns and comparisons in a terminal."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from io import StringIO
from itertools import takewhile
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

from skillian.amounts import grouped

_STATUS = {
    "match": "[green]match[/]",
    "minor_diff": "[yellow]minor[/]",
    "major_diff": "[red]major[/]",
    "missing_in_a": "[magenta]only in b[/]",
    "missing_in_b": "[magenta]only in a[/]",
}
VERIFIED = "✓ Verified: the team knows this answer to be right."
DIFFERS = "⚠ This differs from the answer that the team has verified."
_UNBOUNDED = 10_000
_LONGEST_CELL = 60
_BEFORE_DIFFERENCE = 20
# These change the order of characters: "gnp.exe" would be read as "exe.png".
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = {
    **{code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"},
    **{code: f"\\u{code:04x}" for code in _BIDI},
}


def printable(text: str) -> str:
    r"""Make a text from data safe for a terminal and a reader.

    Control characters become replacement characters. Characters that change the direction of
    writing become escapes, such as `\u202e`.
    """
    return text.translate(_CONTROLS)


def as_text(show: Callable[[Console], None]) -> str:
    """What `show` prints, without colours."""
    written = StringIO()
    show(Console(file=written, highlight=False, emoji=False, color_system=None))
    return written.getvalue()


def show_call(console: Console, tool: str, arguments: Mapping[str, Any]) -> None:
    """Show a tool call with its arguments."""
    text = printable(json.dumps(arguments, ensure_ascii=False))
    console.print(Text.assemble((f"→ {tool} ", "bold cyan"), text))


def show_result(console: Console, tool: str, result: Mapping[str, Any]) -> None:
    """Show the result of a tool, as a table if possible."""
    if result.get("error"):
        console.print(
            printable(f"{result['type']}: {result['message']}"), style="red", markup=False
        )
    elif tool == "compare_sources" and "top_differences" in result:
        show_differences(console, result)
    elif tool == "query_source":
        show_rows(console, result["columns"], result["rows"], result.get("measures", ()))
    elif tool == "drill_down":
        for side in (result["a"], result["b"]):
            console.print(f"\n{printable(side['source'])}", style="bold", markup=False)
            show_rows(console, side["columns"], side["rows"])
    elif tool == "run_python":
        _show_code_result(console, result)
    elif tool in {"compare_sources", "explain_difference"}:
        for sentence in result["interpretation"]:
            console.print(printable(sentence), markup=False, soft_wrap=True)


def _show_code_result(console: Console, result: Mapping[str, Any]) -> None:
    for text in (result["output"], result["value"], result["code_error"]):
        if text:
            console.print(printable(text.rstrip("\n")), markup=False, soft_wrap=True)
    for table in result["tables"]:
        show_rows(console, table["columns"], table["rows"])
    for file in result["artifacts"]:
        console.print(printable(f"{file['name']} ({file['bytes']} bytes)"), markup=False)


def show_mark(console: Console, agrees: bool | None) -> None:  # noqa: FBT001 - its only subject
    """Show whether an answer is the one that the team has verified, if there is one."""
    if agrees is not None:
        style = "green" if agrees else "bold red"
        console.print(VERIFIED if agrees else DIFFERS, style=style, markup=False)


def show_differences(console: Console, comparison: Mapping[str, Any]) -> None:
    """Show the largest differences of a comparison, or the columns and rows that differ.

    Args:
        console: Where they are shown.
        comparison: A `ComparisonResult` as JSON.
    """
    a, b = comparison["source_a"], comparison["source_b"]
    differences: Sequence[Mapping[str, Any]] = comparison.get("top_differences", ())
    if differences:
        _title(console, f"Largest differences (a: {a}, b: {b})")
        _show_largest(console, differences)
    elif "summary" in comparison:
        _print_match(console, comparison["summary"], comparison.get("schema") or {})
    columns = [column for column in comparison.get("columns", ()) if column["mismatches"]]
    if columns:
        _title(console, f"Columns that differ (a: {a}, b: {b})")
        _show_columns(console, columns)
    if "samples" in comparison:
        _show_row_samples(console, comparison)


def _show_largest(console: Console, differences: Sequence[Mapping[str, Any]]) -> None:
    keys = list(differences[0]["key"])
    several = len({entry["measure"] for entry in differences}) > 1
    table = _table((*keys, *(["measure"] if several else []), "status"))
    for heading in ("a", "b", "b - a", "%", "rows a:b"):
        table.add_column(heading, justify="right", no_wrap=True)
    for entry in differences:
        table.add_row(
            *(_cell(entry["key"][key]) for key in keys),
            *([_cell(entry["measure"])] if several else []),
            _STATUS[entry["status"]],
            *(_amount(entry[name]) for name in ("a", "b", "gap", "percentage_diff")),
            f"{entry['rows_a']}:{entry['rows_b']}",
        )
    _print_whole(console, table)


def _title(console: Console, text: str) -> None:
    console.print(f"\n{printable(text)}", style="bold", markup=False, soft_wrap=True)


def _show_columns(console: Console, columns: Sequence[Mapping[str, Any]]) -> None:
    from skillian.data.results.rows import percent  # noqa: PLC0415 - slow to load

    has_gaps = any(column["largest_gap"] is not None for column in columns)
    table = _table(("column",))
    for heading in ("mismatches", "share", *(["largest gap"] if has_gaps else [])):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("most frequent: a → b", no_wrap=True)
    for column in columns:
        frequent = ", ".join(
            f"{' → '.join(cells_in_words(pair['a'], pair['b']))} ({pair['count']})"
            for pair in column["pairs"][:2]
        )
        share = percent(column["mismatches"], column["compared"])
        gap = [column["largest_gap"]] if has_gaps else []
        cells = (column["a"], column["mismatches"], share, *gap)
        table.add_row(*(_cell(cell) for cell in cells), _cell(frequent))
    _print_whole(console, table)


def _show_row_samples(console: Console, result: Mapping[str, Any]) -> None:
    from skillian.data.schema.diff import distinct_names  # noqa: PLC0415 - slow to load

    names = distinct_names((result["source_a"], result["source_b"]))
    samples, counts = result["samples"], result["rows"]
    rows = samples["differing"]
    if rows:
        _title(console, f"Rows that differ{_first(rows, counts['differing'])}")
        table = _table((*rows[0]["key"], "column", "a", "b"))
        for row in rows:
            for name, cell in row["cells"].items():
                key = map(cell_in_words, row["key"].values())
                values = (*key, name, *cells_in_words(cell["a"], cell["b"]))
                table.add_row(*(_cell(value) for value in values))
        _print_whole(console, table)
    has_key = bool(result["key"]["columns"])
    for side, name in zip("ab", names, strict=True):
        rows = samples[f"only_in_{side}"]
        first = _first(rows, counts[f"only_in_{side}"]) if has_key else ""
        _show_counted(console, f"Rows only in {name}{first}", rows, counted=not has_key)
    _show_counted(console, "Repeated keys", samples["duplicates"], counted=True)


def _first(rows: Sequence[object], total: int) -> str:
    """Say how many rows a list has, if it has not all."""
    return f" (the first {len(rows)} of {total:,})" if len(rows) < total else ""


def _show_counted(
    console: Console, title: str, rows: Sequence[Mapping[str, Any]], *, counted: bool
) -> None:
    """Show rows by their keys; `counted`: with how often each side has them."""
    if not rows:
        return
    _title(console, title)
    table = _table((*rows[0]["key"], *(["rows a:b"] if counted else [])))
    for row in rows:
        counts = [f"{row['rows_a']}:{row['rows_b']}"] if counted else []
        key = map(cell_in_words, row["key"].values())
        table.add_row(*(_cell(value) for value in (*key, *counts)))
    _print_whole(console, table)


def cell_in_words(value: str | None) -> str:
    """A cell for people; a text that reads `NULL` or `(empty)` is quoted, to tell it from these."""
    if value is None:
        return "NULL"
    return ascii(value) if value in {"NULL", "(empty)"} else value or "(empty)"


def cells_in_words(a: str | None, b: str | None) -> tuple[str, str]:
    """Two different cells, written so that the difference is seen: long texts are cut to it."""
    texts = [cell_in_words(a), cell_in_words(b)]
    if a and b and a != b and _as_seen(a) == _as_seen(b):
        texts = [ascii(a), ascii(b)]
    one, other = map(cut, texts)
    if one == other:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False))
        start = max(len(list(same)) - _BEFORE_DIFFERENCE, 0)
        one, other = (cut(text, start) for text in texts)
    return one, other


def _as_seen(text: str) -> str:
    """A text without what a reader does not see: kinds of white space and forms of accents."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def cut(text: str, start: int = 0) -> str:
    """A text that is not too long for a cell, from an index on."""
    end = start + _LONGEST_CELL
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _print_match(console: Console, summary: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """If all measures match; groups may still hold other numbers of rows, or the columns differ."""
    uneven = summary.get("uneven_matches", 0)
    if not 0 < summary["matched"] == summary["groups"]:
        return
    if schema.get("findings", 0):
        console.print("No measure differs beyond the limits, but the columns do.", style="yellow")
        return
    if not uneven:
        console.print("No differences beyond the limits.", style="green")
        return
    groups = "1 group has" if uneven == 1 else f"{uneven} groups have"
    console.print(
        f"No measure differs beyond the limits, but {groups} different numbers of rows.",
        style="yellow",
    )


def show_rows(
    console: Console,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    measures: Collection[str] = (),
) -> None:
    """Show rows of a source.

    Args:
        console: Where they are shown.
        columns: The names of the columns.
        rows: The rows.
        measures: The columns that hold amounts.
    """
    table = _table(())
    for name in columns:
        table.add_column(_cell(name), no_wrap=True, justify="right" if name in measures else "left")
    for row in rows:
        pairs = zip(columns, row, strict=True)
        table.add_row(
            *(
                _cell(grouped(value) if name in measures and value is not None else value)
                for name, value in pairs
            )
        )
    _print_whole(console, table)


def _table(headings: Iterable[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(_cell(heading), no_wrap=True)
    return table


def _print_whole(console: Console, table: Table) -> None:
    """Print a table at its full width, because half an amount is a wrong amount."""
    unbounded = console.options.update(max_width=_UNBOUNDED)
    wide = unbounded.update(width=console.measure(table, options=unbounded).maximum)
    console.print(Segments(console.render(table, wide)), soft_wrap=True, end="")


def _amount(value: object) -> Text:
    """A number of a comparison, with commas between thousands."""
    return _cell(None if value is None else f"{Decimal(str(value)):,f}")


def _cell(value: object) -> Text:
    """A value on one line, without markup."""
    return Text("-" if value is None else " ".join(printable(str(value)).split("\n")))
