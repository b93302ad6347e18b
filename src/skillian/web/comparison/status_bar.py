"""The classes of a comparison: the share of each, and a choice of those that are shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from nicegui import ui

from skillian.web.comparison.statuses import StatusStyle, share_bar, status_mark
from skillian.web.shell.buttons import Button
from skillian.web.shell.elements import Amount


@dataclass(frozen=True, slots=True)
class ClassCount:
    """How many groups or rows a class has.

    Attributes:
        colour: The name of the class that gives it its colour.
        style: How it is shown.
        count: How many it has.
        has_choice: Whether it can be shown and hidden.
    """

    colour: str
    style: StatusStyle
    count: int
    has_choice: bool = True


class StatusBar:
    """A bar with the share of each class, and a button for each that shows or hides it.

    Args:
        name: What is counted, for screen readers.
        classes: The classes by name, in the order in which they are shown.
        shown: Those that are shown at first.
        on_change: Gets the classes to show, in their order.
    """

    def __init__(
        self,
        name: str,
        classes: Mapping[str, ClassCount],
        shown: Collection[str],
        on_change: Callable[[tuple[str, ...]], object],
    ) -> None:
        self._order = tuple(classes)
        self._shown = set(shown)
        self._on_change = on_change
        share_bar(name, [(each.colour, each.style, each.count) for each in classes.values()])
        with ui.element("div").classes("line").props('role=group aria-label="Classes shown"'):
            self._buttons: dict[str, Button] = {}
            for status, each in classes.items():
                if each.has_choice:
                    self._buttons[status] = self._button(status, each)
                else:
                    with ui.element("span").classes("status-fixed"):
                        _mark(each)
        self.show(tuple(shown))

    def _toggle(self, status: str) -> None:
        """Show a hidden class, or hide a shown one unless it is the last."""
        selected = self._shown ^ {status} or {status}
        self._on_change(tuple(each for each in self._order if each in selected))

    def _button(self, status: str, each: ClassCount) -> Button:
        button = Button(on_click=partial(self._toggle, status)).classes("status-choice")
        with button:
            _mark(each)
        return button

    def show(self, statuses: Sequence[str]) -> None:
        """Mark these classes as shown."""
        self._shown = set(statuses)
        for status, button in self._buttons.items():
            button.props["aria-pressed"] = "true" if status in self._shown else "false"
            button.update()


def _mark(each: ClassCount) -> None:
    status_mark(each.colour, each.style)
    Amount(each.count).classes("choice-count")
