from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.skillian.chat.turn_agents import ScriptedAgent, ToolAgent, echo, hang, local_turns

from skillian.chat.agent import Conversation
from skillian.chat.turns import FAILED, LocalTurns, TurnWork, follow
from skillian.storage import (
    CANCELLED,
    DIED,
    MessageTooLong,
    SessionBusy,
    SessionNotFound,
    SessionStore,
    TurnEvent,
    TurnLost,
    open_store,
)
from skillian.storage.turn_rows import MAX_BYTES
from tinyagent import Event, scripted_call, tool
from tinyagent.core import ModelServerError

PROGRAM = Path(__file__).with_name("turn_process.py")
ROOT = Path(__file__).parents[3]


async def start(url: str, session: str, *words: str) -> Process:
    command = [sys.executable, str(PROGRAM), url, session, *words]
    return await asyncio.create_subprocess_exec(
        *command, stdout=PIPE, env={"PYTHONPATH": str(ROOT)}
    )


async def all_of(events: AsyncGenerator[TurnEvent, None]) -> list[TurnEvent]:
    return [event async for event in events]


def said(messages: list[dict[str, Any]]) -> list[str]:
    return [message["content"] for message in messages if message["role"] != "tool"]


async def test_a_turn_is_streamed_and_stored(store: SessionStore) -> None:
    session = (await store.create("me")).id
    turns = local_turns(lambda: ToolAgent(echo), store)
    events = await all_of(turns.run(session, "me", "Hello"))
    assert [event.type for event in events] == [
        "turn_started",
        "model_finished",
        "tool_started",
        "tool_finished",
        "delta",
        "model_finished",
        "answer",
        "turn_ended",
    ]
    assert [event.number for event in events] == [1, 2, 3, 4, 5, 6, 7, 8]
    answer = events[6].data
    assert (answer["content"], answer["finished"]) == ("Re: Hello", True)
    [call] = answer["tool_calls"]
    assert (call["tool"], call["args"], call["result"]) == (
        "echo",
        {"text": "Hello"},
        {"said": "Hello"},
    )
    assert answer["usage"]["requests"] == 2
    assert await store.events(session) == events
    messages = await store.messages(session)
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"]


async def test_the_next_turn_has_the_conversation(store: SessionStore, other: SessionStore) -> None:
    session = (await store.create("me")).id
    await all_of(local_turns(lambda: ToolAgent(echo), store).run(session, "me", "First"))
    second = ToolAgent(echo)
    await all_of(local_turns(lambda: second, other).run(session, "me", "Second"))
    asked = [
        (message.role, message.content)
        for message in second.model.requests[0].messages
        if message.role != "system"
    ]
    assert asked == [
        ("user", "First"),
        ("assistant", ""),
        ("tool", json.dumps({"said": "First"}, separators=(",", ":"))),
        ("assistant", "Re: First"),
        ("user", "Second"),
    ]


@pytest.mark.parametrize("way", ["close", "cancel"])
async def test_leaving_cancels_the_run_and_breaks_the_turn_off(
    store: SessionStore, other: SessionStore, way: str
) -> None:
    session = (await store.create("me")).id
    ended = asyncio.Event()

    @tool
    async def wait(text: str) -> str:
        """Wait.

        Args:
            text: of no use.
        """
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return text

    at_work = asyncio.Event()

    async def run() -> None:
        async with aclosing(
            local_turns(lambda: ToolAgent(wait), store).run(session, "me", "Hello")
        ) as events:
            async for event in events:
                if event.type == "tool_started":
                    at_work.set()
                    if way == "close":
                        return

    running = asyncio.create_task(run())
    await at_work.wait()
    if way == "cancel":
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    else:
        await running
    assert ended.is_set()
    assert said(await other.messages(session)) == ["Hello", CANCELLED]
    last = (await other.events(session))[-2:]
    assert [event.type for event in last] == ["turn_failed", "turn_ended"]
    assert last[0].data["type"] == "cancelled"
    events = await all_of(local_turns(lambda: ToolAgent(echo), other).run(session, "me", "On"))
    assert events[-2].data["content"] == "Re: On"


async def test_a_failing_model_is_an_unfinished_answer(store: SessionStore) -> None:
    session = (await store.create("me")).id
    agent = ScriptedAgent([scripted_call("echo", text="a"), ModelServerError("down")], echo)
    events = await all_of(local_turns(lambda: agent, store).run(session, "me", "Hello"))
    assert events[-2].type == "answer"
    assert not events[-2].data["finished"]
    assert "down" in events[-2].data["content"]
    Conversation.from_list(await store.messages(session))
    assert said(await store.messages(session))[-1] == events[-2].data["content"]


@pytest.mark.parametrize("where", ["factory", "run"])
async def test_an_unexpected_error_ends_the_turn_without_details(
    store: SessionStore, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    session = (await store.create("me")).id

    def factory() -> ScriptedAgent:
        if where == "factory":
            raise KeyError("/secret/path")
        return ScriptedAgent([KeyError("/secret/path")])

    events = await all_of(local_turns(factory, store).run(session, "me", "Hello"))
    assert [event.type for event in events] == ["turn_started", "turn_failed", "turn_ended"]
    assert events[1].data == {"type": "runtime_error", "message": FAILED}
    assert said(await store.messages(session)) == ["Hello", FAILED]
    assert "/secret/path" in caplog.text


async def test_an_agent_that_ends_without_a_result_is_a_failure(store: SessionStore) -> None:
    class Empty:
        model_name = "empty"

        async def stream(
            self,
            user_message: str,  # noqa: ARG002 - a method of the protocol
            conversation: Conversation | None = None,  # noqa: ARG002 - as above
        ) -> AsyncGenerator[Event, None]:
            return
            yield

    session = (await store.create("me")).id
    events = await all_of(local_turns(Empty, store).run(session, "me", "Hello"))
    assert [event.type for event in events] == ["turn_started", "turn_failed", "turn_ended"]


async def test_a_turn_that_cannot_begin_stores_nothing(store: SessionStore) -> None:
    session = (await store.create("me")).id
    turns = local_turns(lambda: ToolAgent(echo), store, turn_seconds=0.05)
    with pytest.raises(SessionNotFound):
        await all_of(turns.run(session, "you", "Hello"))
    with pytest.raises(MessageTooLong):
        await all_of(turns.run(session, "me", "x" * MAX_BYTES))
    assert await store.events(session) == []
    async with store.turn(session) as turn:
        with pytest.raises(SessionBusy):
            await all_of(turns.run(session, "me", "Hello"))
        await turn.finish()
    assert await store.messages(session) == []


async def test_a_deleted_session_stops_the_run(store: SessionStore, other: SessionStore) -> None:
    session = (await store.create("me")).id
    turns = local_turns(lambda: ToolAgent(echo), store)
    async with aclosing(turns.run(session, "me", "Hello")) as events:
        await anext(events)
        await other.delete("me", session)
        with pytest.raises(TurnLost):
            await all_of(events)


async def test_a_turn_that_was_taken_away_stops_its_tools(url: str, store: SessionStore) -> None:
    session = (await store.create("me")).id
    async with open_store(url, lease_seconds=0.5) as here:
        turns = local_turns(lambda: ToolAgent(hang), here)
        async with aclosing(turns.run(session, "me", "Hello")) as events:
            while (await anext(events)).type != "tool_started":
                pass
            await store.delete("me", session)
            with pytest.raises(TurnLost):  # nothing is written: the lease is not renewed any more
                await anext(events)


async def test_the_answers_numbers_are_checked_against_the_results(store: SessionStore) -> None:
    @dataclass
    class Reference:
        number: str

    @dataclass
    class Checked:
        references: tuple[Reference, ...]
        unverified: tuple[str, ...]

    def check(text: str, results: Any, question: str) -> Checked:
        assert (text, list(results), question) == ("Re: 12", [{"said": "12"}], "12")
        return Checked((Reference("12"),), ("13",))

    session = (await store.create("me")).id
    turns = local_turns(lambda: ToolAgent(echo), store, check=check)
    answer = (await all_of(turns.run(session, "me", "12")))[-2].data
    assert (answer["references"], answer["unverified"]) == ([{"number": "12"}], ["13"])


async def test_a_killed_process_breaks_its_turn_and_loses_nothing(
    url: str, store: SessionStore
) -> None:
    session = (await store.create("me")).id
    turns = local_turns(lambda: ToolAgent(echo), store)
    await all_of(turns.run(session, "me", "Before"))
    before = await store.messages(session)
    child = await start(url, session, "1.5", "hang")
    assert child.stdout is not None
    assert await child.stdout.readline() == b"at work\n"
    child.kill()
    await child.wait()
    events = await all_of(follow(store, session, "me", len(await store.events(session)) - 3))
    assert [event.type for event in events] == [
        "turn_started",
        "model_finished",
        "tool_started",
        "turn_failed",
        "turn_ended",
    ]
    assert events[3].data["type"] == "died"
    broken = [
        {"role": "user", "content": "hang 0"},
        {"role": "assistant", "content": DIED, "broken": True},
    ]
    assert await store.messages(session) == before + broken
    answer = (await all_of(turns.run(session, "me", "After")))[-2]
    assert answer.data["content"] == "Re: After"


async def test_two_processes_take_turns_at_one_session(url: str, store: SessionStore) -> None:
    session = (await store.create("me")).id
    child = await start(url, session, "30", "say", "5")
    assert child.stdout is not None
    await child.stdout.readline()
    turns = local_turns(lambda: ToolAgent(echo), store)
    for number in range(5):
        await all_of(turns.run(session, "me", f"here {number}"))
    await child.communicate()
    assert child.returncode == 0
    messages = said(await store.messages(session))
    asked = messages[::3]
    assert messages == [text for one in asked for text in (one, "", f"Re: {one}")]
    assert sorted(asked) == sorted(f"{who} {n}" for who in ("here", "say") for n in range(5))
    events = await store.events(session)
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert [event.turn for event in events] == sorted(event.turn for event in events)


@pytest.mark.timeout(240)
async def test_two_hundred_sessions_at_once(store: SessionStore) -> None:
    ids = [(await store.create("me")).id for _ in range(200)]
    turns = local_turns(lambda: ToolAgent(echo), store)
    await asyncio.gather(*(all_of(turns.run(one, "me", one)) for one in ids))
    for one in ids:
        assert said(await store.messages(one)) == [one, "", f"Re: {one}"]


async def test_a_turn_lives_longer_than_its_lease(url: str, store: SessionStore) -> None:
    session = (await store.create("me")).id
    child = await start(url, session, "10", "hang")
    assert child.stdout is not None
    await child.stdout.readline()
    leases: set[str] = set()
    while len(leases) < 3:  # renewed while nothing else happens
        last = await store._database.read(lambda connection: _lease(connection, session))
        leases.add(last)
        assert (await store.progress(session)).is_running
        await asyncio.sleep(0.05)
    child.kill()
    await child.wait()


def _lease(connection: Any, session: str) -> str:
    from skillian.storage.turn_rows import last_turn

    turn = last_turn(connection, session)
    assert turn is not None
    lease: str = turn.lease_until
    return lease


async def test_a_turn_that_was_left_to_others_is_cancelled(store: SessionStore) -> None:
    session = (await store.create("me")).id
    work = TurnWork(ToolAgent(echo), store)
    turns = LocalTurns(work)
    async with work.opened(session, "me", "Hello") as turn:
        await turn.hand_over(1000.0)
    await turns.cancel(session)
    events = await all_of(turns.run(session, "me", "Again"))
    assert events[-2].data["content"] == "Re: Again"
    assert said(await store.messages(session))[:2] == ["Hello", CANCELLED]


async def test_a_reader_sees_the_end_of_a_turn_that_was_cancelled(
    store: SessionStore, other: SessionStore
) -> None:
    session = (await store.create("me")).id
    for cancelling in (store, other):
        turns = local_turns(lambda: ToolAgent(hang), store)
        events = turns.run(session, "me", "Hello")
        while (await anext(events)).type != "tool_started":
            pass
        assert [turn.number for turn in await turns.list("me", 10)] == [
            await store.running_turn(session)
        ]
        await local_turns(lambda: ToolAgent(hang), cancelling).cancel(session)
        last = await all_of(events)
        assert [event.type for event in last] == ["turn_failed", "turn_ended"]
        assert last[0].data["type"] == "cancelled"
        assert await turns.list("me", 10) == []
