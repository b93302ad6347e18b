"""A comparison of whole rows: the verdict, the counts, and a panel for each kind of difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nicegui import ui

from skillian.data.tables.results import percent
from skillian.display import printable
from skillian.web.comparison.statuses import STATUS_STYLES, StatusStyle, share_bar
from skillian.web.comparison.summary import REPORTS, downloads, tile
from skillian.web.shell import text
from skillian.web.shell.elements import Amount, Heading, scroll_region

RowsResult = Mapping[str, Any]
"""A `TableResult` as JSON."""

_PAIRS = 3
_NAMES = 20
_STYLES: Mapping[str, tuple[str, StatusStyle]] = {
    "matched": ("match", StatusStyle("matched", "=", STATUS_STYLES["match"].colour)),
    "differing": ("major_diff", StatusStyle("differing", "≠", STATUS_STYLES["major_diff"].colour)),
    "only_in_a": ("missing_in_b", STATUS_STYLES["missing_in_b"]),
    "only_in_b": ("missing_in_a", STATUS_STYLES["missing_in_a"]),
    "duplicate": ("minor_diff", StatusStyle("repeated key", "∥", "#e69f00")),
}


def rows_view(result: RowsResult, level: Literal[1, 2]) -> None:
    """Show a comparison of whole rows.

    Args:
        result: The comparison.
        level: The level of its heading: 1 if the comparison has the page to itself.
    """
    _verdict(result, level)
    _counts(result)
    with ui.element("ul").classes("sentences"):
        for sentence in result["sentences"][1:]:
            with ui.element("li"):
                ui.label(printable(sentence))
    for panel in PANELS:
        panel(result)


def _verdict(result: RowsResult, level: Literal[1, 2]) -> None:
    a, b = (printable(result[name]) for name in ("source_a", "source_b"))
    Heading(f"{a} and {b}", level)
    status, symbol, word = _judgement(result)
    with ui.element("div").classes("verdict line") as line:
        line.props["data-testid"] = "verdict"
        with ui.element("span").classes(f"status status-{status}"):
            ui.label(symbol).classes("status-symbol").props("aria-hidden=true")
            ui.label(word)
        ui.label(printable(result["sentences"][0])).classes("grow")
    keys = ", ".join(result["key"]["columns"])
    scope = f"whole rows by {keys}" if keys else "whole rows, without a key"
    ui.label(printable(f"A is {a}, B is {b} · {scope}")).classes("soft")
    downloads(result["cache_key"], REPORTS)


def _judgement(result: RowsResult) -> tuple[str, str, str]:
    """The class, the symbol and the word for the whole result."""
    rows = result["rows"]
    if result["equal"]:
        return "match", "✓", "Equal"
    if rows["matched"] == rows["a"] == rows["b"]:
        return "minor_diff", "△", "Columns differ"
    return "major_diff", "≠", "Rows differ"


def _counts(result: RowsResult) -> None:
    rows = result["rows"]
    names = {"a": "Rows in A", "b": "Rows in B", "matched": "Matched"}
    if result["key"]["columns"]:
        names |= {"differing": "Differing"}
    names |= {"only_in_a": "Only in A", "only_in_b": "Only in B"}
    repeated = rows["duplicate_rows_a"] + rows["duplicate_rows_b"]
    if repeated:
        names |= {f"duplicate_rows_{side}": f"Repeated key in {side.upper()}" for side in "ab"}
    with ui.element("div").classes("tiles row-tiles") as tiles:
        tiles.props["data-testid"] = "tiles"
        for name, label in names.items():
            with tile(label):
                Amount(rows[name])
    counts = {**rows, "duplicate": repeated}
    if sum(counts[name] for name in _STYLES):
        share_bar("Rows by class", [(*style, counts[name]) for name, style in _STYLES.items()])


def _columns(result: RowsResult) -> None:
    """The columns with mismatches."""
    differing = [column for column in result["columns"] if column["mismatches"]]
    same = [column["a"] for column in result["columns"] if not column["mismatches"]]
    if not result["columns"] or not result["key"]["columns"]:
        return
    with _panel("Columns"):
        if differing:
            headings = ("Column", "Mismatches", "Share", "Largest gap", "Most frequent: A → B")
            rows = [
                [
                    _column_name(column),
                    column["mismatches"],
                    percent(column["mismatches"], column["compared"]),
                    column["largest_gap"],
                    text.unfolding(
                        [
                            text.counted(text.change(pair["a"], pair["b"]), pair["count"])
                            for pair in column["pairs"]
                        ],
                        _PAIRS,
                    ),
                    column["rule"],
                    _both(column["type_a"], column["type_b"]),
                ]
                for column in sorted(differing, key=lambda each: -each["mismatches"])
            ]
            _table("Columns with mismatches", (*headings, "Rule", "Type"), rows)
        if same:
            more = f" and {len(same) - _NAMES} more" if len(same) > _NAMES else ""
            names = f"{', '.join(same[:_NAMES])}{more}"
            ui.label(printable(f"Without mismatches: {names}")).classes("soft")


def _samples(result: RowsResult) -> None:
    """Rows that differ, with the cells that do marked."""
    samples = result["samples"]["differing"]
    if not samples:
        return
    keys = list(samples[0]["key"])
    # In the order of the columns; only those that differ in one of these rows.
    seen = {name for row in samples for name in row["cells"]}
    columns = [column["a"] for column in result["columns"] if column["a"] in seen]
    rows = [
        [
            *(text.stored(row["key"][name]) for name in keys),
            *(_sample_cell(row["cells"].get(name)) for name in columns),
        ]
        for row in samples
    ]
    with _panel("Rows that differ"):
        note = (
            f"{_of(samples, result['rows']['differing'])};"
            " ≠ marks a cell that differs, with its value in A → its value in B"
        )
        _table("Rows that differ", (*keys, *columns), rows, note)


def _sample_cell(cell: Mapping[str, Any] | None) -> text.Cell:
    return text.same() if cell is None else text.marked(cell["a"], cell["b"])


def _one_sided(result: RowsResult) -> None:
    """Rows that only one side has."""
    samples, counts = result["samples"], result["rows"]
    sides = [side for side in ("a", "b") if samples[f"only_in_{side}"]]
    if not sides:
        return
    with ui.element("div").classes("charts"):
        for side in sides:
            rows = samples[f"only_in_{side}"]
            title = f"Rows only in {side.upper()}"
            with _panel(title):
                note = _of(rows, counts[f"only_in_{side}"])
                if result["key"]["columns"]:
                    keys = list(rows[0]["key"])
                    cells = [[text.stored(row["key"][name]) for name in keys] for row in rows]
                    _table(title, keys, cells, note)
                else:
                    _counted_table(title, rows, note)


def _duplicates(result: RowsResult) -> None:
    """Keys that occur more than once."""
    samples = result["samples"]["duplicates"]
    if samples:
        with _panel("Repeated keys"):
            note = "Rows with these keys were not compared"
            _counted_table("Repeated keys", samples, note)


def _schema(result: RowsResult) -> None:
    """What differs between the columns themselves, and which may have been renamed."""
    differences, proposals = result["schema"]["differences"], result["proposals"]
    refused = result["not_compared"]
    if not (differences or proposals or refused):
        return
    with _panel("Schema"):
        if differences:
            rows = [
                ["finding" if each["finding"] else "note", each["aspect"], each["sentence"]]
                for each in sorted(differences, key=lambda each: not each["finding"])
            ]
            _table("Differences between the schemas", ("", "About", "Difference"), rows)
        if refused:
            rows = [[each["column"], each["reason"]] for each in refused]
            name = "Columns that were not compared"
            _table(name, ("Column", "Reason"), rows, name)
        if proposals:
            rows = [[each["a"], each["b"], each["reason"]] for each in proposals]
            note = "Columns that may have been renamed; they were not compared as one"
            _table("Proposed pairs", ("In A", "In B", "Reason"), rows, note)


def _method(result: RowsResult) -> None:
    """How the comparison was computed."""
    proof, key = result["proof"], result["key"]
    places = {"database": "in the database", "workspace": "in DuckDB, after staging both sides"}
    with ui.expansion("How this was computed").classes("full"):
        ui.label(f"Started: {proof['started']}, {places[proof['place']]}").classes("small")
        origin = (
            f"given: {', '.join(key['columns'])}" if key["origin"] == "given" else key["reason"]
        )
        ui.label(printable(f"Key: {origin}")).classes("small")
        for name, query in proof["queries"].items():
            ui.label(printable(f"SQL in {name}")).classes("small soft")
            text.code(query, "sql")
        ui.label("SQL").classes("small soft")
        text.code(proof["statement"], "sql")


PANELS = (_columns, _samples, _one_sided, _duplicates, _schema, _method)
"""Shown below the counts, in this order; one without content shows nothing."""


def _panel(title: str) -> ui.element:
    section = ui.element("section").classes("panel pad stack")
    section.props["aria-label"] = title
    with section:
        Heading(title, 2)
    return section


def _table(
    name: str, headings: Sequence[str], rows: Sequence[Sequence[Any]], note: str = ""
) -> None:
    if note:
        ui.label(note).classes("soft small")
    with scroll_region(name):
        text.table(headings, rows, name).classes("row-table")


def _counted_table(name: str, rows: Sequence[Mapping[str, Any]], note: str) -> None:
    keys = list(rows[0]["key"])
    cells = [
        [*(text.stored(row["key"][key]) for key in keys), row["rows_a"], row["rows_b"]]
        for row in rows
    ]
    _table(name, (*keys, "Rows in A", "Rows in B"), cells, note)


def _of(rows: Sequence[object], total: int) -> str:
    return f"{len(rows)} of {total}" if len(rows) < total else f"All {total}"


def _column_name(column: Mapping[str, Any]) -> str:
    return _both(column["a"], column["b"])


def _both(a: str, b: str) -> str:
    return a if a == b else f"{a} → {b}"
