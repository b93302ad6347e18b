"""The styles of the page, dark and light."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

import nicegui
from nicegui import ui

from skillian.api.auth import PAGE
from skillian.web.shell.buttons import IconButton

ACCENT = "#1d5fa6"
THEME_COOKIE = "skillian-theme"
THEMES: Mapping[str, bool | None] = MappingProxyType({"auto": None, "light": False, "dark": True})
"""The name of each theme, and the value that NiceGUI has for it."""
STYLE_SHEETS = (
    "shell/tokens.css",
    *(f"{room}/style.css" for room in ("shell", "chat", "comparison", "match", "start", "saved")),
)
"""The style sheets that every page gets, in this order."""

# Until the scripts have built the page: the class gives it the colours of its theme.
_LOADING = '<div id="page-loading" class="{theme}" role="status">Loading the page …</div>'
_ICONS = {"auto": "brightness_auto", "light": "light_mode", "dark": "dark_mode"}


def set_defaults() -> None:
    """Make all fields of the page look alike."""
    for field in (ui.input, ui.select, ui.textarea):
        field.default_props("outlined dense options-dense")


def apply_theme(name: str | None) -> ui.dark_mode:
    """Add the styles to the page.

    Args:
        name: A theme of `THEMES`; for any other name the page follows the system.

    Returns:
        The setting that changes the theme of the page.
    """
    nicegui.app.colors(primary=ACCENT, secondary="#5b6573", dark="#1b1f24", dark_page="#14171b")
    for sheet in STYLE_SHEETS:
        ui.add_css(files("skillian.web").joinpath(sheet).read_text(encoding="utf-8"))
    chosen = name if name is not None and name in THEMES else "auto"
    ui.add_body_html(_LOADING.format(theme=chosen))
    return ui.dark_mode(THEMES[chosen])


def theme_button(theme: ui.dark_mode) -> None:
    """Show a button that switches to the next theme; the browser keeps the choice."""

    def choose_next() -> None:
        names = list(THEMES)
        chosen = names[(list(THEMES.values()).index(theme.value) + 1) % len(names)]
        choose_theme(theme, chosen)
        button.props(f"icon={_ICONS[chosen]}")

    current = next(name for name, value in THEMES.items() if value == theme.value)
    button = IconButton(_ICONS[current], "Theme", choose_next)


def choose_theme(theme: ui.dark_mode, name: str) -> None:
    """Switch to a theme of `THEMES`, and have the browser keep the choice for a year."""
    theme.value = THEMES[name]
    cookie = f"{THEME_COOKIE}={name}; path={PAGE}; max-age=31536000; SameSite=Strict"
    ui.run_javascript(f"document.cookie = {json.dumps(cookie)}")
