from __future__ import annotations

import pytest

from skillian.storage import (
    CANCELLED,
    HANDED_OVER_SECONDS,
    Draft,
    HeldTurn,
    SessionStore,
    TurnLost,
)

MESSAGE = {"role": "user", "content": "Why?"}
STARTED = Draft("turn_started", {"message": "Why?"})
CALLED = [{"role": "assistant", "content": ""}, {"role": "tool", "content": "5"}]


async def ours() -> bool:
    return True


async def begun(store: SessionStore) -> tuple[str, HeldTurn]:
    """A second turn, with a step of it, that was handed over."""
    session = (await store.create("me")).id
    async with store.turn(session, [MESSAGE], [STARTED]) as first:
        await first.finish([{"role": "assistant", "content": "So."}])
    async with store.turn(session, [MESSAGE], [STARTED]) as turn:
        await turn.write(CALLED, [Draft("tool_finished", {})])
        await turn.hand_over(HANDED_OVER_SECONDS)
    return session, turn


async def test_a_turn_continues_where_it_was_left(store: SessionStore, other: SessionStore) -> None:
    session, turn = await begun(store)
    progress = await other.progress(session)
    assert (progress.is_running, progress.is_here) == (True, False)
    assert await other.running_turn(session) == 2
    async with other.taken_over(session, 2, ours) as taken:
        assert (taken.number, taken.question, taken.messages_stored) == (2, "Why?", 2)
        assert [one["content"] for one in taken.history] == ["Why?", "So."]
        assert [event.type for event in taken.stored] == ["turn_started", "tool_finished"]
        with pytest.raises(TurnLost):
            await turn.write((), [Draft("late", {})])
        events = await taken.finish([{"role": "assistant", "content": "5."}])
    assert [event.number for event in events] == [5]
    contents = [message["content"] for message in await store.messages(session)]
    assert contents == ["Why?", "So.", "Why?", "", "5", "5."]
    assert await other.running_turn(session) is None
    with pytest.raises(TurnLost):
        async with other.taken_over(session, 2, ours):
            pass


async def test_a_block_that_ends_early_leaves_the_turn(
    store: SessionStore, other: SessionStore
) -> None:
    session, _ = await begun(store)
    async with other.taken_over(session, 2, ours) as taken:
        await taken.write((), [Draft("delta", {})])
    async with store.taken_over(session, 2, ours) as again:
        assert len(again.stored) == 3
        with pytest.raises(TurnLost):
            await taken.write((), [Draft("late", {})])


async def test_only_the_owner_of_the_work_takes_a_turn_over(
    store: SessionStore, other: SessionStore
) -> None:
    session, _ = await begun(store)

    async def not_ours() -> bool:
        return False

    with pytest.raises(TurnLost):
        async with other.taken_over(session, 2, not_ours):
            pass
    taken: list[HeldTurn] = []
    asked = 0

    async def slowly() -> bool:
        nonlocal asked
        asked += 1
        if asked == 1:  # meanwhile another takes it: it is asked again
            async with store.taken_over(session, 2, ours) as quicker:
                taken.append(quicker)
        return True

    async with other.taken_over(session, 2, slowly) as slower:
        assert asked == 2
        with pytest.raises(TurnLost):
            await taken[0].write((), [Draft("late", {})])
        await slower.finish()


async def test_a_turn_is_cancelled_whoever_holds_it(
    store: SessionStore, other: SessionStore
) -> None:
    session, _ = await begun(store)
    async with store.taken_over(session, 2, ours) as taken:
        assert await other.cancel_turn(session, 1) is None  # that one has ended
        assert await other.cancel_turn(session, 2) == 2
        with pytest.raises(TurnLost):
            await taken.finish()
        assert taken.is_lost
    assert (await other.messages(session))[-1]["content"] == CANCELLED
    assert await other.cancel_turn(session) is None
