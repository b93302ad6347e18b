"""A comparison of whole rows: the verdict, and a tab for each kind of difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from nicegui import ui

from skillian.data.results.rows import ColumnCoverage, percent
from skillian.data.schema.diff import distinct_names
from skillian.data.services import MOST_ROWS
from skillian.display import printable
from skillian.web.comparison.change import change_panel
from skillian.web.comparison.grid.columns import (
    NUMBERS,
    count_columns,
    key_column,
    own_column,
    status_column,
    value_columns,
)
from skillian.web.comparison.grid.grid import Grid, GridContent
from skillian.web.comparison.schema import schema_panel, show_table
from skillian.web.comparison.sql import sql_panel
from skillian.web.comparison.status_bar import ClassCount, StatusBar
from skillian.web.comparison.statuses import StatusStyle, styles_of
from skillian.web.comparison.tabs import Tabs
from skillian.web.comparison.verdict import (
    Conclusion,
    Figure,
    ScopePart,
    Verdict,
    conditions,
    joined,
)
from skillian.web.comparison.why.rules import rules_panel
from skillian.web.match.matcher import Matcher
from skillian.web.match.matching import type_words
from skillian.web.shell import text
from skillian.web.shell.frame import Visit

RowsResult = Mapping[str, Any]
"""A `ComparisonResult` as JSON."""

Panel = Callable[[RowsResult], object]

_PAIRS = 3
_NAMES = 20
_RULES = 3
_MOST_COLUMNS = 100
_CLASSES = ("matched", "differing", "only_in_a", "only_in_b", "duplicate")


def rows_tabs(result: RowsResult, visit: Visit) -> Tabs:
    """A tab for each way to look at a comparison of whole rows."""
    panels: dict[str, Callable[[], object]] = {
        name: partial(panel, result) for name, has_content, panel in PANELS if has_content(result)
    }
    if _has_keyed_rows(result):
        panels["Why"] = partial(rules_panel, visit, result)
    rows = result["rows"]["a"] + result["rows"]["b"]
    fields = partial(Matcher, visit, names=_names(result), rows=rows)
    panels["Change"] = partial(change_panel, visit, result["cache_key"], fields)
    panels["SQL"] = partial(_sql, result)
    return Tabs("The result", panels)


def _styles(result: RowsResult) -> Mapping[str, tuple[str, StatusStyle]]:
    """The CSS class and the style of each class of rows.

    Without a key, a row that one side has more often may be in both.
    """
    styles = styles_of(_names(result), "only" if result["key"]["columns"] else "more")
    return {
        "matched": ("match", replace(styles["match"], label="matched")),
        "differing": ("major_diff", replace(styles["major_diff"], label="differing", symbol="≠")),
        "only_in_a": ("missing_in_b", styles["missing_in_b"]),
        "only_in_b": ("missing_in_a", styles["missing_in_a"]),
        "duplicate": (
            "minor_diff",
            replace(styles["minor_diff"], label="repeated key", symbol="∥"),
        ),
    }


def _names(result: RowsResult) -> tuple[str, str]:
    return distinct_names((result["source_a"], result["source_b"]))


def _classes(result: RowsResult) -> dict[str, int]:
    """The number of rows of each class, on both sides together."""
    rows = result["rows"]
    repeated = rows["duplicate_rows_a"] + rows["duplicate_rows_b"]
    return {name: {**rows, "duplicate": repeated}[name] for name in _CLASSES}


def _class_counts(result: RowsResult) -> Mapping[str, ClassCount]:
    """The classes that have rows; those that match are not among the rows that are shown."""
    counts = _classes(result)
    return {
        name: ClassCount(colour, style, counts[name], has_choice=name != "matched")
        for name, (colour, style) in _styles(result).items()
        if counts[name]
    }


def verdict_on_rows(result: RowsResult) -> Verdict:
    """What a comparison of whole rows begins with."""
    rows, names = result["rows"], _names(result)
    keys = ", ".join(result["key"]["columns"])
    scope = f"whole rows by {keys}" if keys else "whole rows, without a key"
    matched = [text.amount(rows["matched"]), " match"]
    unequal = sum(count for name, count in _classes(result).items() if name != "matched")
    return Verdict(
        names=names,
        snapshot=result["proof"]["snapshot"],
        scope=(
            ScopePart((scope,), "columns"),
            *conditions(result["filters"]),
            ScopePart(_rules(result), "columns"),
        ),
        conclusion=_conclusion(result),
        sentence=_sentence(result),
        figures=(
            Figure(f"Rows in {names[0]}", rows["a"]),
            Figure(f"Rows in {names[1]}", rows["b"]),
            Figure("Rows without an equal one", unequal, note=matched),
        ),
        findings=result["notes"],
        cache_key=result["cache_key"],
    )


def _conclusion(result: RowsResult) -> Conclusion:
    rows = result["rows"]
    if result["equal"]:
        return Conclusion("match", "✓", "Equal")
    if rows["matched"] == rows["a"] == rows["b"]:
        return Conclusion("minor_diff", "△", "Columns differ")
    return Conclusion("major_diff", "≠", "Rows differ")


def _rules(result: RowsResult) -> Sequence[str]:
    """The limits within which cells are equal."""
    rules = [(each["a"], each["rule"]) for each in result["columns"] if each["rule"] != "exact"]
    if not rules:
        return ("Limits: only equal cells match",)
    named = "; ".join(f"{name} {rule}" for name, rule in rules[:_RULES])
    more = f"; {len(rules) - _RULES} more" if len(rules) > _RULES else ""
    return (f"Limits: {named}{more}",)


def _sentence(result: RowsResult) -> Sequence[str]:
    rows, names = result["rows"], _names(result)
    counts, coverage = _classes(result), _coverage(result)
    if not sum(counts.values()):
        return (f"Neither {names[0]} nor {names[1]} has rows.",)
    if rows["matched"] == rows["a"] == rows["b"]:
        if rows["a"] == 1:
            return (f"The only row of both sides matches{coverage}.",)
        return ("All ", text.amount(rows["a"]), f" rows match{coverage}.")
    words = {
        "differing": ("differs", "differ"),
        "only_in_a": (f"is only in {names[0]}", f"are only in {names[0]}"),
        "only_in_b": (f"is only in {names[1]}", f"are only in {names[1]}"),
        "duplicate": ("has a key that is repeated", "have a key that is repeated"),
    }
    parts = [
        [text.amount(counts[name]), f" row {one}" if counts[name] == 1 else f" rows {many}"]
        for name, (one, many) in words.items()
        if counts[name]
    ]
    return (*joined(parts), f"; compared{coverage}." if coverage else ".")


def _coverage(result: RowsResult) -> str:
    """How many of the columns were compared, and which were not, unless all were."""
    known = result["coverage"]
    coverage = ColumnCoverage(known["compared"], tuple(known["not_compared"]))
    return printable(f"{coverage.words}{coverage.rest}")


def _families(result: RowsResult) -> Mapping[str, tuple[str, str]]:
    """The families of the types of both sides, by the names of the columns in A."""
    pairs = result["schema"]["columns"]
    return {pair["a"]["column"]: (pair["a"]["family"], pair["b"]["family"]) for pair in pairs}


def _amounts(result: RowsResult) -> set[str]:
    """The columns, by their names in A, that hold numbers on both sides."""
    return {name for name, both in _families(result).items() if NUMBERS.issuperset(both)}


def _samples(result: RowsResult) -> None:
    """Some rows that differ, with the cells that do marked."""
    samples = result["samples"]["differing"]
    keys, amounts = list(samples[0]["key"]), _amounts(result)
    # In the order of the columns; only those that differ in one of these rows.
    seen = {name for row in samples for name in row["cells"]}
    columns = [column["a"] for column in result["columns"] if column["a"] in seen]
    rows = [
        [
            *(text.stored(row["key"][name]) for name in keys),
            *(_cell(row["cells"].get(name), is_amount=name in amounts) for name in columns),
        ]
        for row in samples
    ]
    a, b = _names(result)
    _note(
        *_of(samples, result["rows"]["differing"]),
        f" differ. ≠ marks a cell that differs: its value in {a} → its value in {b}.",
    )
    show_table("Rows that differ", (*keys, *columns), rows)


def _cell(cell: Mapping[str, Any] | None, *, is_amount: bool) -> text.Cell:
    return text.same() if cell is None else text.marked(cell["a"], cell["b"], is_amount=is_amount)


def _columns(result: RowsResult) -> None:
    """The columns with mismatches."""
    differing = [column for column in result["columns"] if column["mismatches"]]
    same = [column["a"] for column in result["columns"] if not column["mismatches"]]
    if differing:
        a, b = _names(result)
        headings = ("Column", "Mismatches", "Share", "Largest gap", f"Most frequent: {a} → {b}")
        amounts = _amounts(result)
        types = _types(result)
        rows = [
            _column(column, types[column["a"]], is_amount=column["a"] in amounts)
            for column in sorted(differing, key=lambda each: -each["mismatches"])
        ]
        show_table("Columns with mismatches", (*headings, "Rule", "Type"), rows)
    if same:
        more = f" and {len(same) - _NAMES} more" if len(same) > _NAMES else ""
        names = f"{', '.join(same[:_NAMES])}{more}"
        ui.label(printable(f"Without mismatches: {names}")).classes("soft")


def _types(result: RowsResult) -> Mapping[str, tuple[str, str]]:
    """What the columns hold on both sides, in everyday words, by their names in A."""
    families = _families(result).items()
    return {name: (type_words(a), type_words(b)) for name, (a, b) in families}


def _column(column: Mapping[str, Any], types: tuple[str, str], *, is_amount: bool) -> Sequence[Any]:
    changes = [
        text.counted(text.change(pair["a"], pair["b"], is_amount=is_amount), pair["count"])
        for pair in column["pairs"]
    ]
    return (
        _both(column["a"], column["b"]),
        text.amount(column["mismatches"]),
        text.percentage(percent(column["mismatches"], column["compared"])),
        text.amount(column["largest_gap"]),
        text.unfolding(changes, _PAIRS),
        column["rule"],
        text.hinted(_both(*types), _both(column["type_a"], column["type_b"])),
    )


def _schema(result: RowsResult) -> None:
    """What differs between the columns themselves, and which may have been renamed."""
    differences, proposals = result["schema"]["differences"], result["proposals"]
    refused, (a, b) = result["not_compared"], _names(result)
    if differences:
        schema_panel(differences)
    if refused:
        rows = [[each["column"], each["reason"]] for each in refused]
        name = "Columns that were not compared"
        show_table(name, ("Column", "Reason"), rows, name)
    if proposals:
        rows = [[each["a"], each["b"], each["reason"]] for each in proposals]
        note = "Columns that may have been renamed; they were not compared as one"
        show_table("Proposed pairs", (f"In {a}", f"In {b}", "Reason"), rows, note)


def _all_differences(result: RowsResult) -> None:
    """All rows that differ, as a grid."""
    names, counts = _names(result), _unequal(result)
    styles = {name: style for name, (_, style) in _styles(result).items()}
    families, keys = _families(result), result["key"]["columns"]
    # Those that differ come first, and can be shown alone.
    values = sorted(result["columns"] if keys else [], key=lambda each: not each["mismatches"])
    values = values[:_MOST_COLUMNS]
    parts = keys or [column["a"] for column in result["columns"]]
    columns = [status_column(styles)]
    if not keys:
        columns.append(count_columns(names))
    columns += [key_column(index, name, *families[name]) for index, name in enumerate(parts)]
    columns += [
        value_columns(index, column["a"], names, families[column["a"]])
        for index, column in enumerate(values)
    ]
    own = [
        (column["column"], side)
        for side, name in zip(names, ("only_in_a", "only_in_b"), strict=True)
        for column in result["schema"][name]
        if keys and counts.get(name)
    ][:_MOST_COLUMNS]
    columns += [own_column(index, *each) for index, each in enumerate(own)]
    content = GridContent(
        cache_key=result["cache_key"],
        keys=parts,
        values=[column["a"] for column in values],
        columns=columns,
        statuses=list(counts),
        shown=sum(counts.values()),
        total=None,
        unit="rows",
        label="Rows that differ",
        own=[name for name, _ in own],
        equal=[index for index, column in enumerate(values) if not column["mismatches"]],
    )
    bar_room, tools = ui.element("div").classes("stack"), ui.element("div").classes("line")
    grid = Grid(content, ui.element("span").classes("soft").props("role=status"))

    def select(statuses: Sequence[str]) -> None:
        bar.show(statuses)
        grid.show_statuses(statuses)

    with bar_room:
        bar = StatusBar("Rows by class", _class_counts(result), list(counts), select)
    with tools:
        grid.tools()
    if len(result["columns"]) > _MOST_COLUMNS and keys:
        number = text.amount(len(result["columns"]))
        _note(f"The first {_MOST_COLUMNS} of ", number, " columns are shown.")


def _differences(result: RowsResult) -> None:
    """The rows that differ, if they are kept; else the samples, and how to get all."""
    if sum(_unequal(result).values()) <= MOST_ROWS:
        _all_differences(result)
        return
    _note("More rows differ than are kept: get all of them with `skillian compare` and --output.")
    _samples(result)


def _unequal(result: RowsResult) -> dict[str, int]:
    """At least how many rows of the grid have each class; a key that is repeated is one row."""
    rows = result["rows"]
    repeated = max(rows["duplicate_keys_a"], rows["duplicate_keys_b"])
    counts = {name: rows[name] for name in ("differing", "only_in_a", "only_in_b")}
    return {name: count for name, count in {**counts, "duplicate": repeated}.items() if count}


def _sql(result: RowsResult) -> None:
    proof, key = result["proof"], result["key"]
    places = {"database": "in the database", "workspace": "in DuckDB, after staging both sides"}
    origin = f"given: {', '.join(key['columns'])}" if key["origin"] == "given" else key["reason"]
    notes = (f"Computed {places[proof['place']]}.", f"Key: {origin}")
    queries = {name: query["sql"] for name, query in proof["queries"].items()}
    sql_panel(proof["sql"], queries, notes)


def _has_schema(result: RowsResult) -> bool:
    return bool(result["schema"]["differences"] or result["proposals"] or result["not_compared"])


def _has_rows(result: RowsResult) -> bool:
    return bool(_unequal(result))


def _has_keyed_rows(result: RowsResult) -> bool:
    return _has_rows(result) and bool(result["key"]["columns"])


PANELS: Sequence[tuple[str, Callable[[RowsResult], bool], Panel]] = (
    ("Differences", _has_rows, _differences),
    ("Columns", lambda result: bool(result["columns"] and result["key"]["columns"]), _columns),
    ("Schema", _has_schema, _schema),
)
"""The tabs in their order: the name, whether a result has content for it, and its content."""


def _note(*parts: str) -> None:
    text.sentence(*parts).classes("soft small")


def _of(rows: Sequence[object], total: int) -> Iterator[str]:
    yield from ("All ", text.amount(total)) if len(rows) == total else (
        text.amount(len(rows)), " of ", text.amount(total)
    )  # fmt: skip


def _both(a: str, b: str) -> str:
    return a if a == b else f"{a} → {b}"
