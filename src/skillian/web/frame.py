"""What all views stand in: header, drawer, theme."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from fastapi import Request
from nicegui import ui

from skillian.api.auth import PAGE
from skillian.api.service import Service
from skillian.web.theme import THEME_COOKIE, apply_theme, theme_button

VIEWS = (
    ("/", "Chat"),
    ("/compare", "Compare"),
    ("/runs", "Runs"),
    ("/sources", "Sources"),
    ("/settings", "Settings"),
)


@dataclass(frozen=True, slots=True)
class Visit:
    """A page that is opened: what it shows, and to whom.

    Attributes:
        service: The server's parts.
        owner: The digest of the visitor's key; an empty text where there are no keys.
        theme: Which theme was chosen before.
    """

    service: Service
    owner: str
    theme: str | None

    @staticmethod
    def address(path: str) -> str:
        """The path of a view as the browser knows it."""
        return f"{PAGE}{path}"


def visit_of(request: Request, service: Service) -> Visit:
    """The visit that a request is."""
    return Visit(service, request.state.owner, request.cookies.get(THEME_COOKIE))


class Framed(NamedTuple):
    """What a view is built in; `drawer` is the one on the left, or stands in for it."""

    main: ui.element
    drawer: ui.element
    theme: ui.dark_mode


@contextmanager
def frame(
    visit: Visit, title: str, *, active: str = "", width: str = "", has_drawer: bool = False
) -> Generator[Framed]:
    """The page around a view; the view is built in the block.

    Args:
        visit: who looks.
        title: of the document.
        active: the path of the entry in the header that this view belongs to.
        width: a CSS class of the view: `narrow` is for reading.
        has_drawer: whether there is a drawer on the left.
    """
    ui.page_title(f"{title} · skillian")
    theme = apply_theme(visit.theme)
    drawer = _drawer() if has_drawer else None
    with ui.header(wrap=False).classes("top items-center"):
        if drawer is not None:
            opener = ui.button(icon="menu", on_click=drawer.toggle).props("flat dense")
            opener.props('aria-label="Sessions"')
        ui.link("skillian", "/").classes("brand")
        with ui.element("nav").props('aria-label="Views"'):
            for path, name in VIEWS:
                link = ui.link(name, path)
                if path == active:
                    link.props('aria-current="page"')
        theme_button(theme)
    with ui.element("div").classes(f"view {width}").props("id=main tabindex=-1") as main:
        yield Framed(main, drawer or main, theme)


def _drawer() -> ui.left_drawer:
    # With a value NiceGUI does not ask the browser for it, which may be busy for a second.
    drawer = ui.left_drawer(bordered=True, value=False)
    return drawer.props("show-if-above width=280 breakpoint=900")
