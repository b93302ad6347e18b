"""The buttons of the page: every one is made here, so that they look and behave alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

from nicegui import ui

Kind = Literal["primary", "secondary", "quiet", "danger"]
_KINDS: Mapping[Kind, str] = MappingProxyType(
    {
        "primary": "unelevated",
        "secondary": "outline",
        "quiet": "flat",
        "danger": "outline color=negative",
    }
)


class Button(ui.button):
    """A button with a text.

    Args:
        text: Its text, shown without markup.
        on_click: Called when it is pressed.
        kind: `primary` for what most readers do next, once in a view or dialog; `secondary` for
            other actions; `quiet` for those that stand next to text; `danger` for what deletes.
        icon: The name of a Material icon before the text.
        label: The name for screen readers, if the text needs its surroundings to be understood.
    """

    def __init__(
        self,
        text: str = "",
        on_click: Callable[..., Any] | None = None,
        *,
        kind: Kind = "secondary",
        icon: str | None = None,
        label: str | None = None,
    ) -> None:
        super().__init__(text, on_click=on_click, icon=icon)
        self.props(f"{_KINDS[kind]} dense no-caps").classes("text-button")
        if label is not None:
            self.props["aria-label"] = label


class IconButton(ui.button):
    """A button that is only an icon.

    Args:
        icon: The name of a Material icon.
        label: Its name, which is its hint too.
        on_click: Called when it is pressed.
    """

    def __init__(self, icon: str, label: str, on_click: Callable[..., Any] | None = None) -> None:
        super().__init__(icon=icon, on_click=on_click)
        self.props("flat dense round")
        self.props["aria-label"] = label
        self.tooltip(label)


class DownloadLink(Button):
    """A link that looks like a button and saves a file.

    Args:
        name: The kind of file.
        address: Its address; without one, a click handler fetches it.
        file: The name that it is saved under.
        label: The name for screen readers, if it is not that of the kind.
    """

    def __init__(
        self, name: str, address: str = "", file: str = "", *, label: str | None = None
    ) -> None:
        super().__init__(name, icon="download", label=label)
        self.classes("small")
        if address:
            self.props["href"] = address
            self.props["download"] = file
