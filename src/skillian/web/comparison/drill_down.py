"""The rows behind one group, each next to its counterpart, with the cells that differ marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from nicegui import ui

from skillian.api.service import Service
from skillian.data.comparison.row_pairs import PairedRow, PairedRows
from skillian.data.results.result import ComparisonResult
from skillian.data.schema.diff import distinct_names
from skillian.data.sql.values import jsonable
from skillian.data.subjects import Status
from skillian.display import printable
from skillian.reports.words import key_words
from skillian.web.comparison.schema import show_table
from skillian.web.comparison.statuses import styles_of
from skillian.web.shell import text
from skillian.web.shell.activity import loading, reporting_errors
from skillian.web.shell.buttons import Button, IconButton
from skillian.web.shell.elements import Heading


async def open_drill_down(service: Service, cache_key: str, key: Mapping[str, object]) -> None:
    """Open a dialog with the rows behind a group, or show why they cannot be read."""
    with ui.dialog() as dialog, ui.card().classes("drill-down") as card:
        card.props["data-testid"] = "drill-down"
        spinner = loading("Reading the rows …")
    _ = dialog.on("hide", dialog.delete)
    _ = dialog.open()
    with reporting_errors():
        rows = await _read(service, cache_key, key)
        if not dialog.is_deleted:
            spinner.delete()
            title = f"Rows behind {key_words(rows.key)}"
            dialog.props["aria-label"] = title
            with card:
                with ui.element("div").classes("line drill-head"):
                    Heading(title, 2).classes("grow")
                    IconButton("close", "Close", dialog.close)
                _Pairs(rows)
        return
    dialog.close()


def rows_panel(service: Service, result: ComparisonResult) -> None:
    """Show the rows behind one of the groups with the largest differences."""
    keys = {key_words(each.key): each.key for each in result.top_differences}
    names = list(keys)
    choice = ui.select(names, value=names[0], label="Group")
    choice.classes("group-choice").props["aria-label"] = "Group"
    room = ui.element("div").classes("stack")
    room.props["data-testid"] = "paired-rows"

    async def show() -> None:
        name = choice.value
        room.clear()
        with room:
            loading("Reading the rows …")
        with reporting_errors():
            rows = await _read(service, result.cache_key, keys[name])
            if choice.value == name and not room.is_deleted:
                room.clear()
                with room:
                    _Pairs(rows)
            return
        room.clear()

    choice.on_value_change(show)
    ui.timer(0, show, once=True)  # the tab opens before the rows are read


async def _read(service: Service, cache_key: str, key: Mapping[str, object]) -> PairedRows:
    with service.slots.taken():
        await service.comparisons.recall(cache_key)
        return await service.data.engine.measures.paired_rows(cache_key, key)


class _Pairs:
    """The rows of a group: first those that are not equal, on demand all of them."""

    def __init__(self, rows: PairedRows) -> None:
        self._rows = rows
        self._names = distinct_names((rows.source_a, rows.source_b))
        equal = [row for row in rows.rows if _status(row) == "match"]
        self._unequal = [row for row in rows.rows if _status(row) != "match"]
        with ui.element("p").classes("pair-counts"):
            text.sentence(*self._counts(len(equal)))
        for note in self._notes():
            ui.label(printable(note)).classes("soft small")
        self._room = ui.element("div").classes("pairs")
        if equal and self._unequal:
            self._more = Button(on_click=self._show_all, kind="quiet")
            with self._more:
                text.sentence("Show the ", text.amount(len(equal)), " equal rows too")
        for name, statement in zip(self._names, rows.statements, strict=True):
            with ui.expansion(printable(f"SQL in {name}")).classes("full").props("dense"):
                text.code(statement, "sql")
        self._show(self._unequal or rows.rows)

    def _counts(self, equal: int) -> Iterator[str]:
        """How many rows differ, are only on one side, or are equal."""
        a, b = self._names
        yield from (f"{a}: ", text.amount(self._rows.rows_a), " rows, ")
        yield from (f"{b}: ", text.amount(self._rows.rows_b), " rows; ")
        counts = Counter(_status(row) for row in self._rows.rows)
        names: Mapping[Status, str] = {
            "major_diff": "differs" if counts["major_diff"] == 1 else "differ",
            "missing_in_b": f"only in {a}",
            "missing_in_a": f"only in {b}",
        }
        for status, name in names.items():
            if counts[status]:
                yield from (text.amount(counts[status]), f" {name}, ")
        yield from (text.amount(equal), " equal.")

    def _notes(self) -> Iterator[str]:
        rows = self._rows
        if rows.rows_a and rows.rows_b:
            by = f"by {' and '.join(rows.matched_by)}" if rows.matched_by else "by likeness"
            yield f"Rows are matched {by}. Values count as equal as the sources declare them."
        if rows.is_truncated:
            yield (
                "Only the first rows of each side were read: a row without a counterpart may have"
                " one among the others."
            )

    def _show_all(self) -> None:
        self._more.delete()
        self._show(self._rows.rows)

    def _show(self, rows: Sequence[PairedRow]) -> None:
        a, b = self._names
        headings = (
            "",
            *self._rows.columns,
            *(f"{name} ({a})" for name in self._rows.only_a),
            *(f"{name} ({b})" for name in self._rows.only_b),
        )
        self._room.clear()
        with self._room:
            show_table("Rows of both sides", headings, [self._cells(row) for row in rows])

    def _cells(self, row: PairedRow) -> Sequence[text.Cell]:
        count = len(self._rows.columns)
        a, b = row.a or (), row.b or ()
        shown = [
            _cell(index, row) if row.a and row.b else _value((a or b)[index])
            for index in range(count)
        ]
        others = (
            a[count:] or [None] * len(self._rows.only_a),
            b[count:] or [None] * len(self._rows.only_b),
        )
        style = styles_of(self._names)[_status(row)]
        label = "differs" if _status(row) == "major_diff" else style.label
        symbol = "≠" if _status(row) == "major_diff" else style.symbol
        mark = text.status(_status(row), symbol, label)
        return (mark, *shown, *(_value(value) for side in others for value in side))


def _status(row: PairedRow) -> Status:
    """The class of a row, whose colour and symbol it has."""
    if row.b is None:
        return "missing_in_b"
    if row.a is None:
        return "missing_in_a"
    return "major_diff" if row.differing else "match"


def _cell(index: int, row: PairedRow) -> text.Cell:
    """A cell of both sides; the value of a if they are equal."""
    a, b = (side[index] if side else None for side in (row.a, row.b))
    if index not in row.differing:
        return _value(a)
    is_amount = isinstance(a, Decimal) and isinstance(b, Decimal)
    return text.marked(_written(a), _written(b), is_amount=is_amount)


def _value(value: object) -> text.Cell:
    return text.amount(value) if isinstance(value, Decimal) else text.stored(_written(value))


def _written(value: object) -> str | None:
    return None if value is None else str(jsonable(value))
