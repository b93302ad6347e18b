"""How two tables are matched: a line for each column, its partner, its rule, and their effect."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from nicegui import ui

from skillian.data.query.catalogue import Sample
from skillian.data.results.result import ComparisonResult
from skillian.data.results.rows import TableKey
from skillian.data.schema.diff import distinct_names
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.engine import TablePreview
from skillian.display import printable
from skillian.web.match.matching import HINTS, IGNORED, Matching, choices, type_words
from skillian.web.shell import text
from skillian.web.shell.elements import Heading
from skillian.web.shell.rows_table import rows_table

NO_PARTNER = ""
_NOT_GIVEN = "No key was given; "
_COLUMN = "application/x-column"
"""The type of what is dragged: other texts and files are not taken."""
_OVER = f"""e => {{
  if (!e.dataTransfer.types.includes("{_COLUMN}")) return;
  e.preventDefault();
  e.currentTarget.classList.add("over");
}}"""
_LEAVE = 'e => e.currentTarget.classList.remove("over")'
_DROP = f"""e => {{
  e.currentTarget.classList.remove("over");
  const column = e.dataTransfer.getData("{_COLUMN}");
  if (column) emit(column);
}}"""


class MatchLines:
    """The lines; it is built again when other columns are paired.

    Args:
        names: What the reader calls the two sides.
        preview: How they would be compared.
        samples: Their first rows.
        matching: What the reader has chosen, which this changes.
        match: Called after a change of what is paired, so that this is built again.
        changed: Called after any other change.
    """

    def __init__(
        self,
        names: tuple[str, str],
        preview: TablePreview,
        samples: Sequence[Sample],
        matching: Matching,
        *,
        match: Callable[[], object],
        changed: Callable[[], object],
    ) -> None:
        self._preview, self._matching = preview, matching
        self._match, self._changed = match, changed
        self._columns_b = samples[1].rows.columns
        self._key = matching.key if matching.key is not None else _key(preview)
        self._effects: dict[str, ui.element] = {}
        self._switches: dict[str, ui.switch] = {}
        names = distinct_names(names)
        Heading("How rows and columns are matched", 2)
        self._key_note()
        self.effect = ui.element("div").props("role=status").classes("match-effect")
        with ui.element("ul").classes("match").props('aria-label="Columns" data-control=columns'):
            for pair in preview.pairs:
                self._line(pair.a, pair.b, pair)
            for each in preview.not_compared:
                self._refused(each.column, each.reason)
            for name in preview.only_a:
                self._line(name, NO_PARTNER, None)
            self._left_out(samples[0].rows.columns)
        for name in {*matching.faults} - {pair.a for pair in preview.pairs}:
            matching.set_rule(name, "")  # no field shows it
        if preview.only_b:
            self._unpaired(names[1], preview.only_b)
        first = ui.expansion("First rows of both sides").classes("full")
        with first, ui.element("div").classes("preview-sides"):
            for name, sample in zip(names, samples, strict=True):
                with ui.element("div").classes("stack"):
                    Heading(printable(name), 3)
                    rows_table(sample.rows, sample.types)

    def show_effect(self, result: ComparisonResult) -> None:
        """Show what a comparison with these choices gives."""
        rows = result.rows
        if self._matching.key is None and result.key.columns:
            self._show_key(result.key)
        self.effect.clear()
        with self.effect:
            met = rows.matched + rows.differing
            parts: list[str] = [text.amount(met), " row meets" if met == 1 else " rows meet"]
            for count, words in (
                (rows.differing, " differ"),
                (rows.only_in_a, " only in A"),
                (rows.only_in_b, " only in B"),
                (rows.duplicate_rows_a + rows.duplicate_rows_b, " with a repeated key"),
            ):
                parts += [", ", text.amount(count), words] if count else []
            text.sentence(*parts, ".")
        for column in result.columns:
            room = self._effects.get(column.a)
            if room is not None:
                room.clear()
                with room:
                    if column.mismatches:
                        text.sentence("≠ ", text.amount(column.mismatches), " differ")
                    else:
                        text.sentence("✓ equal").classes("soft")

    def _show_key(self, key: TableKey) -> None:
        """Show the key by which rows were compared, which the rules may have changed."""
        if {*key.columns} == {*self._key}:
            return
        self._key = key.columns
        self._reason.set_text(printable(_reason(key)))
        for name, switch in self._switches.items():
            switch.value = name in self._key

    def show_message(self, message: str) -> None:
        """Show why there is no effect to show."""
        for room in (self.effect, *self._effects.values()):
            room.clear()
        with self.effect:
            ui.label(printable(message)).classes("soft")

    def _key_note(self) -> None:
        preview, matching = self._preview, self._matching
        if matching.multiset:
            reason = "Rows are compared without a key, with how often each occurs."
        elif matching.key is not None:
            reason = "These columns identify a row." if matching.key else "Choose the key columns."
        else:
            reason = _reason(preview.key) if preview.key else preview.no_key
        self._reason = ui.label(printable(reason)).classes("soft small")
        self._reason.props["data-testid"] = "key-reason"
        without = ui.checkbox(
            "Rows have no key: count how often each occurs", value=matching.multiset
        )
        without.on_value_change(lambda event: self._count(is_counted=bool(event.value)))

    def _count(self, *, is_counted: bool) -> None:
        self._matching.multiset = is_counted
        self._match()

    def _line(self, a: str, b: str, pair: ColumnPair | None) -> None:
        matching = self._matching
        with ui.element("li").classes("match-line") as line:
            self._take(a, line)
            is_key = pair is not None and not matching.multiset and a in self._key
            key = ui.switch("Key", value=is_key).props("dense")
            key.props["aria-label"] = f"{printable(a)} is a key column"
            key.set_enabled(pair is not None and not matching.multiset)
            key.on_value_change(lambda event: self._switch(a, is_key=bool(event.value)))
            self._switches[a] = key
            with ui.element("div").classes("match-name"):
                ui.label(printable(a)).classes("file-name")
                if pair is not None:
                    _type(pair, 0)
            with ui.element("div").classes("match-partner"):
                label = printable(f"{a} in B")
                partner: Any = ui.select(self._partners(b), value=b, label=label)
                partner.on_value_change(self._paired(a))
                reason = matching.proposed.get(a)
                if reason:
                    ui.label(printable(f"Proposed: {reason}")).classes("soft small")
            if pair is None:
                self._without_pair(a, b)
                return
            _type(pair, 1)
            with ui.element("div").classes("match-rule"):
                self._rule(pair)
            self._effects[a] = ui.element("div").classes("small match-result")

    def _left_out(self, columns: Sequence[str]) -> None:
        """The columns of A that are not compared because the reader chose that."""
        preview = self._preview
        shown = {
            *(pair.a for pair in preview.pairs),
            *(each.column for each in preview.not_compared),
            *preview.only_a,
        }
        for name in self._matching.ignored:
            if name in columns and name not in shown:
                self._line(name, self._matching.partner(name), None)

    def _without_pair(self, a: str, b: str) -> None:
        """What a line has instead of a rule; one that is left out can be compared again."""
        is_left_out = a in self._matching.ignored
        ui.label("not compared" if is_left_out else "only in A").classes("soft small")
        if not b:
            return
        known = {"": "exactly", IGNORED: "not at all"}
        rule: Any = ui.select(known, value=IGNORED, label=printable(f"{a} is compared"))

        def compare() -> None:
            self._matching.set_rule(a, "")
            self._match()

        rule.on_value_change(compare)

    def _unpaired(self, name: str, columns: Sequence[str]) -> None:
        """The columns that only B has: each can be dragged onto a line, or chosen in it."""
        with ui.element("div").classes("line small").props("role=group"):
            ui.label(printable(f"Only in {name}:")).classes("soft")
            for column in columns:
                chip = ui.label(printable(column)).classes("match-loose").props("draggable=true")
                drag = f"e => e.dataTransfer.setData({json.dumps(_COLUMN)}, {json.dumps(column)})"
                chip.on("dragstart", js_handler=drag)
            ui.label("Drag a column onto its line, or choose it there.").classes("soft")

    def _take(self, a: str, line: ui.element) -> None:
        """Pair a column of A with one that is dropped on its line."""

        def pair(event: Any) -> None:
            if event.args in self._columns_b:
                self._matching.pair(a, event.args)
                self._match()

        line.on("dragover", js_handler=_OVER)
        line.on("dragleave", js_handler=_LEAVE)
        line.on("drop", pair, js_handler=_DROP)

    def _refused(self, column: str, reason: str) -> None:
        with ui.element("li").classes("match-line refused"):
            ui.label(printable(column)).classes("file-name")
            ui.label(printable(f"not compared: {reason}")).classes("small fault")

    def _partners(self, own: str) -> dict[str, str]:
        named = {name: printable(name) for name in self._columns_b}
        return {NO_PARTNER: "none", **({own: printable(own)} if own else {}), **named}

    def _paired(self, a: str) -> Callable[[Any], None]:
        def change(event: Any) -> None:
            self._matching.pair(a, event.value or NO_PARTNER)
            self._match()

        return change

    def _switch(self, column: str, *, is_key: bool) -> None:
        if is_key == (column in self._key):
            return  # it shows the key that was found
        self._matching.switch_key(self._key, column, is_key=is_key)
        self._key = self._matching.key or ()
        self._changed()

    def _rule(self, pair: ColumnPair) -> None:
        """The choice of a rule, with its value, if it takes one."""
        chosen, stated = self._matching.rule(pair.a)
        known = choices(pair.cells.family, chosen)
        if chosen not in known:
            chosen, stated = "", ""
            self._matching.set_rule(pair.a, "")
        name = printable(pair.a)
        rule: Any = ui.select(known, value=chosen, label=f"{name} is compared")
        value = ui.input(f"Value for {name}", value=stated).props("debounce=400")
        value.without_auto_validation()  # which would remove the error

        def show() -> None:
            value.set_visibility(rule.value in HINTS)
            value.props["placeholder"] = HINTS.get(rule.value, "")
            value.error = self._matching.faults.get(pair.a)

        def update() -> None:
            given = value.value or "" if rule.value in HINTS else ""
            self._matching.set_rule(pair.a, rule.value, given)
            show()
            self._changed()

        show()
        rule.on_value_change(update)
        value.on_value_change(update)


def _type(pair: ColumnPair, side: int) -> None:
    """The type of a cell in everyday words; its tooltip is the type of the engine."""
    kind = (pair.cells.a, pair.cells.b)[side]
    family = kind.kind if kind.kind == "integer" else pair.cells.family
    label = ui.label(type_words(family)).classes("soft small match-type")
    label.tooltip(printable(kind.sql))


def _reason(key: TableKey) -> str:
    return f"Key: {key.reason}".replace(_NOT_GIVEN, "")  # a reader has not been asked for one


def _key(preview: TablePreview) -> tuple[str, ...]:
    return preview.key.columns if preview.key else ()
