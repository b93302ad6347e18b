from __future__ import annotations

from nicegui import ui
from tests.skillian.web.views import only, sees, viewed
from tests.skillian.web.visits import visit

from skillian.api.service import Service
from skillian.web.shell.settings import settings_view
from skillian.web.shell.theme import apply_theme


async def test_the_view_names_the_model_and_changes_the_theme(service: Service) -> None:
    themes = list[ui.dark_mode]()

    async def view() -> None:
        themes.append(apply_theme("light"))
        settings_view(visit(service), themes[0])

    async with viewed(view) as user:
        await sees(user, "offline planner, no language model")
        await user.should_not_see("Sign out")
        with user:
            only(user, ui.radio).set_value("dark")
        assert themes[0].value is True


async def test_with_keys_a_reader_can_sign_out(service: Service) -> None:
    service.settings = service.settings.model_copy(update={"api_keys": ("x",)})

    async def view() -> None:
        settings_view(visit(service), ui.dark_mode())

    async with viewed(view) as user:
        await sees(user, "Sign out")
