"""The five classes of a comparison: how each is shown, and a bar to select them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from nicegui import ui

from skillian.data.comparison.results import STATUSES, Status
from skillian.reports.charts import WIDTH, stacked
from skillian.web.comparison.context import ComparisonContext
from skillian.web.shell.elements import Amount


@dataclass(frozen=True, slots=True)
class StatusStyle:
    """How a class is shown; the symbol and the label mean the same as the colour.

    Attributes:
        label: The name for people.
        symbol: The shape.
        colour: Fills areas (Okabe-Ito palette). Its contrast is too low for text, for which the CSS
            class `status-<name>` has a darker or lighter colour.
    """

    label: str
    symbol: str
    colour: str


STATUS_STYLES: Mapping[Status, StatusStyle] = MappingProxyType(
    {
        "match": StatusStyle("match", "=", "#009e73"),
        "minor_diff": StatusStyle("minor", "△", "#e69f00"),
        "major_diff": StatusStyle("major", "▲", "#d55e00"),
        "missing_in_b": StatusStyle("only in A", "◧", "#0072b2"),
        "missing_in_a": StatusStyle("only in B", "◨", "#cc79a7"),
    }
)
"""The style of each class, in the order in which they are shown."""


def status_mark(status: Status) -> ui.element:
    """Show a class as its symbol and its label."""
    style = STATUS_STYLES[status]
    with ui.element("span").classes(f"status status-{status}") as mark:
        ui.label(style.symbol).classes("status-symbol").props("aria-hidden=true")
        ui.label(style.label)
    return mark


def share_bar(name: str, parts: Sequence[tuple[str, StatusStyle, int]]) -> None:
    """Show the share of each class as a part of a bar.

    Args:
        name: What is counted, for screen readers.
        parts: The CSS class of each part after `fill-`, its style, and its count.
    """
    description = ", ".join(f"{style.label} {count}" for _, style, count in parts)
    with ui.element("div").classes("status-bar") as whole:
        whole.props["role"] = "img"
        whole.props["aria-label"] = f"{name}: {description}"
        whole.props["data-testid"] = "status-bar"
        bars = stacked([count for _, _, count in parts])
        for (fill, style, _), bar in zip(parts, bars, strict=True):
            if bar.length:
                part = ui.element("div").classes(f"fill-{fill}")
                part.style["width"] = f"{bar.length * 100 / WIDTH}%"
                with part:
                    ui.label(style.symbol)


class StatusBar:
    """A bar with the share of each class, and a button for each that shows or hides its groups.

    Args:
        comparison: The comparison, whose selection the buttons change.
    """

    def __init__(self, comparison: ComparisonContext) -> None:
        self._comparison = comparison
        self._counts = comparison.result.summary.classes.to_dict()
        parts = [(status, STATUS_STYLES[status], self._counts[status]) for status in STATUS_STYLES]
        share_bar("Groups by class", parts)
        with ui.element("div").classes("line").props('role=group aria-label="Classes shown"'):
            self._buttons: dict[Status, ui.button] = {
                status: self._button(status) for status in STATUS_STYLES
            }
        self._update()

    def _toggle(self, status: Status) -> None:
        """Show a hidden class, or hide a shown one unless it is the last."""
        selected = set(self._comparison.statuses) ^ {status}
        self._comparison.select_statuses(
            tuple(each for each in STATUSES if each in selected) or (status,)
        )
        self._update()

    def _button(self, status: Status) -> ui.button:
        button = ui.button(color=None, on_click=lambda: self._toggle(status))
        button.props("outline dense no-caps").classes("status-choice")
        with button:
            status_mark(status)
            Amount(self._counts[status]).classes("choice-count")
        return button

    def _update(self) -> None:
        for status, button in self._buttons.items():
            is_shown = status in self._comparison.statuses
            button.props["aria-pressed"] = "true" if is_shown else "false"
            button.update()
