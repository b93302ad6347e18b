"""What a code agent keeps in mind: notes, long outputs, earlier runs, and what it may forget."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from tests.support.coding import block, coder, each_level, observed

from tinyagent import Sandbox, ScriptedModel, TinyCodeAgent, TrustLevel, tool
from tinyagent.agents.code_observation import FINISH
from tinyagent.core import ModelContextTooLong, ModelRequest
from tinyagent.memory import (
    ActionStep,
    MemoryManager,
    Step,
    TaskStep,
    keep_last_n_steps,
    keep_system_and_recent,
    no_pruning,
    prune_old_observations,
    summarize,
    token_budget,
)


@each_level
async def test_notes_are_shown_in_the_requests_that_follow(level: TrustLevel) -> None:
    model = coder(
        "store('rate', 0.19)\nobserve('the table has gaps')\nfail('reading page 2')",
        "print(recall('rate'), recall('nothing', 'a default'))",
        "final_answer('ok')",
    )
    await TinyCodeAgent(model, sandbox=Sandbox(level=level)).run("go")
    notes = "- stored: rate = 0.19\n- observed: the table has gaps\n- failed: reading page 2"
    assert observed(model, 1) == f"(no output)\nNoted:\n{notes}"
    assert observed(model, 2) == "0.19 a default"


async def test_notes_never_change_what_was_sent() -> None:
    model = coder(
        *(f"store('key {n % 3}', {n})\nobserve('saw {n}')" for n in range(6)), "final_answer(1)"
    )
    await TinyCodeAgent(model, sandbox=Sandbox(level="local")).run("go")
    for before, after in pairwise(request.messages for request in model.requests):
        assert after[: len(before)] == before


async def test_notes_outlive_the_steps_that_made_them() -> None:
    model = coder(
        "store('rate', 0.19)", "print(1)", "print(2)", "store('vat', 7)", "final_answer(1)"
    )
    agent = TinyCodeAgent(model, sandbox=Sandbox(level="local"), prune=keep_last_n_steps(1))
    await agent.run("go")
    shown = ["\n".join(message.text for message in request.messages) for request in model.requests]
    assert [text.count("rate = 0.19") for text in shown[1:]] == [1, 1, 1, 1]
    assert shown[2].count("Your notes so far, oldest first:\n- stored: rate = 0.19") == 1
    assert "- stored: vat = 7" in shown[4]


@each_level
async def test_notes_are_the_runs_own(level: TrustLevel) -> None:
    model = coder("store('key', 1)\nfinal_answer(1)", "final_answer(recall('key', 'nothing'))")
    agent = TinyCodeAgent(model, sandbox=Sandbox(level=level))
    await agent.run("one")
    assert (await agent.run("two")).output == "nothing"


@each_level
async def test_a_wrong_note_is_an_error_of_the_code(level: TrustLevel) -> None:
    model = coder("store(1, 2)", "final_answer('ok')")
    assert (await TinyCodeAgent(model, sandbox=Sandbox(level=level)).run("go")).output == "ok"
    assert "the key must be a string, got int" in observed(model)


@each_level
async def test_a_long_output_is_cut_and_can_be_read_on(level: TrustLevel) -> None:
    def answer(request: ModelRequest) -> str:
        last = request.messages[-1].text
        if len(request.messages) == 2:
            return block("for number in range(9_000):\n    print(number, end=' ')")
        handle = re.search(r'read_result\(handle="(\w+)", offset=(\d+)\)', last)
        if handle:
            return block(f"page = {handle[0]}\nprint(page['text'][:40])")
        return block("final_answer(page)")

    model = ScriptedModel(answer)
    result = await TinyCodeAgent(model, sandbox=Sandbox(level=level), output_type=dict).run("go")
    first = observed(model, 1)
    assert len(first) < 10_500
    whole = "".join(f"{number} " for number in range(9_000))
    assert first.startswith(whole[:5_000])
    assert first.endswith(whole.rstrip("\n")[-5_000:])
    assert "characters are left out here; read them with read_result(" in first
    assert observed(model, 2) == whole[5_000:5_040]
    assert result.output["text"] == whole[5_000:15_000]
    assert result.output["next_offset"] == 15_000


@each_level
async def test_a_long_error_is_bounded_too(level: TrustLevel) -> None:
    model = coder("raise ValueError('x' * 50_000)", "final_answer('ok')")
    await TinyCodeAgent(model, sandbox=Sandbox(level=level)).run("go")
    assert "ValueError" in observed(model)
    assert len(observed(model)) < 12_000


async def test_read_result_is_renamed_where_a_tool_has_the_name() -> None:
    @tool
    def read_result(number: int) -> str:
        """Read a result of the user's own."""
        return f"own {number}"

    model = coder("print('y' * 30_000)", "final_answer(read_result(1))")
    assert (await TinyCodeAgent(model, [read_result]).run("go")).output == "own 1"
    assert 'read_cut_off_result(handle="' in observed(model)


@each_level
async def test_a_conversation_continues_with_the_memory_of_an_earlier_result(
    level: TrustLevel,
) -> None:
    model = coder("print('seen')", "final_answer('first')", "final_answer('second')")
    agent = TinyCodeAgent(model, sandbox=Sandbox(level=level))
    first = await agent.run("one")
    second = await agent.run("two", memory=first.memory)
    assert [step.kind for step in second.memory.steps] == [
        "system", "task", "action", "action", "task", "action",
    ]  # fmt: skip
    messages = [message.text for message in model.requests[-1].messages]
    assert messages[1] == "one"
    assert messages[3].startswith("Observation:\nseen")
    assert messages[-1] == "two"
    assert len(first.memory) == 4  # the earlier memory is not touched


async def test_a_memory_survives_json_in_between() -> None:
    agent = TinyCodeAgent(coder("commit('yes')\nfinal_answer('first')", "final_answer('second')"))
    first = await agent.run("one")
    restored = MemoryManager.from_list(first.memory.to_list())
    assert restored == first.memory
    assert (await agent.run("two", memory=restored)).output == "second"


async def test_an_agent_can_begin_with_its_own_steps() -> None:
    shown = MemoryManager([TaskStep("an example"), ActionStep("", "print(1)", "1")])
    model = coder("final_answer(1)", "final_answer(2)", "final_answer(3)")
    agent = TinyCodeAgent(model, memory_manager=shown)
    await agent.run("go")
    assert [message.text for message in model.requests[0].messages][1] == "an example"
    assert len(shown) == 2
    await agent.run("go", memory=MemoryManager())
    assert [message.text for message in model.requests[1].messages][1:] == ["go"]


STRATEGIES = {
    "no_pruning": (no_pruning, 6),
    "keep_last_n_steps": (keep_last_n_steps(2), 2),
    "keep_system_and_recent": (keep_system_and_recent(3), 3),
    "prune_old_observations": (prune_old_observations(1, 100), 6),
    "token_budget": (token_budget(800), None),
}


@pytest.mark.parametrize(("prune", "kept"), STRATEGIES.values(), ids=STRATEGIES.keys())
async def test_steps_are_pruned_before_each_request(prune: Any, kept: int | None) -> None:
    model = coder(*[f"print('{letter}' * 600)" for letter in "abcdef"], "final_answer('done')")
    result = await TinyCodeAgent(model, prune=prune).run("the task")
    assert result.output == "done"
    assert len(result.steps) == 7
    contents = [message.text for message in model.requests[-1].messages]
    assert contents[0] == result.memory.to_messages()[0].content
    assert contents[1] == "the task"
    assert contents[-1] == "Observation:\n" + "f" * 600
    codes = [text for text in contents if text.startswith("```python")]
    if kept is not None:
        assert len(codes) == kept
    if prune is not no_pruning:
        assert "a" * 600 not in "".join(contents)


async def test_a_strategy_may_be_awaited() -> None:
    async def newest_only(steps: Sequence[Step]) -> Sequence[Step]:
        await asyncio.sleep(0)
        return steps[-1:]

    newest: Any = newest_only
    model = coder("print(1)", "print(2)", "final_answer(3)")
    await TinyCodeAgent(model, prune=newest).run("go")
    assert [message.text for message in model.requests[-1].messages][1:] == [
        "go",
        "```python\nprint(2)\n```",
        f"Observation:\n2\n{FINISH}",
    ]


async def test_older_steps_may_be_summed_up_by_a_model() -> None:
    summary: Any = summarize(ScriptedModel(["1 and 2 were printed."]), keep=1, after=2)
    model = coder("print(1)", "print(2)", "print(3)", "final_answer(4)")
    await TinyCodeAgent(model, prune=summary).run("go")
    contents = [message.text for message in model.requests[-1].messages][1:]
    assert contents[0] == "go"
    assert "1 and 2 were printed." in contents[1]
    assert contents[2:] == ["```python\nprint(3)\n```", f"Observation:\n3\n{FINISH}"]


@each_level
async def test_a_conversation_that_is_too_long_is_shortened_once(level: TrustLevel) -> None:
    codes = iter(["print('a' * 9_000)", "print('b' * 9_000)", "final_answer('read')"])

    def answer(request: ModelRequest) -> str | Exception:
        size = sum(len(message.content) for message in request.messages)
        return ModelContextTooLong("too long") if size > 15_000 else block(next(codes))

    model = ScriptedModel(answer)
    result = await TinyCodeAgent(model, sandbox=Sandbox(level=level)).run("go")
    assert result.output == "read"
    assert len(model.requests) == 4
    contents = [message.text for message in model.requests[-1].messages]
    assert contents[1] == "go"
    assert "a" * 9_000 not in "".join(contents)


async def test_a_second_refusal_ends_the_run() -> None:
    def answer(request: ModelRequest) -> str | Exception:
        return (
            block("print('a' * 9_000)")
            if len(request.messages) == 2
            else ModelContextTooLong("too long")
        )

    result = await TinyCodeAgent(ScriptedModel(answer)).run("go", return_result=True)
    assert isinstance(result.error, ModelContextTooLong)
    assert result.state == "error"
