from __future__ import annotations

from nicegui import ui
from tests.skillian.web.views import sees, viewed

from skillian.web.theme import STATUSES, apply_theme, choose_theme, status_mark, theme_button


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
