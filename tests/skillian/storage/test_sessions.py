from __future__ import annotations

from datetime import timedelta

import pytest

from skillian.storage import SessionNotFound, SessionStore, TooManySessions


async def test_a_session_belongs_to_its_owner(store: SessionStore) -> None:
    mine = await store.create("me")
    assert await store.get("me", mine.id) == mine
    for act in (
        store.get("you", mine.id),
        store.rename("you", mine.id, "Yours"),
        store.delete("you", mine.id),
    ):
        with pytest.raises(SessionNotFound, match="there is no such session"):
            await act
    assert await store.list("you") == []
    assert await store.list("me") == [mine]


@pytest.mark.parametrize("odd", ["", "nothing", "\0", "\ud800", "../..", "' OR 1=1 --", "A" * 32])
async def test_a_text_that_cannot_be_an_id_is_not_found(store: SessionStore, odd: str) -> None:
    await store.create("me")
    with pytest.raises(SessionNotFound):
        await store.get("me", odd)


async def test_sessions_are_paged_most_recently_used_first(store: SessionStore) -> None:
    made = [await store.create("me", f"No. {number}") for number in range(5)]
    async with store.turn(made[1].id, [{"role": "user", "content": "Hello"}]) as turn:
        await turn.finish()
    listed = await store.list("me", 0, 3) + await store.list("me", 3, 3)
    assert [one.title for one in listed] == ["No. 1", "No. 4", "No. 3", "No. 2", "No. 0"]
    assert await store.count("me") == 5


async def test_sessions_are_found_by_a_part_of_their_title(store: SessionStore) -> None:
    for title in ("The 100 % gap", "Gap of 1001", "Another_one"):
        await store.create("me", title)
    await store.create("you", "Your gap")
    for search, found in (("GAP", 2), ("%", 1), ("_", 1), ("nothing", 0), ("", 3)):
        assert len(await store.list("me", search=search)) == found, search


async def test_the_first_message_is_the_title_until_it_is_renamed(store: SessionStore) -> None:
    session = await store.create("me")
    said = "Compare\n\0\ud800 the  books " + "of all years " * 20
    async with store.turn(session.id, [{"role": "user", "content": said}]) as turn:
        await turn.finish()
    title = (await store.get("me", session.id)).title
    assert title.startswith("Compare the books of all years")
    assert len(title) <= 80
    assert (await store.rename("me", session.id, "Books")).title == "Books"
    async with store.turn(session.id, [{"role": "user", "content": "More"}]) as turn:
        await turn.finish()
    assert (await store.get("me", session.id)).title == "Books"


async def test_a_deleted_session_leaves_nothing(store: SessionStore) -> None:
    session = await store.create("me")
    async with store.turn(session.id, [{"role": "user", "content": "Hello"}]) as turn:
        await turn.finish([{"role": "assistant", "content": "Hello"}])
    await store.delete("me", session.id)
    assert await store.messages(session.id) == []
    assert await store.events(session.id) == []
    with pytest.raises(SessionNotFound):
        await store.export(session.id)


async def test_purge_deletes_unused_sessions_only(store: SessionStore) -> None:
    for _ in range(101):  # more than go at once
        await store.create("me")
    kept = await store.create("me")
    async with store.turn(kept.id):
        assert await store.purge(timedelta(hours=1)) == 0
        assert await store.purge(timedelta(0)) == 101
    assert [one.id for one in await store.list("me")] == [kept.id]
    assert await store.purge(timedelta(0)) == 1


async def test_an_owner_has_a_limit_of_sessions(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillian.storage.sessions.MAX_SESSIONS", 3)
    made = [await store.create("a") for _ in range(3)]
    with pytest.raises(TooManySessions, match="this key has 3 sessions"):
        await store.create("a")
    assert await store.count("a") == 3
    await store.create("b")
    await store.delete("a", made[0].id)
    await store.create("a")


async def test_a_ping_writes_and_leaves_nothing(store: SessionStore) -> None:
    await store.ping()
    await store.ping()
    assert await store.comparisons.purge() == 1
