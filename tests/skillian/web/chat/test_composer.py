from __future__ import annotations

from nicegui import ui
from tests.skillian.web.views import fire, only, sees, viewed

from skillian.web.chat.composer import Composer


async def test_enter_sends_the_text_of_the_event_and_empties_the_box() -> None:
    sent, made = list[str](), list[Composer]()

    async def view() -> None:
        made.append(Composer(sent.append, lambda: sent.append("stopped")))

    async with viewed(view) as user:
        box = only(user, ui.textarea)
        user.find(ui.textarea).type("half of")
        fire(box, "keydown", "half of it")
        assert (sent, box.value) == (["half of it"], "")
        fire(box, "keydown", "  \n ")
        user.find("Send").click()
        assert sent == ["half of it"]
        await user.should_not_see("Stop")
        made[0].set_busy(busy=True)
        await sees(user, "Stop")
        user.find("Stop").click()
        assert sent[-1] == "stopped"
        made[0].set_text("again")
        user.find("Send").click()
        assert sent[-1] == "again"
