"""Tabs, of which each is built when it is first opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from nicegui import ui

# A constant: the arrow keys move between the tabs, as in other lists of tabs.
_MOVE = """event => {
  const tabs = [...event.currentTarget.parentElement.querySelectorAll("[role=tab]")];
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const next = tabs[(tabs.indexOf(event.currentTarget) + step + tabs.length) % tabs.length];
  next.focus();
  next.click();
}"""


class Tabs:
    """A list of tabs, and the panel of the one that is open.

    Args:
        name: What the tabs belong to, for screen readers.
        panels: The function that builds the panel of each tab, by the name of the tab.
    """

    def __init__(self, name: str, panels: Mapping[str, Callable[[], object]]) -> None:
        self._panels = dict(panels)
        self._tabs: dict[str, ui.element] = {}
        self._rooms: dict[str, ui.element] = {}
        self._built: set[str] = set()
        with ui.element("div").classes("tabs scroll-x") as tabs:
            tabs.props["role"] = "tablist"
            tabs.props["aria-label"] = name
            for each in panels:
                self._tabs[each] = self._tab(each)
        for each, tab in self._tabs.items():
            room = ui.element("section").classes("stack tab-panel")
            room.props["role"] = "tabpanel"
            room.props["aria-label"] = each
            room.props["id"] = f"panel-{tab.id}"
            self._rooms[each] = room
        self.open(next(iter(panels)))

    def open(self, name: str) -> None:
        """Open a tab, and build its panel if this is the first time."""
        for each, tab in self._tabs.items():
            is_open = each == name
            tab.props["aria-selected"] = "true" if is_open else "false"
            tab.props["tabindex"] = "0" if is_open else "-1"
            self._rooms[each].set_visibility(is_open)
        if name not in self._built:
            self._built.add(name)
            with self._rooms[name]:
                self._panels[name]()

    def _tab(self, name: str) -> ui.element:
        with ui.element("button").classes("tab") as tab:
            ui.label(name)
        tab.props["type"] = "button"
        tab.props["role"] = "tab"
        tab.props["aria-controls"] = f"panel-{tab.id}"
        tab.on("click", partial(self.open, name))
        tab.on("keydown", js_handler=_MOVE)
        return tab
