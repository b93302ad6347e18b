from __future__ import annotations

import dataclasses
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent import (
    ConfigurationError,
    Memory,
    Message,
    ScriptedModel,
    ToolCall,
    UsageLimitReached,
)
from tinyagent.core import ModelServerError
from tinyagent.memory.items import SUMMARY_MARK
from tinyagent.memory.memory import MemoryManager
from tinyagent.memory.steps import ActionStep, ScratchpadStep, SystemPromptStep, TaskStep
from tinyagent.memory.summary import summarize


def _memory(turns: int) -> Memory:
    memory = Memory([Message("system", "be brief"), Message("user", "count the rooms")])
    for number in range(turns):
        memory.add("assistant", "", tool_calls=[ToolCall("a", "look", {"floor": number})])
        memory.add("tool", f"floor {number} has {number * 7} rooms", tool_call_id="a")
    return memory


async def test_what_is_old_becomes_a_summary_behind_the_task() -> None:
    memory = _memory(5)
    model = ScriptedModel(["Floors 0 to 2 have 21 rooms."])
    await memory.prune_async(summarize(model, keep=2, after=4))
    assert memory.messages[2] == Message("user", f"{SUMMARY_MARK}\nFloors 0 to 2 have 21 rooms.")
    assert memory.messages[:2] == _memory(0).messages
    assert memory.messages[3:] == _memory(5).messages[-4:]


async def test_the_model_is_shown_the_task_and_what_goes_and_nothing_else() -> None:
    model = ScriptedModel(["Seen."])
    await _memory(5).prune_async(summarize(model, keep=2, after=4))
    (request,) = model.requests
    shown = request.messages[-1].content
    assert "count the rooms" in shown
    assert 'called look({"floor": 2})' in shown
    assert "floor 2 has 14 rooms" in shown
    assert "floor 3" not in shown
    assert "4000 characters" in request.messages[0].content


async def test_few_items_cost_no_request() -> None:
    memory = _memory(4)
    model = ScriptedModel([])
    assert await memory.prune_async(summarize(model, keep=2, after=4)) == 0
    assert memory == _memory(4)
    assert model.requests == []


async def test_the_next_summary_takes_the_earlier_one_in() -> None:
    memory = _memory(5)
    model = ScriptedModel(["First.", "Second."])
    strategy = summarize(model, keep=1, after=3)
    await memory.prune_async(strategy)
    for message in _memory(3).messages[2:]:
        memory.add(
            message.role,
            message.content,
            tool_calls=message.tool_calls,
            tool_call_id=message.tool_call_id,
        )
    await memory.prune_async(strategy)
    assert f"{SUMMARY_MARK}\nFirst." in model.requests[1].messages[-1].content
    assert [m.content for m in memory.messages if m.role == "user"] == [
        "count the rooms",
        f"{SUMMARY_MARK}\nSecond.",
    ]


@pytest.mark.parametrize("answer", [ModelServerError("down"), "", " \n"])
async def test_without_a_summary_the_old_items_go_all_the_same(
    answer: str | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    memory = _memory(5)
    with caplog.at_level(logging.WARNING, "tinyagent"):
        await memory.prune_async(summarize(ScriptedModel([answer]), keep=2, after=4))
    assert memory.messages == (*_memory(5).messages[:2], *_memory(5).messages[-4:])
    assert "without a summary" in caplog.text


async def test_a_failure_does_not_cost_the_earlier_summary() -> None:
    memory = _memory(5)
    strategy = summarize(ScriptedModel(["First.", ModelServerError("down")]), keep=1, after=1)
    await memory.prune_async(strategy)
    memory.add("assistant", "on")
    await memory.prune_async(strategy)
    contents = [message.content for message in memory.messages]
    assert contents == ["be brief", "count the rooms", f"{SUMMARY_MARK}\nFirst.", "on"]


async def test_the_end_of_a_run_is_not_swallowed() -> None:
    memory = _memory(5)
    model = ScriptedModel([UsageLimitReached("no tokens left")])
    with pytest.raises(UsageLimitReached):
        await memory.prune_async(summarize(model, keep=2, after=4))
    assert memory == _memory(5)


async def test_steps_are_summarised_too() -> None:
    opening = [SystemPromptStep("be brief"), TaskStep("first"), TaskStep("latest")]
    actions = [ActionStep("", f"look({n})", "seen") for n in range(4)]
    manager = MemoryManager([*opening[:2], *actions[:2], opening[2], *actions[2:]])
    await manager.prune_async(summarize(ScriptedModel(["Seen."]), keep=1, after=2))
    assert manager.steps == (
        *opening[:2],
        ScratchpadStep(f"{SUMMARY_MARK}\nSeen."),
        opening[2],
        actions[3],
    )
    assert MemoryManager.from_list(manager.to_list()) == manager


@given(st.integers(min_value=100, max_value=5_000), st.integers(min_value=100, max_value=5_000))
async def test_request_and_summary_are_bounded(max_chars: int, input_chars: int) -> None:
    memory = Memory([Message("user", "go"), *(Message("assistant", "x" * 3_000),) * 3])
    model = ScriptedModel(["s" * 10_000])
    await memory.prune_async(
        summarize(model, keep=0, after=0, max_chars=max_chars, input_chars=input_chars)
    )
    assert len(model.requests[0].messages[-1].content) <= input_chars + 100
    assert len(memory.messages[1].content) <= max_chars + len(SUMMARY_MARK) + 1


async def test_a_run_can_put_its_own_model_in_place() -> None:
    own = ScriptedModel(["Own."])
    strategy = dataclasses.replace(summarize(ScriptedModel([]), keep=0, after=0), model=own)
    memory = _memory(1)
    await memory.prune_async(strategy)
    assert memory.messages[-1].text.endswith("Own.")


def test_numbers_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="must be 0 or more"):
        summarize(ScriptedModel([]), keep=-1)
