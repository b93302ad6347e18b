"""What surrounds every view: header, navigation, drawer and theme."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from fastapi import Request
from nicegui import ui

from skillian.api.auth import PAGE
from skillian.api.service import Service
from skillian.web.shell.buttons import IconButton
from skillian.web.shell.elements import add_scripts
from skillian.web.shell.theme import THEME_COOKIE, apply_theme, theme_button

START = "/start"
"""The path of the view that the page starts with."""

NAVIGATION = (
    (START, "Start"),
    ("/", "Chat"),
    ("/compare", "Compare"),
    ("/runs", "Runs"),
    ("/sources", "Sources"),
    ("/settings", "Settings"),
)
"""The path and the name of each view in the header, in this order."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A page that somebody opened.

    Attributes:
        service: The parts of the server.
        owner: The digest of the visitor's key; empty if the server has no keys.
        theme: The theme that the visitor chose before, if any.
    """

    service: Service
    owner: str
    theme: str | None

    @staticmethod
    def address(path: str) -> str:
        """The path of a view as the browser sees it."""
        return f"{PAGE}{path}"


def visit_of(request: Request, service: Service) -> Visit:
    """The visit behind a request."""
    return Visit(service, request.state.owner, request.cookies.get(THEME_COOKIE))


class PageFrame(NamedTuple):
    """The elements that a view is built in; `drawer` is `main` if there is no drawer."""

    main: ui.element
    drawer: ui.element
    theme: ui.dark_mode


@contextmanager
def frame(
    visit: Visit, title: str, *, active: str = "", layout: str = "", has_drawer: bool = False
) -> Generator[PageFrame]:
    """Build the page around a view; build the view in the block.

    Args:
        visit: The visit.
        title: The title of the document.
        active: The path of the entry in `NAVIGATION` that this view belongs to.
        layout: A CSS class of the view.
        has_drawer: Whether the page has a drawer on the left.
    """
    ui.page_title(f"{title} · skillian")
    theme = apply_theme(visit.theme)
    add_scripts()
    drawer = _drawer() if has_drawer else None
    with ui.header(wrap=False).classes("top items-center"):
        if drawer is not None:
            IconButton("menu", "Sessions", drawer.toggle)
        ui.link("skillian", START).classes("brand")
        with ui.element("nav").props('aria-label="Views"'):
            for path, name in NAVIGATION:
                link = ui.link(name, path)
                if path == active:
                    link.props('aria-current="page"')
        keys = IconButton("keyboard", "Keys").classes("keys-button")
        keys.on("click", js_handler="() => window.skillianKeys()")
        theme_button(theme)
    with ui.element("div").classes(f"view {layout}").props("id=main tabindex=-1") as main:
        yield PageFrame(main, drawer or main, theme)


def _drawer() -> ui.left_drawer:
    # Without a value NiceGUI would ask the browser, which may be busy for a second.
    drawer = ui.left_drawer(bordered=True, value=False)
    return drawer.props("show-if-above width=280 breakpoint=900")
