"""How the page looks: colours, the marks of the five classes, dark and light."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

import nicegui
from nicegui import ui

from skillian.api.auth import PAGE

ACCENT = "#1d5fa6"
THEME_COOKIE = "skillian-theme"
THEMES: Mapping[str, bool | None] = MappingProxyType({"auto": None, "light": False, "dark": True})
"""The names of the themes, and what NiceGUI calls them."""

_ICONS = {"auto": "brightness_auto", "light": "light_mode", "dark": "dark_mode"}


@dataclass(frozen=True, slots=True)
class Status:
    """How a class of a comparison is shown, so that colour is never all that tells it.

    Attributes:
        key: Its name in results.
        label: Its name for people; `{a}` and `{b}` stand for the sources.
        symbol: Its shape.
        colour: Fills areas (Okabe-Ito). As text it has too little contrast: the CSS class
            `status-<key>` has a darker or lighter one, as the theme asks for.
    """

    key: str
    label: str
    symbol: str
    colour: str


STATUSES: Mapping[str, Status] = MappingProxyType(
    {
        status.key: status
        for status in (
            Status("match", "match", "=", "#009e73"),
            Status("minor_diff", "minor", "△", "#e69f00"),
            Status("major_diff", "major", "▲", "#d55e00"),
            Status("missing_in_b", "only in A", "◧", "#0072b2"),
            Status("missing_in_a", "only in B", "◨", "#cc79a7"),
        )
    }
)
"""The five classes of a comparison, by their name in results."""


def apply_theme(chosen: str | None) -> ui.dark_mode:
    """Give the page its style, and the theme that was chosen before (`THEMES`)."""
    nicegui.app.colors(primary=ACCENT, secondary="#5b6573", dark="#1b1f24", dark_page="#14171b")
    for name in ("style.css", "comparison.css"):
        ui.add_css(files("skillian.web").joinpath(name).read_text(encoding="utf-8"))
    return ui.dark_mode(THEMES.get(chosen or "auto"))


def theme_button(theme: ui.dark_mode) -> None:
    """A button that goes through the themes; the browser keeps the choice."""

    def choose_next() -> None:
        names = list(THEMES)
        chosen = names[(list(THEMES.values()).index(theme.value) + 1) % len(names)]
        choose_theme(theme, chosen)
        button.props(f"icon={_ICONS[chosen]}")
        hint.set_text(f"Theme: {chosen}")

    now = next(name for name, value in THEMES.items() if value == theme.value)
    button = ui.button(icon=_ICONS[now], on_click=choose_next).props("flat dense round")
    button.props('aria-label="Theme"')
    with button:
        hint = ui.tooltip(f"Theme: {now}")


def choose_theme(theme: ui.dark_mode, name: str) -> None:
    """Show a theme of `THEMES`, now and from now on."""
    theme.value = THEMES[name]
    cookie = f"{THEME_COOKIE}={name}; path={PAGE}; max-age=31536000; SameSite=Strict"
    ui.run_javascript(f"document.cookie = {json.dumps(cookie)}")


def status_mark(key: str, text: str | None = None) -> ui.element:
    """A class as its symbol and its name."""
    status = STATUSES[key]
    with ui.element("span").classes(f"status status-{key}") as mark:
        ui.label(status.symbol).classes("status-symbol").props("aria-hidden=true")
        ui.label(status.label if text is None else text)
    return mark
