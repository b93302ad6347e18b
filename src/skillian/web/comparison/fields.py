"""Fields of the comparison form: which rows take part, and the limits of measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from nicegui import ui
from pydantic import ValidationError

from skillian.data.declare.definitions import Thresholds
from skillian.data.query.filters import written_filter
from skillian.web.shell.elements import set_options

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
_CLASSES = {"match": "A match differs by at most", "minor_diff": "A minor difference is at most"}
_PARTS = {"absolute": "amount", "percentage": "percent of A"}


def select(label: str, names: list[str], value: object, *, multiple: bool = False) -> ui.select:
    """A field to choose one name, or several."""
    field = ui.select(names, value=value, label=label, multiple=multiple)
    field.props("outlined dense use-chips" if multiple else "outlined dense")
    field.props["aria-label"] = label
    return field


class FilterFields:
    """Filters that the reader adds and removes; without a filter all rows take part."""

    def __init__(self) -> None:
        self._dimensions: Sequence[str] = ()
        self._lines: list[_FilterLine] = []
        with ui.element("fieldset").classes("fields"):
            with ui.element("legend"):
                ui.label("Only rows where")
            self._room = ui.element("div").classes("stack")
            ui.button("Add a filter", icon="add", on_click=self._add).props("flat dense")

    def set_dimensions(self, names: Sequence[str]) -> None:
        """Offer these dimensions, and remove filters on others."""
        self._dimensions = names
        for line in tuple(self._lines):
            if line.dimension.value in names:
                set_options(line.dimension, names, line.dimension.value)
            else:
                self._remove(line)

    def read(self) -> dict[str, Any] | None:
        """The filters by dimension; None if a field shows an error."""
        filters: dict[str, Any] = {}
        is_valid = True
        for line in self._lines:
            line.value.error = None
            name, value = line.dimension.value, line.read()
            if value in ([], {"ne": []}):
                line.value.error = "Enter a value."
                is_valid = False
            elif name not in filters:
                filters[name] = value
            elif isinstance(value, dict) and isinstance(filters[name], dict):
                filters[name] = {**filters[name], **cast("dict[str, Any]", value)}
            else:
                line.value.error = f"There is another filter on {name} already."
                is_valid = False
        return filters if is_valid else None

    def show_error(self, message: str) -> bool:
        """Show an error next to the filter whose dimension it names.

        Returns:
            Whether there is such a filter.
        """
        for line in self._lines:
            if repr(line.dimension.value) in message:
                line.value.error = message
                return True
        return False

    def _add(self) -> None:
        if self._dimensions:
            with self._room:
                self._lines.append(_FilterLine(self._dimensions, self._remove))

    def _remove(self, line: _FilterLine) -> None:
        self._lines.remove(line)
        line.row.delete()


class _FilterLine:
    """A dimension, an operator and a value."""

    def __init__(self, dimensions: Sequence[str], remove: Callable[[_FilterLine], None]) -> None:
        with ui.element("div").classes("filter-line") as self.row:
            self.dimension = ui.select(list(dimensions), value=dimensions[0], label="Dimension")
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


class LimitFields:
    """Four numbers: an amount and a percentage for each of two classes."""

    def __init__(self) -> None:
        self._fields: dict[tuple[str, str], ui.input] = {}
        caption = "leave empty for the configured limits"
        with ui.expansion("Limits of the classes", caption=caption) as self.room:
            for name, legend in _CLASSES.items():
                with ui.element("fieldset").classes("fields line"):
                    with ui.element("legend"):
                        ui.label(legend)
                    for part, label in _PARTS.items():
                        field = ui.input(label).props("dense outlined inputmode=decimal")
                        field.props["aria-label"] = f"{legend}: {label}"
                        self._fields[name, part] = field

    def read(self) -> Thresholds | None:
        """The limits; None if a field shows an error."""
        limits: dict[str, dict[str, str]] = {}
        for (name, part), field in self._fields.items():
            field.error = None
            if field.value and field.value.strip():
                limits.setdefault(name, {})[part] = field.value.strip()
        try:
            return Thresholds.model_validate(limits)
        except ValidationError as invalid:
            for error in invalid.errors():
                name, part = (str(each) for each in error["loc"][:2])
                self._fields[name, part].error = f"{error['msg']}."
            return None
