"""The settings view: the model that answers, the theme, and the key of this browser."""

from __future__ import annotations

from nicegui import ui

from skillian.web.shell.buttons import Button
from skillian.web.shell.elements import Heading
from skillian.web.shell.frame import Visit
from skillian.web.shell.theme import THEMES, choose_theme

_THEME_NAMES = {"auto": "Same as system", "light": "Light", "dark": "Dark"}
_SIGN_OUT = "fetch('/ui/login', {method: 'DELETE'}).then(() => location.assign('/ui/login'))"


def settings_view(visit: Visit, theme: ui.dark_mode) -> None:
    """Show the settings.

    Args:
        visit: The visit.
        theme: The theme of the page, which the view changes.
    """
    service = visit.service
    with ui.element("div").classes("stack reading"):
        Heading("Settings", 1)
        with ui.element("section").classes("panel pad stack"):
            Heading("Model", 2)
            with ui.element("div").classes("line"):
                ui.label("Answers come from:")
                ui.label(service.agent.model_name).classes("mono")
            ui.label(
                "To change the model, set SKILLIAN_MODEL on the server to PROVIDER:NAME, such as"
                " openai:NAME or ollama:NAME; skillian models lists those of its machine."
                " Without it the offline planner answers, by rules."
            ).classes("soft small")
        with ui.element("section").classes("panel pad stack"):
            Heading("Theme", 2)
            current = next(name for name, value in THEMES.items() if value == theme.value)
            choice = ui.radio(_THEME_NAMES, value=current)
            choice.props('inline aria-label="Colour theme"')
            choice.on_value_change(lambda event: choose_theme(theme, event.value))
        if service.settings.api_keys:
            with ui.element("section").classes("panel pad stack"):
                Heading("Key", 2)
                ui.label("This browser is signed in with one of the server's keys.")
                Button("Sign out", lambda: ui.run_javascript(_SIGN_OUT))
