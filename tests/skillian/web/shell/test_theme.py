from __future__ import annotations

from nicegui import ui
from tests.skillian.web.views import viewed

from skillian.web.shell.theme import apply_theme, choose_theme, theme_button


async def test_the_button_cycles_through_the_themes() -> None:
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
