"""Fields of the comparison form for whole rows: the key, the columns, and when cells are equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, get_args

from nicegui import ui

from skillian.api.problems import ProblemError
from skillian.data.declare.rules import Precision
from skillian.data.query.catalogue import Catalogue
from skillian.data.schema.diff import pair_columns
from skillian.data.subjects import ROWS
from skillian.display import printable
from skillian.errors import ToolError
from skillian.web.comparison.form.entered import rule_value
from skillian.web.comparison.form.fields import select
from skillian.web.shell.activity import start_task
from skillian.web.shell.buttons import Button, IconButton
from skillian.web.shell.elements import set_options

_KEY_NOTE = "Without key columns, the primary key or another unique key is found and named."
_SCOPES = {
    "all": "All columns",
    "types:number": "All exact numbers",
    "types:float": "All binary floats",
    "types:text": "All texts",
    "types:date": "All dates",
    "types:timestamp": "All times",
}
_LIMITS = {
    "absolute": "numbers differ by at most",
    "relative": "numbers differ by at most percent of A",
    "seconds": "times differ by at most seconds",
    "precision": "times are cut to the",
    "zone": "times without a zone are in",
}
_OPTIONS = {
    "trim": "white space around a text is ignored",
    "ignore_case": "upper and lower case are equal",
    "nfc": "texts are compared in Unicode form NFC",
    "collapse_whitespace": "a run of white space is one space",
    "empty_is_null": "an empty text is NULL",
}
_HINTS = {"absolute": "0.01", "relative": "1", "seconds": "5", "zone": "Europe/Berlin"}


class RowFields:
    """How whole rows are compared: by which key, which columns, and by which rules.

    Args:
        catalogue: Knows the columns of the sources.
        changed: Called when there are other `columns`.
    """

    subject: ClassVar = ROWS

    def __init__(self, catalogue: Catalogue, changed: Callable[[], object]) -> None:
        self._catalogue = catalogue
        self._changed = changed
        self._sources: tuple[str, str] | None = None
        self._paired: tuple[str, ...] = ()
        with ui.element("div").classes("stack") as self._room:
            with ui.element("fieldset").classes("fields stack"):
                with ui.element("legend"):
                    ui.label("How rows are matched")
                with ui.element("div").classes("form-grid"):
                    self.key = select("Key columns", [], [], multiple=True)
                    self.chosen = select("Compared columns", [], [], multiple=True)
                    self.chosen.props["hint"] = "Without a choice, all columns are compared."
                    self.ignored = select("Ignored columns", [], [], multiple=True)
                self.multiset = ui.checkbox("Rows have no key: count how often each occurs")
                self._note = ui.label(_KEY_NOTE).classes("soft small").props("role=status")
            self._map = _MapFields(self._offer_paired)
            self._rules = _RuleFields()
        self.choices = self.key, self.chosen, self.ignored
        self.multiset.on_value_change(self._update)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that both sides have, some of them by the map, by their names in A."""
        return *self._paired, *self._map.names

    def show(self, sources: tuple[str, str] | None) -> None:
        """Show the fields, with the columns of two sources to choose from; hide them for none."""
        self._room.set_visibility(sources is not None)
        if sources is not None and sources != self._sources:
            self._sources = sources
            self._set_columns((), ())
            self._note.set_text("Reading the columns …")
            start_task(self._offer(*sources), "columns", self._room)

    async def _offer(self, a: str, b: str) -> None:
        """Offer the columns of two sources; raises nothing, since no column has to be chosen."""
        note = _KEY_NOTE
        try:
            one, other = await self._catalogue.columns(a), await self._catalogue.columns(b)
        except (ToolError, ProblemError) as error:
            one, other = (), ()
            note = printable(f"The columns cannot be read: {error}")
        if self._sources != (a, b):
            return  # the reader has chosen other sources meanwhile
        self._set_columns(tuple(one), tuple(other))
        self._note.set_text(note)

    def read(self) -> dict[str, Any] | None:
        """The fields of a `SavedComparison`; None if a field shows an error."""
        key = () if self.multiset.value else tuple(self.key.value)
        both = sorted({*key} & {*self.ignored.value})
        self.key.error = None
        self.ignored.error = f"{both[0]} is a key column." if both else None
        if self.chosen.value and self.ignored.value:
            self.ignored.error = "Choose compared columns or ignored columns, not both."
        mapping, rules = self._map.read(), self._rules.read()
        if self.ignored.error or mapping is None or rules is None:
            return None
        values = {
            "key": key,
            "columns": tuple(self.chosen.value),
            "ignore": tuple(self.ignored.value),
            "map": mapping,
            "rules": rules,
            "multiset": self.multiset.value,
        }
        return {name: value for name, value in values.items() if value}

    def _set_columns(self, a: Sequence[str], b: Sequence[str]) -> None:
        pairs = pair_columns(a, b)
        self._paired = tuple(pairs)
        others = [name for name in b if name not in pairs.values()]
        self._map.set_columns([name for name in a if name not in pairs], others)
        self._set(self.ignored, tuple(dict.fromkeys((*a, *b))))
        self._rules.set_columns(tuple(dict.fromkeys((*a, *b))))
        self._offer_paired()

    def _offer_paired(self) -> None:
        for field in (self.key, self.chosen):
            self._set(field, self.columns)
        self._changed()

    def _update(self) -> None:
        self.key.set_enabled(not self.multiset.value)
        self._note.set_visibility(not self.multiset.value)

    @staticmethod
    def _set(field: ui.select, names: Sequence[str]) -> None:
        set_options(field, names, [name for name in field.value if name in names])


class _MapFields:
    """Pairs of columns with different names; hidden if no column is without a counterpart.

    Args:
        changed: Called after a change.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._columns: tuple[Sequence[str], Sequence[str]] = (), ()
        self._lines: list[_Line] = []
        with ui.element("fieldset").classes("fields") as self._room:
            with ui.element("legend"):
                ui.label("Columns with another name in B")
            self._list = ui.element("div").classes("stack")
            Button("Pair two columns", self._add, kind="quiet", icon="add")

    @property
    def names(self) -> list[str]:
        """The names in A of the pairs."""
        return [line.fields[0].value for line in self._lines]

    def set_columns(self, a: Sequence[str], b: Sequence[str]) -> None:
        """Offer the columns without a counterpart, and remove pairs of others."""
        self._columns = a, b
        self._room.set_visibility(bool(a and b))
        for line in tuple(self._lines):
            if line.fields[0].value not in a or line.fields[1].value not in b:
                self._remove(line)

    def read(self) -> dict[str, str] | None:
        """The names in B of columns of A; None if a field shows an error."""
        mapping: dict[str, str] = {}
        is_valid = True
        for line in self._lines:
            one, other = (field.value for field in line.fields)
            is_taken = one in mapping or other in mapping.values()
            message = "One of the two has another counterpart already."
            line.fields[1].error = message if is_taken else None
            is_valid = is_valid and not is_taken
            mapping[one] = other
        return mapping if is_valid else None

    def _add(self) -> None:
        a, b = self._columns
        with self._list, ui.element("div").classes("pair-line") as row:
            fields = (select("Column of A", [*a], a[0]), select("is in B", [*b], b[0]))
            line = _Line(row, fields, "Remove this pair", self._remove)
        self._lines.append(line)
        fields[0].on_value_change(self._changed)
        self._changed()

    def _remove(self, line: _Line) -> None:
        self._lines.remove(line)
        line.row.delete()
        self._changed()


class _Line:
    """Fields in a row, with a button that removes them."""

    def __init__(
        self,
        row: ui.element,
        fields: Sequence[Any],
        label: str,
        remove: Callable[[Any], None],
    ) -> None:
        self.row = row
        self.fields = fields
        IconButton("close", label, partial(remove, self))


class _RuleFields:
    """Rules for cells that the reader adds and removes; without one, cells are compared exactly."""

    def __init__(self) -> None:
        self._columns: Sequence[str] = ()
        self._lines: list[_RuleLine] = []
        with ui.element("fieldset").classes("fields"):
            with ui.element("legend"):
                ui.label("When cells count as equal")
            ui.label("Without a rule, cells are compared exactly.").classes("soft small")
            self._list = ui.element("div").classes("stack")
            Button("Add a rule", self._add, kind="quiet", icon="add")

    def set_columns(self, names: Sequence[str]) -> None:
        """Offer rules for these columns, and remove those for others."""
        self._columns = names
        for line in tuple(self._lines):
            if line.scope.value in self._scopes():
                line.scope.set_options(self._scopes(), value=line.scope.value)
            else:
                self._remove(line)

    def read(self) -> dict[str, Any] | None:
        """The fields of `Rules`; None if a field shows an error."""
        rules: dict[str, Any] = {}
        is_valid = True
        for line in self._lines:
            kind, value = line.kind.value, line.read()
            place, _, name = line.scope.value.partition(":")
            rule = rules.setdefault(place, {})
            rule = rule.setdefault(name, {}) if name else rule
            if value is not None and kind in rule:
                line.kind.error = "There is such a rule already."
            if value is None or kind in rule:
                is_valid = False
            rule[kind] = value
        return rules if is_valid else None

    def _scopes(self) -> dict[str, str]:
        return _SCOPES | {f"columns:{name}": f"Column {name}" for name in self._columns}

    def _add(self) -> None:
        with self._list:
            self._lines.append(_RuleLine(self._scopes(), self._remove))

    def _remove(self, line: _RuleLine) -> None:
        self._lines.remove(line)
        line.row.delete()


class _RuleLine:
    """Which columns, which rule, and its value, if it has one."""

    def __init__(self, scopes: Mapping[str, str], remove: Callable[[_RuleLine], None]) -> None:
        with ui.element("div").classes("rule-line") as self.row:
            self.scope: Any = ui.select(dict(scopes), value="all", label="For")
            self.kind = ui.select(_LIMITS | _OPTIONS, value="absolute", label="Rule")
            with ui.element("div"):
                self.value = ui.input("Value", placeholder=_HINTS["absolute"])
                self.unit = ui.select([*get_args(Precision)], value="second", label="Unit")
            IconButton("close", "Remove this rule", partial(remove, self))
        self.kind.on_value_change(self._change)
        self._change()

    def read(self) -> object:
        """The value of the rule; None if a field shows an error."""
        kind = self.kind.value
        self.kind.error = self.value.error = None
        if kind in _OPTIONS:
            return True
        if kind == "precision":
            return self.unit.value
        try:
            return rule_value(kind, self.value.value or "")
        except ValueError as invalid:
            self.value.error = str(invalid)
            return None

    def _change(self) -> None:
        kind = self.kind.value
        self.value.set_visibility(kind in _HINTS)
        self.unit.set_visibility(kind == "precision")
        self.value.props["placeholder"] = _HINTS.get(kind, "")
