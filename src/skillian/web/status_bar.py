"""The five classes as one bar, and a button for each that shows its groups alone."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from skillian.data.comparison.results import STATUSES, Classes, Status
from skillian.reports.charts import WIDTH, stacked
from skillian.web.amount import Amount
from skillian.web.theme import STATUSES as SHOWN
from skillian.web.theme import status_mark

_ORDER = tuple(sorted(STATUSES, key=list(SHOWN).index))


class StatusBar:
    """The bar, and which classes are chosen: at first those that differ.

    Args:
        classes: How many groups are in each.
        on_change: Told the classes that are chosen now.
    """

    def __init__(self, classes: Classes, on_change: Callable[[tuple[Status, ...]], None]) -> None:
        self._counts = classes.to_dict()
        self._on_change = on_change
        self._buttons: dict[Status, ui.button] = {}
        self.chosen: tuple[Status, ...] = tuple(each for each in STATUSES if each != "match")
        self._bar()
        with ui.element("div").classes("line").props('role=group aria-label="Classes shown"'):
            for status in _ORDER:
                self._buttons[status] = self._button(status)
        self._mark()

    def choose(self, status: Status) -> None:
        """Show a class that was hidden, or hide one that was shown; the last one stays."""
        chosen = set(self.chosen) ^ {status}
        self.chosen = tuple(each for each in STATUSES if each in chosen) or (status,)
        self._mark()
        self._on_change(self.chosen)

    def _bar(self) -> None:
        bars = stacked([self._counts[status] for status in _ORDER])
        told = ", ".join(f"{SHOWN[each].label} {self._counts[each]}" for each in _ORDER)
        with ui.element("div").classes("status-bar") as whole:
            whole.props["role"] = "img"
            whole.props["aria-label"] = f"Groups by class: {told}"
            whole.props["data-testid"] = "status-bar"
            for status, bar in zip(_ORDER, bars, strict=True):
                if bar.length:
                    part = ui.element("div").classes(f"fill-{status}")
                    part.style["width"] = f"{bar.length * 100 / WIDTH}%"
                    with part:
                        ui.label(SHOWN[status].symbol)

    def _button(self, status: Status) -> ui.button:
        button = ui.button(color=None, on_click=lambda: self.choose(status))
        button.props("outline dense no-caps").classes("status-choice")
        with button:
            status_mark(status)
            Amount(self._counts[status]).classes("choice-count")
        return button

    def _mark(self) -> None:
        for status, button in self._buttons.items():
            button.props["aria-pressed"] = "true" if status in self.chosen else "false"
            button.update()
