"""Settings: what answers, and how the page looks."""

from __future__ import annotations

from nicegui import ui

from skillian.web.frame import Visit
from skillian.web.heading import Heading
from skillian.web.theme import THEMES, choose_theme


def settings_view(visit: Visit, theme: ui.dark_mode) -> None:
    """Show the settings.

    Args:
        visit: who looks.
        theme: is changed as chosen.
    """
    service = visit.service
    with ui.element("div").classes("stack"):
        Heading("Settings", 1)
        with ui.element("section").classes("panel pad stack"):
            Heading("Model", 2)
            with ui.element("div").classes("line"):
                ui.label("Answers come from:")
                ui.label(service.agent.model_name).classes("mono")
            ui.label(
                "Whoever runs the server chooses it: SKILLIAN_MODEL=openai:NAME, anthropic:NAME or"
                " ollama:NAME; without one the offline planner answers, by rules."
            ).classes("soft small")
        with ui.element("section").classes("panel pad stack"):
            Heading("Theme", 2)
            options = {"auto": "As the system", "light": "Light", "dark": "Dark"}
            now = next(name for name, value in THEMES.items() if value == theme.value)
            choice = ui.radio(options, value=now).props('inline aria-label="Colour theme"')
            choice.on_value_change(lambda event: choose_theme(theme, event.value))
        if service.settings.api_keys:
            with ui.element("section").classes("panel pad stack"):
                Heading("Key", 2)
                ui.label("This browser is known by one of the server's keys.")
                ui.button("Forget it", on_click=lambda: ui.run_javascript(_LEAVE)).props("outline")


_LEAVE = "fetch('/ui/login', {method: 'DELETE'}).then(() => location.assign('/ui/login'))"
