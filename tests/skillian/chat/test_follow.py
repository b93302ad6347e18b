from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from tests.skillian.chat.turn_agents import ScriptedAgent, ToolAgent, echo, local_turns

from skillian.chat.turns import follow
from skillian.storage import Draft, SessionNotFound, SessionStore, TurnEvent
from skillian.storage.store import MAX_EVENTS
from tinyagent import scripted_call, tool


async def collect(events: AsyncGenerator[TurnEvent, None]) -> list[TurnEvent]:
    return [event async for event in events]


async def test_readers_here_and_elsewhere_see_each_event_once(
    store: SessionStore, other: SessionStore
) -> None:
    session = (await store.create("me")).id
    go_on = asyncio.Event()

    @tool
    async def wait(text: str) -> str:
        """Wait.

        Args:
            text: given back.
        """
        await go_on.wait()
        return text

    turns = local_turns(lambda: ToolAgent(wait), store)
    running = turns.run(session, "me", "Hello")
    first = [await anext(running), await anext(running)]
    readers = [
        asyncio.create_task(collect(follow(opened, session, "me", after)))
        for opened in (store, other)
        for after in (0, 1)
    ]
    # A reader that reloads: it leaves after the first event and comes back with its number.
    reloading = follow(other, session, "me")
    seen = [await anext(reloading)]
    await reloading.aclose()
    go_on.set()
    events = first + await collect(running)
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    for reader, after in zip(readers, (0, 1, 0, 1), strict=True):
        assert await reader == events[after:]
    assert seen + await collect(follow(other, session, "me", seen[-1].number)) == events


async def test_an_idle_session_yields_its_stored_events(store: SessionStore) -> None:
    session = (await store.create("me")).id
    assert await collect(follow(store, session, "me")) == []
    async with store.turn(session) as turn:
        await turn.finish([], [Draft("delta", {})] * (MAX_EVENTS + 5))
    events = await collect(follow(store, session, "me", 3))
    assert [event.number for event in events] == list(range(4, MAX_EVENTS + 7))


async def test_another_owners_session_is_not_found(store: SessionStore) -> None:
    session = (await store.create("me")).id
    with pytest.raises(SessionNotFound):
        await collect(follow(store, session, "you"))


async def test_a_deleted_session_ends_the_reading(store: SessionStore, other: SessionStore) -> None:
    session = (await store.create("me")).id
    agent = ScriptedAgent([scripted_call("echo", text="a"), "Done."], echo)
    running = local_turns(lambda: agent, store).run(session, "me", "Hello")
    await anext(running)
    reading = follow(other, session, "me")
    await anext(reading)
    await store.delete("me", session)
    assert await collect(reading) == []
    await running.aclose()
