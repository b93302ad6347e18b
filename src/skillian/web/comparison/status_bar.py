"""The classes of a comparison: the share of each, and a choice of those that are shown."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from skillian.data.comparison.results import STATUSES, Status
from skillian.web.comparison.context import ComparisonContext
from skillian.web.comparison.statuses import share_bar, status_mark, styles_of
from skillian.web.shell.elements import Amount


class StatusBar:
    """A bar with the share of each class, and a button for each that shows or hides its groups.

    Args:
        comparison: The comparison, whose selection the buttons change.
    """

    def __init__(self, comparison: ComparisonContext) -> None:
        self._comparison = comparison
        self._counts = comparison.result.summary.classes.to_dict()
        self._styles = styles_of(comparison.names)
        parts = [(status, style, self._counts[status]) for status, style in self._styles.items()]
        share_bar("Groups by class", parts)
        with ui.element("div").classes("line").props('role=group aria-label="Classes shown"'):
            self._buttons: dict[Status, ui.button] = {
                status: self._button(status) for status in self._styles
            }
        comparison.follow(on_statuses=self._update)
        self._update(comparison.statuses)

    def _toggle(self, status: Status) -> None:
        """Show a hidden class, or hide a shown one unless it is the last."""
        selected = set(self._comparison.statuses) ^ {status}
        self._comparison.select_statuses(
            tuple(each for each in STATUSES if each in selected) or (status,)
        )

    def _button(self, status: Status) -> ui.button:
        button = ui.button(color=None, on_click=lambda: self._toggle(status))
        button.props("outline dense no-caps").classes("status-choice")
        with button:
            status_mark(status, self._styles[status])
            Amount(self._counts[status]).classes("choice-count")
        return button

    def _update(self, statuses: Sequence[Status]) -> None:
        for status, button in self._buttons.items():
            is_shown = status in statuses
            button.props["aria-pressed"] = "true" if is_shown else "false"
            button.update()
