"""Fields for the rows that take part in a comparison: dimensions, conditions and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from nicegui import ui
from nicegui.events import GenericEventArguments

from skillian.api.problems import ProblemError
from skillian.api.service import Service
from skillian.data.sql.values import jsonable
from skillian.display import printable
from skillian.errors import ToolError
from skillian.web.shell.activity import start_task
from skillian.web.shell.buttons import Button, IconButton
from skillian.web.shell.elements import set_options

_OPERATORS = {
    "in": "is one of",
    "ne": "is none of",
    "gte": "is at least",
    "gt": "is more than",
    "lte": "is at most",
    "lt": "is less than",
    "between": "is from … to",
    "empty": "has no value",
    "not_empty": "has a value",
}
_WITHOUT_VALUE = ("empty", "not_empty")
_WITH_VALUES = ("in", "ne")
_MISSING = "Choose or enter a value."


class FilterFields:
    """Filters that the reader adds and removes; without a filter all rows take part.

    Args:
        service: Knows the values of dimensions.
        on_change: Called when a condition is changed or removed.
    """

    def __init__(self, service: Service, on_change: Callable[[], object] | None = None) -> None:
        self._on_change = on_change
        self._values = _KnownValues(service)
        self._dimensions: Sequence[str] = ()
        self._lines: list[_FilterLine] = []
        with ui.element("fieldset").classes("fields").props("data-control=filters"):
            with ui.element("legend"):
                ui.label("Only rows where")
            self._room = ui.element("div").classes("stack")
            self._empty = ui.label("All rows take part.").classes("soft small")
            self._button = Button("Add a filter", self._add, kind="quiet", icon="add")

    def set_sources(self, a: str, b: str, dimensions: Sequence[str]) -> None:
        """Offer the dimensions of two sources, and remove filters on others."""
        self._values.set_sources(a, b)
        self._dimensions = dimensions
        self._button.set_enabled(bool(dimensions))
        for line in tuple(self._lines):
            if line.dimension.value in dimensions:
                set_options(line.dimension, dimensions, line.dimension.value)
                line.offer()
            else:
                self._remove(line)
        self._update()

    def fill(self, filters: Mapping[str, Any]) -> None:
        """Show these filters, whose names are offered too."""
        self._dimensions = [*dict.fromkeys((*self._dimensions, *filters))]
        for name, condition in filters.items():
            for operator, value in _conditions(condition):
                self._add()
                self._lines[-1].fill(name, operator, value)

    def read(self, *, is_final: bool = True) -> dict[str, Any] | None:
        """The filters by dimension; None if one is missing a value or is not valid.

        Args:
            is_final: Whether a condition without a value shows an error.
        """
        filters: dict[str, Any] = {}
        is_valid = True
        for line in self._lines:
            name, value = line.dimension.value, line.read(is_final=is_final)
            if value is _INVALID:
                is_valid = False
            elif name not in filters:
                filters[name] = value
            elif isinstance(value, dict) and isinstance(filters[name], dict):
                filters[name] = {**filters[name], **cast("dict[str, Any]", value)}
            else:
                line.show(f"There is another filter on {name} already.")
                is_valid = False
        return filters if is_valid else None

    def show_error(self, message: str) -> bool:
        """Show an error next to the filter whose dimension it names.

        Returns:
            Whether there is such a filter.
        """
        for line in self._lines:
            if repr(line.dimension.value) in message:
                line.show(message)
                return True
        return False

    def _add(self) -> None:
        with self._room:
            line = _FilterLine(self._dimensions, self._values, self._remove)
        self._lines.append(line)
        if self._on_change is not None:
            line.follow(self._on_change)
        self._update()

    def _remove(self, line: _FilterLine) -> None:
        self._lines.remove(line)
        line.row.delete()
        self._update()
        if self._on_change is not None:
            self._on_change()

    def _update(self) -> None:
        if self._dimensions:
            self._empty.set_text("All rows take part.")
        else:
            self._empty.set_text("The two sources have no column in common to filter by.")
        self._empty.set_visibility(not self._lines)


class _KnownValues:
    """The values of the dimensions of two sources, where they are few."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._sources: tuple[str, str] = "", ""

    def set_sources(self, a: str, b: str) -> None:
        self._sources = a, b

    async def of(self, dimension: str) -> list[str]:
        """The values of both sides as texts; empty if they are many or cannot be read."""
        known: dict[str, object] = {}
        with suppress(ToolError, ProblemError), self._service.slots.taken():
            for name in self._sources:
                info = await self._service.data.catalogue.source(name)
                known_dimension = info.dimensions.get(dimension)
                values = None if known_dimension is None else known_dimension.values
                if values is None:
                    return []
                known |= {str(jsonable(value)): value for value in values if value is not None}
        return sorted(known)


_INVALID = object()


def _listed(value: object) -> list[object]:
    return list(cast("Sequence[object]", value)) if isinstance(value, list | tuple) else [value]


def _conditions(condition: object) -> list[tuple[str, object]]:
    """Each operator of a filter with its value, as the fields name them."""
    if isinstance(condition, Mapping):
        pairs = cast("Mapping[str, object]", condition).items()
        return [
            ("not_empty", None) if (name, value) == ("ne", None) else (name, value)
            for name, value in pairs
        ]
    return [("empty", None)] if condition is None else [("in", condition)]


class _FilterLine:
    """A dimension, an operator, and one, two or several values, chosen or typed."""

    def __init__(
        self,
        dimensions: Sequence[str],
        known: _KnownValues,
        remove: Callable[[_FilterLine], None],
    ) -> None:
        self._known = known
        self._typed = ""
        with ui.element("div").classes("filter-line") as self.row:
            self.dimension = ui.select(list(dimensions), value=dimensions[0], label="Column")
            self.operator = ui.select(_OPERATORS, value="in", label="Condition")
            with ui.element("div").classes("filter-values"):
                self._several = ui.select(
                    [], value=[], label="Values", multiple=True, new_value_mode="add-unique"
                )
                self._several.props("use-chips")
                self._low, self._high = ui.input("Value"), ui.input("to")
                self._offered = ui.element("datalist")
            for value in (self._low, self._high):
                value.props("debounce=300")
            IconButton("close", "Remove this filter", partial(remove, self))
        self._offered.props["id"] = f"known-{self._offered.id}"
        for value in (self._low, self._high):
            value.props["list"] = f"known-{self._offered.id}"
        self._several.on("input-value", self._note_typed)
        self._several.on("blur", self._add_typed, args=[])
        self._several.on_value_change(self._forget_typed)
        self.dimension.on_value_change(self._change_dimension)
        self.operator.on_value_change(self._change)
        self._change()
        self.offer()

    def fill(self, dimension: str, operator: str, value: object) -> None:
        """Show a condition."""
        self.dimension.value, self.operator.value = dimension, operator
        values = [str(jsonable(each)) for each in _listed(value)]
        if operator in _WITH_VALUES:
            self._set_values({each: printable(each) for each in values}, values)
        elif operator not in _WITHOUT_VALUE:
            for field, each in zip((self._low, self._high), values, strict=False):
                field.value = each

    def follow(self, on_change: Callable[[], object]) -> None:
        """Call a function when the condition is changed."""

        def changed(_: object) -> None:
            on_change()

        for field in self._fields:
            field.on_value_change(changed)

    def read(self, *, is_final: bool = True) -> object:
        """The filter; `_INVALID` if it has no value, which a field shows if it is final."""
        operator = self.operator.value
        self.show(None)
        if operator in _WITHOUT_VALUE:
            return None if operator == "empty" else {"ne": None}
        if operator in _WITH_VALUES:
            self._add_typed()
            values = list(self._several.value)
            if values:
                return values if operator == "in" else {"ne": values}
        else:
            low, high = ((field.value or "").strip() for field in (self._low, self._high))
            if operator != "between" and low:
                return {operator: low}
            if low and high:
                return {"between": [low, high]}
        if is_final:
            self.show(_MISSING)
        return _INVALID

    def show(self, error: str | None) -> None:
        """Show an error at the values, or none."""
        field: Any = self._several if self.operator.value in _WITH_VALUES else self._low
        field.error = error

    def offer(self) -> None:
        """Offer the known values."""
        start_task(self._offer(self.dimension.value), "values of a dimension", self.row)

    @property
    def _fields(self) -> Sequence[Any]:
        return self.dimension, self.operator, self._several, self._low, self._high

    async def _offer(self, dimension: str) -> None:
        self._several.props["hint"] = "Reading the values …"
        values = await self._known.of(dimension)
        if self.row.is_deleted or self.dimension.value != dimension:
            return
        options = {value: printable(value) for value in (*values, *self._several.value)}
        self._set_values(options, list(self._several.value))
        self._several.props["hint"] = "" if values else "Type a value and press Enter."
        self._offered.clear()
        with self._offered:
            for value in values:
                ui.element("option").props["value"] = printable(value)

    def _set_values(self, options: Mapping[str, str], value: Sequence[str]) -> None:
        field: Any = self._several
        field.set_options(dict(options), value=list(value))

    def _note_typed(self, event: GenericEventArguments) -> None:
        text: Any = event.args
        self._typed = text if isinstance(text, str) else ""

    def _forget_typed(self) -> None:
        self._typed = ""

    def _add_typed(self) -> None:
        """Add what the reader typed without pressing Enter."""
        typed = self._typed.strip()
        self._typed = ""
        if typed and typed not in self._several.value:
            field: Any = self._several
            self._set_values({**field.options, typed: typed}, [*field.value, typed])

    def _change_dimension(self) -> None:
        self._set_values({}, [])
        self.offer()

    def _change(self) -> None:
        operator = self.operator.value
        self._several.set_visibility(operator in _WITH_VALUES)
        is_range = operator == "between"
        self._low.set_visibility(operator not in (*_WITH_VALUES, *_WITHOUT_VALUE))
        self._high.set_visibility(is_range)
        self._low.props["label"] = "from" if is_range else "Value"
