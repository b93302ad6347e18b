from __future__ import annotations

from nicegui import ui
from tests.skillian.web.views import only, sees, viewed
from tests.skillian.web.visits import visit

from skillian.api.service import Service
from skillian.web.settings import settings_view
from skillian.web.theme import STATUSES, apply_theme, choose_theme, status_mark, theme_button


async def test_the_model_is_told_and_the_theme_chosen(service: Service) -> None:
    themes = list[ui.dark_mode]()

    async def view() -> None:
        themes.append(apply_theme("light"))
        settings_view(visit(service), themes[0])

    async with viewed(view) as user:
        await sees(user, "offline planner, no language model")
        await user.should_not_see("Forget it")
        with user:
            only(user, ui.radio).set_value("dark")
        assert themes[0].value is True


async def test_with_keys_a_browser_can_be_forgotten(service: Service) -> None:
    service.settings = service.settings.model_copy(update={"api_keys": ("x",)})

    async def view() -> None:
        settings_view(visit(service), ui.dark_mode())

    async with viewed(view) as user:
        await sees(user, "Forget it")


async def test_the_button_goes_through_the_themes() -> None:
    themes = list[ui.dark_mode]()

    async def view() -> None:
        themes.append(apply_theme("nonsense"))
        theme_button(themes[0])
        choose_theme(themes[0], "auto")

    async with viewed(view) as user:
        seen = [themes[0].value]
        for _ in range(3):
            user.find(ui.button).click()
            seen.append(themes[0].value)
    assert seen == [None, False, True, None]


async def test_a_class_is_told_by_shape_and_word() -> None:
    async def view() -> None:
        for key in STATUSES:
            status_mark(key)

    async with viewed(view) as user:
        for status in STATUSES.values():
            await sees(user, status.symbol)
            await sees(user, status.label)
    assert len({status.symbol for status in STATUSES.values()}) == len(STATUSES)
