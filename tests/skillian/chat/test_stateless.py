from __future__ import annotations

import asyncio
from contextlib import aclosing

from tests.skillian.chat.turn_agents import ScriptedAgent, ToolAgent, echo, hang, local_turns
from tests.support.waits import soon

from skillian.chat.agent import Conversation
from skillian.chat.stateless import StatelessTurn
from skillian.chat.turns import FAILED
from skillian.storage import Draft, SessionStore
from tinyagent import tool
from tinyagent.core import ModelServerError


async def all_of(turn: StatelessTurn) -> list[Draft]:
    return [event async for event in turn.events()]


async def test_its_events_are_those_of_a_stored_turn(store: SessionStore) -> None:
    session = (await store.create("me")).id
    turns = local_turns(lambda: ToolAgent(echo), store)
    kept = [event async for event in turns.run(session, "me", "Hello 7")]
    events = await all_of(StatelessTurn(ToolAgent(echo), "Hello 7"))
    assert [event.type for event in events] == [event.type for event in kept[1:-1]]
    assert events[-1].data["content"] == "Re: Hello 7"
    assert events[-1].data["references"][0]["number"] == "7"


async def test_the_conversation_so_far_is_sent() -> None:
    agent = ScriptedAgent(["Oslo."])
    before = Conversation()
    before.add_user("Norway?")
    before.add_assistant("Yes.")
    turn = StatelessTurn(agent, "Its capital?", before)
    await all_of(turn)
    contents = [message.content for message in agent.model.requests[0].messages[1:]]
    assert contents == ["Norway?", "Yes.", "Its capital?"]
    assert turn.result is not None
    assert turn.result.state == "completed"
    assert len(before.messages) == 2


async def test_a_number_of_the_question_is_verified() -> None:
    [*_, answer] = await all_of(StatelessTurn(ScriptedAgent(["1003 has 5 rows."]), "And 1003?"))
    assert answer.data["unverified"] == ["5"]
    assert answer.data["references"][0]["number"] == "1003"


async def test_a_failing_model_is_an_answer_with_its_reason() -> None:
    turn = StatelessTurn(ScriptedAgent([ModelServerError("it is down")]), "Hello")
    [answer] = await all_of(turn)
    assert (answer.type, answer.data["finished"]) == ("answer", False)
    assert "it is down" in answer.data["content"]
    assert turn.result is not None
    assert turn.result.state == "error"


async def test_an_unexpected_error_shows_no_details() -> None:
    [failed] = await all_of(StatelessTurn(ScriptedAgent([LookupError("secret")]), "Hello"))
    assert (failed.type, failed.data["message"]) == ("turn_failed", FAILED)


async def test_leaving_early_cancels_the_run() -> None:
    cancelled = asyncio.Event()

    @tool(name="hang")
    async def waits(text: str) -> str:
        """Wait.

        Args:
            text: of no use.
        """
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return text

    async with aclosing(StatelessTurn(ToolAgent(waits), "Hello").events()) as events:
        assert [(await anext(events)).type for _ in range(2)] == ["model_finished", "tool_started"]
    await soon(cancelled.is_set)


async def test_a_cancelled_reader_cancels_the_run() -> None:
    turn = StatelessTurn(ToolAgent(hang), "Hello")
    started = asyncio.Event()

    async def read() -> None:
        async for _ in turn.events():
            started.set()

    reading = asyncio.create_task(read())
    await started.wait()
    reading.cancel()
    await asyncio.wait([reading], timeout=30)
    assert reading.cancelled()
    assert turn.result is None
