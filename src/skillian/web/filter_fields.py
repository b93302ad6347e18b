"""Fields for which rows take part: a dimension, an operator and a value a line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from nicegui import ui

from skillian.data.query.filters import written_filter
from skillian.web.choices import offer

_OPERATORS = {
    "in": "is one of",
    "not_in": "is none of",
    "gte": "is at least",
    "gt": "is more than",
    "lte": "is at most",
    "lt": "is less than",
    "between": "is from … to",
    "empty": "has no value",
    "not_empty": "has a value",
}
_WITHOUT_VALUE = ("empty", "not_empty")
_HINTS = {"in": "1001, 1002", "not_in": "1001, 1002", "between": "2024001 .. 2024006"}


class FilterFields:
    """Lines that are added and removed; none means all rows."""

    def __init__(self) -> None:
        self._names: Sequence[str] = ()
        self._lines: list[_Line] = []
        with ui.element("fieldset").classes("fields"):
            with ui.element("legend"):
                ui.label("Only rows where")
            self._room = ui.element("div").classes("stack")
            ui.button("Add a filter", icon="add", on_click=self._add).props("flat dense")

    def offer(self, names: Sequence[str]) -> None:
        """Offer these dimensions; lines on others go."""
        self._names = names
        for line in tuple(self._lines):
            if line.dimension.value in names:
                offer(line.dimension, names, line.dimension.value)
            else:
                self._remove(line)

    def read(self) -> dict[str, Any] | None:
        """The filters; None where one is wrong, which then says so."""
        found: dict[str, Any] = {}
        is_right = True
        for line in self._lines:
            line.value.error = None
            name, given = line.dimension.value, line.read()
            if given in ([], {"ne": []}):
                line.value.error = "Write a value."
                is_right = False
            elif name not in found:
                found[name] = given
            elif isinstance(given, dict) and isinstance(found[name], dict):
                found[name] = {**found[name], **cast("dict[str, Any]", given)}
            else:
                line.value.error = f"There is another filter on {name} already."
                is_right = False
        return found if is_right else None

    def blame(self, fault: str) -> bool:
        """Show a fault beside the line whose dimension it names; whether there is one."""
        for line in self._lines:
            if repr(line.dimension.value) in fault:
                line.value.error = fault
                return True
        return False

    def _add(self) -> None:
        if self._names:
            with self._room:
                self._lines.append(_Line(self._names, self._remove))

    def _remove(self, line: _Line) -> None:
        self._lines.remove(line)
        line.row.delete()


class _Line:
    def __init__(self, names: Sequence[str], remove: Any) -> None:
        with ui.element("div").classes("filter-line") as self.row:
            self.dimension = ui.select(list(names), value=names[0], label="Dimension")
            self.operator = ui.select(_OPERATORS, value="in", label="Condition")
            self.value = ui.input("Value", placeholder=_HINTS["in"])
            for field in (self.dimension, self.operator, self.value):
                field.props("dense outlined")
            button = ui.button(icon="close", on_click=partial(remove, self))
            button.props("flat round dense").props["aria-label"] = "Remove this filter"
        self.operator.on_value_change(self._change)

    def read(self) -> object:
        return written_filter(self.operator.value, self.value.value or "")

    def _change(self) -> None:
        self.value.set_visibility(self.operator.value not in _WITHOUT_VALUE)
        self.value.props["placeholder"] = _HINTS.get(self.operator.value, "")
