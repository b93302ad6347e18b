"""Fields for the limits of the classes; an empty one is as configured."""

from __future__ import annotations

from nicegui import ui
from pydantic import ValidationError

from skillian.data.declare.definitions import Thresholds

_CLASSES = {"match": "A match is off by at most", "minor_diff": "A minor difference by at most"}
_PARTS = {"absolute": "amount", "percentage": "percent of A"}


class LimitFields:
    """Four numbers."""

    def __init__(self) -> None:
        self._fields: dict[tuple[str, str], ui.input] = {}
        with ui.expansion("Limits of the classes", caption="as configured where empty"):
            for name, told in _CLASSES.items():
                with ui.element("fieldset").classes("fields line"):
                    with ui.element("legend"):
                        ui.label(told)
                    for part, label in _PARTS.items():
                        field = ui.input(label).props("dense outlined inputmode=decimal")
                        field.props["aria-label"] = f"{told}: {label}"
                        self._fields[name, part] = field

    def read(self) -> Thresholds | None:
        """The limits; None where one is wrong, which then says so."""
        given: dict[str, dict[str, str]] = {}
        for (name, part), field in self._fields.items():
            field.error = None
            if field.value and field.value.strip():
                given.setdefault(name, {})[part] = field.value.strip()
        try:
            return Thresholds.model_validate(given)
        except ValidationError as faults:
            for fault in faults.errors():
                name, part = (str(each) for each in fault["loc"][:2])
                self._fields[name, part].error = f"{fault['msg']}."
            return None
