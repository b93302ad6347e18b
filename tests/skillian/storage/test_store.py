from __future__ import annotations

import asyncio
import gc
from contextlib import AsyncExitStack

import pytest

from skillian.storage import (
    CANCELLED,
    DIED,
    Draft,
    MessageTooLong,
    SessionBusy,
    SessionNotFound,
    SessionStore,
    TurnLost,
    leases,
)
from skillian.storage.leases import LEASE_SECONDS, UNTIL_TAKEN_OVER
from skillian.storage.store import Waiting
from skillian.storage.turn_rows import MAX_BYTES, Change
from skillian.storage.turns import HeldTurn

ASKED = {"role": "user", "content": "Why? \0 \ud800 ß"}
CALLED = {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}
ANSWERED = {"role": "assistant", "content": "So."}


async def dead_turn(store: SessionStore, session_id: str) -> HeldTurn:
    """A turn whose holder is not heard of any more."""
    turn = HeldTurn(store._database, store._leases, session_id, "dead", -1)
    assert await turn.take(Change([ASKED], [Draft("turn_started", {})]))
    return turn


async def test_a_running_turn_shows_only_its_question(
    store: SessionStore, other: SessionStore
) -> None:
    session = await store.create("me")
    async with store.turn(session.id, [ASKED], [Draft("turn_started", {"a": "\0"})]) as turn:
        assert await turn.write([CALLED], [Draft("delta", {}), Draft("delta", {})])
        assert await other.messages(session.id) == [ASKED]
        assert (await other.progress(session.id)).is_running
        assert (await store.progress(session.id)).is_here
        assert not (await other.progress(session.id)).is_here
        ended = await turn.finish([ANSWERED], [Draft("answer", {})])
    assert [(event.number, event.type) for event in ended] == [(4, "answer"), (5, "turn_ended")]
    assert await other.messages(session.id) == [ASKED, CALLED, ANSWERED]
    events = await other.events(session.id)
    assert [event.number for event in events] == [1, 2, 3, 4, 5]
    assert events[0].data == {"a": "\0"}
    assert await other.events(session.id, after=3) == list(ended)
    assert not (await other.progress(session.id)).is_running


async def test_the_next_turn_knows_the_conversation(
    store: SessionStore, other: SessionStore
) -> None:
    session = await store.create("me")
    async with store.turn(session.id, [ASKED]) as turn:
        assert (turn.number, turn.history) == (1, [])
        await turn.finish([ANSWERED])
    async with other.turn(session.id, [ASKED]) as turn:
        assert (turn.number, turn.history) == (2, [ASKED, ANSWERED])
        await turn.finish()


async def test_turns_wait_for_each_other_in_one_process_in_their_order(
    store: SessionStore, other: SessionStore
) -> None:
    session = await store.create("me")

    async def one(opened: SessionStore, name: str) -> None:
        asked = {"role": "user", "content": name}
        async with opened.turn(session.id, [asked]) as turn:
            await turn.write([{"role": "assistant", "content": name}])
            await turn.finish([{"role": "assistant", "content": f"end of {name}"}])

    names = [f"{side} {number}" for number in range(4) for side in ("here", "there")]
    await asyncio.gather(*(one(store if "here" in name else other, name) for name in names))
    contents = [message["content"] for message in await store.messages(session.id)]
    turns = contents[::3]
    assert contents == [text for name in turns for text in (name, name, f"end of {name}")]
    assert [name for name in turns if "here" in name] == [name for name in names if "here" in name]
    assert [name for name in turns if "there" in name] == [n for n in names if "there" in n]


@pytest.mark.parametrize("here", [True, False])
async def test_waiting_too_long_raises_and_stores_nothing(
    store: SessionStore, other: SessionStore, *, here: bool
) -> None:
    session = await store.create("me")
    async with store.turn(session.id, [ASKED]) as turn:
        with pytest.raises(SessionBusy, match=r"after 0.05 s"):
            async with (store if here else other).turn(session.id, [CALLED], seconds=0.05):
                pytest.fail("two turns at once")
        await turn.finish()
    assert await store.messages(session.id) == [ASKED]


@pytest.mark.parametrize("here", [True, False])
async def test_a_reader_that_stops_waiting_leaves_nothing(
    store: SessionStore, other: SessionStore, *, here: bool
) -> None:
    session = await store.create("me")
    waits = AsyncExitStack()
    async with store.turn(session.id, [ASKED]) as turn:
        second = (store if here else other).turn(session.id, [CALLED])
        waiting = asyncio.create_task(waits.enter_async_context(second))
        await turn.write()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await turn.finish()
    assert await store.messages(session.id) == [ASKED]
    async with other.turn(session.id, seconds=1) as turn:
        await turn.finish()


async def test_a_block_that_ends_early_was_cancelled(store: SessionStore) -> None:
    session = await store.create("me")
    async with store.turn(session.id, [ASKED]) as turn:
        await turn.write([CALLED])
    said = {"role": "assistant", "content": CANCELLED, "broken": True}
    assert await store.messages(session.id) == [ASKED, said]
    kinds = [(event.type, event.data.get("type")) for event in await store.events(session.id)]
    assert kinds == [("turn_failed", "cancelled"), ("turn_ended", None)]


@pytest.mark.parametrize("first", ["messages", "events", "turn"])
async def test_the_first_process_that_sees_a_dead_turn_marks_it(
    store: SessionStore, other: SessionStore, first: str
) -> None:
    session = await store.create("me")
    dead = await dead_turn(store, session.id)
    broken = [ASKED, {"role": "assistant", "content": DIED, "broken": True}]
    if first == "messages":
        assert await other.messages(session.id) == broken
    elif first == "events":
        types = [event.type for event in await other.events(session.id)]
        assert types == ["turn_started", "turn_failed", "turn_ended"]
    else:
        async with other.turn(session.id, [ASKED], seconds=1) as turn:
            assert turn.history == broken
            await turn.finish()
    with pytest.raises(TurnLost):
        await dead.write([CALLED])
    assert dead.is_lost
    assert (await store.messages(session.id))[:2] == broken


async def test_many_who_find_a_dead_turn_mark_it_once(
    store: SessionStore, other: SessionStore
) -> None:
    session = await store.create("me")
    await dead_turn(store, session.id)
    results = await asyncio.gather(*(opened.messages(session.id) for opened in [store, other] * 4))
    assert [len(messages) for messages in results] == [2] * 8
    assert len(await store.events(session.id)) == 3


async def test_a_turn_that_writes_in_time_is_not_taken(
    store: SessionStore, other: SessionStore
) -> None:
    session = await store.create("me")
    turn = HeldTurn(store._database, store._leases, session.id, "slow", -1)
    assert await turn.take(Change([ASKED]))
    turn._lease = -turn._lease * 60  # heard of again
    await turn.write()
    assert await other.messages(session.id) == [ASKED]
    await turn.finish([ANSWERED])
    assert await other.messages(session.id) == [ASKED, ANSWERED]


@pytest.mark.parametrize("kind", ["", UNTIL_TAKEN_OVER])
async def test_a_holder_that_died_before_the_clock_was_put_back_is_found(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    passed = [0.0]
    monkeypatch.setattr(leases, "monotonic", lambda: passed[0])
    session = await store.create("me")
    turn = HeldTurn(store._database, store._leases, session.id, f"other{kind}", 3600)
    assert await turn.take(Change([ASKED]))
    for _ in range(3):  # it lives: it renews its lease
        passed[0] += LEASE_SECONDS
        assert await store.messages(session.id) == [ASKED]
        await turn.write()
    assert await store.messages(session.id) == [ASKED]
    passed[0] += LEASE_SECONDS + 1
    assert len(await store.messages(session.id)) == (1 if kind else 2)
    assert (await store.running_turn(session.id) is None) == (not kind)


async def test_a_deleted_session_ends_its_turn(store: SessionStore, other: SessionStore) -> None:
    session = await store.create("me")
    async with store.turn(session.id, [ASKED]) as turn:
        await other.delete("me", session.id)
        with pytest.raises(TurnLost):
            await turn.finish([ANSWERED])
    with pytest.raises(SessionNotFound):
        async with store.turn(session.id, [ASKED]):
            pytest.fail("a turn of nothing")


async def test_a_text_over_the_limit_is_refused_and_the_turn_continues(store: SessionStore) -> None:
    session = await store.create("me")
    long = {"role": "user", "content": "x" * MAX_BYTES}
    with pytest.raises(MessageTooLong, match=str(MAX_BYTES)):
        async with store.turn(session.id, [long]):
            pytest.fail("it was taken")
    async with store.turn(session.id, [ASKED]) as turn:
        with pytest.raises(MessageTooLong, match=str(MAX_BYTES)):
            await turn.write([ANSWERED, long], [Draft("delta", {})])
        await turn.finish([ANSWERED])
    assert await store.messages(session.id) == [ASKED, ANSWERED]
    assert [event.number for event in await store.events(session.id)] == [1]


async def test_an_export_holds_the_messages_and_not_the_owner(store: SessionStore) -> None:
    session = await store.create("digest of a key", "Books")
    async with store.turn(session.id, [ASKED]) as turn:
        await turn.finish([ANSWERED])
    exported = await store.export(session.id)
    assert exported["session"]["title"] == "Books"
    assert exported["messages"] == [ASKED, ANSWERED]
    assert "digest" not in str(exported)


async def test_first_come_first_served_and_nothing_is_left() -> None:
    waiting = Waiting()
    order: list[int] = []

    async def one(number: int) -> None:
        async with waiting.in_line("a", 10):
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(one(number) for number in range(10)))
    assert order == list(range(10))
    gc.collect()
    assert len(waiting._locks) == 0


async def test_waiting_too_long_raises_and_others_continue() -> None:
    waiting = Waiting()
    async with waiting.in_line("a", 10):
        with pytest.raises(SessionBusy):
            async with waiting.in_line("a", 0.01):
                pytest.fail("two at once")
        async with waiting.in_line("b", 0.01):
            pass
    async with waiting.in_line("a", 0.01):
        pass


async def test_an_alarm_is_set_once_for_all_its_holders() -> None:
    waiting = Waiting()
    alarm = waiting.alarm("a")
    assert waiting.alarm("a") is alarm
    waiting.notify("b")
    assert not alarm.is_set()
    waiting.notify("a")
    assert alarm.is_set()
    assert not waiting.alarm("a").is_set()
    gc.collect()
    assert len(waiting._alarms) == 0


async def test_a_turn_reads_a_bounded_number_of_turns(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillian.storage.turns.HISTORY_TURNS", 2)
    session = await store.create("me")
    for number in range(4):
        async with store.turn(session.id, [{"role": "user", "content": f"{number}"}]) as turn:
            read = [each["content"] for each in turn.history if each["role"] == "user"]
            assert read == ["0", "1", "2"][max(0, number - 2) : number]
            await turn.finish([ANSWERED])
    assert len(await store.messages(session.id)) == 8
