"""Fields of the comparison form: a choice of names, and the limits of measures."""

from __future__ import annotations

from collections.abc import Mapping

from nicegui import ui
from pydantic import ValidationError

from skillian.data.declare.definitions import Thresholds
from skillian.display import printable
from skillian.web.comparison.form.entered import why_invalid

_CLASSES = {"match": "A match differs by at most", "minor_diff": "A minor difference is at most"}
_PARTS = {"absolute": "amount", "percentage": "percent of A"}


def select(label: str, names: list[str], value: object, *, multiple: bool = False) -> ui.select:
    """A field to choose one name, or several."""
    field = ui.select(names, value=value, label=label, multiple=multiple)
    if multiple:
        field.props("use-chips")
    field.props["aria-label"] = label
    return field


class LimitFields:
    """Four numbers: an amount and a percentage for each of two classes."""

    def __init__(self) -> None:
        self._fields: dict[tuple[str, str], ui.input] = {}
        with ui.element("fieldset").classes("fields stack") as self.room:
            self.room.props["data-control"] = "limits"
            with ui.element("legend"):
                ui.label("Limits of the classes")
            self._configured = ui.element("div").classes("soft small")
            with ui.element("div").classes("limit-lines"):
                for name, legend in _CLASSES.items():
                    ui.label(legend)
                    for part, label in _PARTS.items():
                        field = ui.input(label).props("inputmode=decimal")
                        field.props["aria-label"] = f"{legend}: {label}"
                        self._fields[name, part] = field
            note = "A limit that you enter replaces both configured limits of its class."
            ui.label(note).classes("soft small")

    def set_configured(self, limits: Mapping[str, Thresholds]) -> None:
        """Show the limits that apply to each measure if nothing is entered."""
        self._configured.clear()
        with self._configured:
            for name, each in limits.items():
                match, minor = each.match.words(), each.minor_diff.words()
                text = f"Configured for {name}: a match up to {match}, minor up to {minor}"
                ui.label(printable(text))
        common = {each.model_dump_json() for each in limits.values()}
        first = next(iter(limits.values()), Thresholds()) if len(common) == 1 else Thresholds()
        for (name, part), field in self._fields.items():
            value = getattr(getattr(first, name), part)
            field.props["placeholder"] = "" if value is None else f"{value:f}"
            # Otherwise the label would cover the placeholder.
            field.props.set_bool("stack-label", value is not None)

    def fill(self, limits: Mapping[str, Mapping[str, object]]) -> None:
        """Show these limits."""
        for (name, part), field in self._fields.items():
            value = limits.get(name, {}).get(part)
            field.value = "" if value is None else str(value)

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
                self._fields[name, part].error = why_invalid(error)
            return None
