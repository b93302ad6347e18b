"""The scope of an answer as chips; a click on one changes its part and asks again, without a model.

The changed call goes through the same tools, approval, rights and limits as any other call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal, cast

from nicegui import ui

from skillian.api.service import Service
from skillian.chat.direct import direct_message
from skillian.chat.scope import Part, part_of
from skillian.data.declare.sources import SourceRegistry
from skillian.data.subjects import subject_of
from skillian.display import printable
from skillian.errors import ToolError
from skillian.offline.earlier import COMPARE, QUERY
from skillian.web.chat.query_table import MOST_ROWS
from skillian.web.comparison.form.fields import LimitFields, select
from skillian.web.comparison.form.filter_fields import FilterFields
from skillian.web.shell import text
from skillian.web.shell.buttons import Button
from skillian.web.shell.elements import Heading, Time

_TITLES: Mapping[Part, str] = {
    "sources": "Sources",
    "measures": "Measures",
    "filters": "Filters",
    "groups": "Grouping",
    "limits": "Limits",
    "rows": "Number of rows",
}
_CHOOSE = "Choose at least one."

Read = Callable[[], Mapping[str, Any] | None]
"""Gives the changed arguments; None if a field shows what is wrong."""


class ScopeLine:
    """The parts of a scope; those of a call that can be made again are buttons.

    Args:
        service: Knows the sources.
        parts: The parts in words.
        call: The tool and the arguments of the call; None if it cannot be changed.
        ask: Asks again.
    """

    def __init__(
        self,
        service: Service,
        parts: Sequence[str],
        call: tuple[str, Mapping[str, Any]] | None,
        ask: Callable[[str], None],
    ) -> None:
        self._service = service
        self._call = call
        self._ask = ask
        with ui.element("div").classes("line answer-scope") as line:
            line.props["role"] = "group"
            line.props["aria-label"] = "Scope of the answer"
            for index, words in enumerate(parts):
                self._chip(index, printable(words), part_of(index, words))

    def _chip(self, index: int, words: str, part: Part) -> None:
        if part == "time":
            with ui.element("span").classes("line small chip"):
                ui.label("as of")
                Time(words.removeprefix("as of "))
            return
        if self._call is None or not _is_changeable(self._call, part):
            _words_of(part, words).classes("small chip")
            return
        with Button(on_click=partial(self._open, part), kind="quiet") as chip:
            ui.label(f"{_TITLES[part]}: ").classes("visually-hidden")
            _words_of(part, words)
            ui.label("(change)").classes("visually-hidden")
        chip.classes("small chip").mark(f"scope-{part}-{index}")

    def _open(self, part: Part) -> None:
        if self._call is None:
            raise AssertionError("a scope without a call has no buttons")
        tool, arguments = self._call
        # Half transparent, its texts would have too little contrast.
        with (
            ui.dialog().props("transition-duration=0") as dialog,
            ui.card().classes("stack dialog scope-dialog"),
        ):
            dialog.props["aria-label"] = f"Change: {_TITLES[part]}"
            Heading(f"Change: {_TITLES[part]}", 2)
            editor = _Editor(self._service, tool, arguments)
            read = editor.build(part)

            def again() -> None:
                changed = read()
                if changed is not None:
                    dialog.close()
                    words = f"{_TITLES[part]} changed: {_words(changed)}"
                    self._ask(direct_message(words, tool, _with(arguments, changed)))

            with ui.element("div").classes("line"):
                Button("Ask again", again, kind="primary")
                Button("Cancel", dialog.close, kind="quiet")
        dialog.on("hide", dialog.delete)
        dialog.open()


def _words_of(part: Part, words: str) -> ui.html:
    """A part of a scope; only the numbers of limits and of rows are amounts."""
    return text.sentence(text.localised(words) if part in {"limits", "rows"} else words)


def _is_changeable(call: tuple[str, Mapping[str, Any]], part: Part) -> bool:
    tool, arguments = call
    return part in (_TITLES if tool == QUERY else subject_of(arguments.get("measures")).changeable)


class _Editor:
    """The fields for a part of a call."""

    def __init__(self, service: Service, tool: str, arguments: Mapping[str, Any]) -> None:
        self._service = service
        self._registry: SourceRegistry = service.data.registry
        self._is_query = tool == QUERY
        self._arguments = arguments
        names = ("source", "source") if self._is_query else ("source_a", "source_b")
        self._sources = str(arguments[names[0]]), str(arguments[names[1]])

    def build(self, part: Part) -> Read:
        """Build the fields in the current slot."""
        fields: dict[str, Callable[[], Read]] = {
            "sources": self._source_fields,
            "measures": partial(self._names, "measures", "Measures"),
            "groups": partial(self._names, self._groups, "Grouped by"),
            "filters": self._filter_fields,
            "limits": self._limit_fields,
            "rows": self._row_fields,
        }
        return fields[part]()

    @property
    def _groups(self) -> str:
        return "dimensions" if self._is_query else "align_on"

    def _source_fields(self) -> Read:
        known = list(self._registry.names)
        if self._is_query:
            field = select("Source", known, self._sources[0])
            return lambda: {"source": field.value}
        a = select("Source A, the baseline", known, self._sources[0])
        b = select("Source B", known, self._sources[1])

        def read() -> Mapping[str, Any] | None:
            cast("Any", b).error = (
                "A and B are the same. Choose two." if a.value == b.value else None
            )
            return None if a.value == b.value else {"source_a": a.value, "source_b": b.value}

        return read

    def _names(self, argument: str, label: str) -> Read:
        known = self._offered("measures" if argument == "measures" else "dimensions")
        chosen = [name for name in self._arguments.get(argument) or () if name in known]
        field = select(label, known, chosen, multiple=True)

        def read() -> Mapping[str, Any] | None:
            if not field.value and not (self._is_query and argument == "dimensions"):
                cast("Any", field).error = _CHOOSE
                return None
            return {argument: list(field.value)}

        return read

    def _offered(self, kind: Literal["measures", "dimensions"]) -> list[str]:
        """The names that a query or a comparison of these sources can have."""
        one, other = self._sources
        known = self._registry.get(one) if self._is_query else self._registry.shared(one, other)
        return [*getattr(known, kind)]

    def _filter_fields(self) -> Read:
        fields = FilterFields(self._service)
        fields.set_sources(*self._sources, self._offered("dimensions"))
        fields.fill(self._arguments.get("filters") or {})

        def read() -> Mapping[str, Any] | None:
            filters = fields.read()
            return None if filters is None else {"filters": filters}

        return read

    def _limit_fields(self) -> Read:
        fields = LimitFields()
        configured, pair = self._registry.comparison, frozenset(self._sources)
        measures = self._arguments.get("measures") or ()
        fields.set_configured(
            {name: configured.thresholds_for(pair, name).settled() for name in measures}
        )
        fields.fill(self._arguments.get("thresholds") or {})

        def read() -> Mapping[str, Any] | None:
            limits = fields.read()
            if limits is None:
                return None
            return {"thresholds": limits.model_dump(mode="json", exclude_defaults=True)}

        return read

    def _row_fields(self) -> Read:
        field = ui.input("At most", value=str(self._arguments.get("limit") or 50))
        field.props("inputmode=numeric")

        def read() -> Mapping[str, Any] | None:
            with suppress(ValueError):
                if 1 <= (rows := int(field.value or "")) <= MOST_ROWS:
                    return {"limit": rows}
            cast("Any", field).error = f"A number from 1 to {MOST_ROWS:,}."
            return None

        return read


def stated(service: Service, tool: str, call: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call with the measures and groups that it left to the configuration."""
    arguments = dict(call)
    measures = arguments.get("measures")
    with suppress(ToolError):
        if tool == QUERY:
            arguments["measures"] = measures or list(
                service.data.registry.get(call["source"]).measures
            )
        elif tool == COMPARE and "align_on" not in subject_of(measures).foreign:
            shared = service.data.registry.shared(call["source_a"], call["source_b"])
            groups = arguments.get("align_on") or list(shared.align_on or shared.dimensions)
            arguments["align_on"] = groups
    return arguments


def _with(arguments: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with those that changed; empty ones are left out."""
    return {name: value for name, value in {**arguments, **changed}.items() if value}


def _words(changed: Mapping[str, Any]) -> str:
    """What changed, in words."""
    return printable("; ".join(_value(value) for value in changed.values()) or "none")


def _value(value: object) -> str:
    match value:
        case dict():
            parts = cast("dict[str, object]", value).items()
            return ", ".join(f"{name} {_value(each)}" for name, each in parts) or "none"
        case list():
            return ", ".join(map(_value, cast("list[object]", value))) or "none"
        case None:
            return "empty"
        case _:
            return str(value)
