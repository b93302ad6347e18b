from __future__ import annotations

from nicegui import ui
from nicegui.testing import User
from tests.skillian.web.views import fire, only, sees, viewed
from tests.skillian.web.visits import visit
from tests.support.waits import soon

from skillian.api.service import Service
from skillian.web.chat.sessions import PAGE_SIZE, SessionList


async def sessions_view(service: Service, current: str | None = None) -> None:
    await SessionList(visit(service), current).build()


def listed(user: User) -> str:
    return str(only(user, ui.html).content)


async def test_titles_are_escaped(service: Service) -> None:
    session = await service.store.create("", '<b onclick="x">&')
    await service.store.create("somebody", "Another's")
    async with viewed(lambda: sessions_view(service, session.id)) as user:
        assert "&lt;b onclick=&quot;x&quot;&gt;&amp;" in listed(user)
        assert "<b" not in listed(user).replace("<button", "")
        assert f'href="/ui/chat/{session.id}"' in listed(user)
        assert 'aria-current="page"' in listed(user)
        assert "Another" not in listed(user)


async def test_sessions_are_searched_and_paged(service: Service) -> None:
    for number in range(PAGE_SIZE + 2):
        await service.store.create("", f"No. {number}")
    async with viewed(lambda: sessions_view(service)) as user:
        assert listed(user).count("<li") == PAGE_SIZE
        user.find("More").click()
        await soon(lambda: listed(user).count("<li") == PAGE_SIZE + 2)
        user.find(ui.input).type("no. 51")
        await soon(lambda: listed(user).count("<li") == 1)
        user.find(ui.input).clear().type("nothing")
        await sees(user, "No title contains this. Change or clear the search.")


async def test_a_session_is_renamed(service: Service) -> None:
    session = await service.store.create("", "Old")
    async with viewed(lambda: sessions_view(service)) as user:
        fire(only(user, ui.html), "click", session.id)
        await sees(user, "Cancel")
        user.find(kind=ui.input, content="Title").clear().type("New")
        user.find(kind=ui.button, content="Rename").click()
        await soon(lambda: ">New<" in listed(user))
    assert (await service.store.get("", session.id)).title == "New"


async def test_a_session_is_deleted_after_a_confirmation(service: Service) -> None:
    kept = await service.store.create("", "Kept")
    gone = await service.store.create("", "Gone")
    async with viewed(lambda: sessions_view(service, kept.id)) as user:
        fire(only(user, ui.html), "click", gone.id)
        await sees(user, "Cancel")
        user.find(kind=ui.button, content="Delete").click()
        await sees(user, "Delete permanently")
        assert await service.store.count("") == 2
        user.find("Delete permanently").click()
        await soon(lambda: "Gone" not in listed(user))
    assert await service.store.list("") == [kept]


async def test_a_session_of_another_owner_cannot_be_opened(service: Service) -> None:
    session = await service.store.create("somebody", "Theirs")
    async with viewed(lambda: sessions_view(service)) as user:
        for forged in (session.id, "", "x" * 1000, None, {"a": 1}):
            fire(only(user, ui.html), "click", forged)
        await user.should_not_see("Cancel")
