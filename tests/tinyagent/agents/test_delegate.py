from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from tinyagent import (
    ReactAgent,
    RunContext,
    ScriptedModel,
    ToolDefinitionError,
    ToolRetry,
    Usage,
    UsageLimits,
    scripted_call,
)
from tinyagent.core import ModelRefused, ModelResponse, RunControl


class Total(BaseModel):
    amount: int


def _asking(task: str) -> ScriptedModel:
    """An outer model that asks the expert once and gives back what it says."""
    return ScriptedModel(
        lambda request: (
            request.messages[-1].text
            if request.messages[-1].role == "tool"
            else scripted_call("expert", task=task)
        )
    )


async def test_an_agent_is_a_tool_that_takes_a_task_and_gives_its_answer() -> None:
    inner = ScriptedModel(["blue"])
    expert = ReactAgent(inner).as_tool("expert", "Knows colours.\n\nAll of them.")
    assert (expert.name, expert.doc) == ("expert", "Knows colours.\n\nAll of them.")
    assert expert.json_schema["properties"] == {
        "task": {"type": "string", "description": "What to do, in words."}
    }
    result = await ReactAgent(_asking("Which colour?"), [expert]).run("Find out")
    assert result.output == "blue"
    assert inner.requests[0].messages[-1].content == "Which colour?"


async def test_what_the_inner_run_used_counts_for_the_outer_run() -> None:
    inner = ScriptedModel([ModelResponse("blue", usage=Usage(1, 100, 10, 50))])
    expert = ReactAgent(inner).as_tool("expert", "Knows colours.")
    result = await ReactAgent(_asking("?"), [expert]).run("Find out")
    assert result.usage == Usage(3, 100, 10, 50)


async def test_what_the_inner_run_used_counts_against_the_outer_limits() -> None:
    inner = ScriptedModel([ModelResponse("blue", usage=Usage(1, 100, 10))])
    expert = ReactAgent(inner).as_tool("expert", "Knows colours.")
    limits = UsageLimits(total_tokens=100)
    agent = ReactAgent(_asking("?"), [expert], middleware=[limits])
    result = await agent.run("Find out", return_result=True)
    assert result.state == "usage_limit_reached"
    assert "110 of 100" in str(result.error)


@pytest.mark.parametrize(
    ("inner", "reason"),
    [
        (ReactAgent(ScriptedModel(lambda _: ""), max_steps=2), "no answer after 2 steps"),
        (ReactAgent(ScriptedModel(lambda _: ModelRefused("no such model"))), "no such model"),
    ],
    ids=["a limit", "a server"],
)
async def test_an_inner_run_without_an_answer_is_reported_with_its_reason(
    inner: ReactAgent[str], reason: str
) -> None:
    expert = inner.as_tool("expert", "Knows colours.")
    result = await ReactAgent(_asking("?"), [expert]).run("Find out")
    assert str(result).startswith(f"Try again: expert found no answer: {reason}")


async def test_a_failed_inner_run_is_counted_too() -> None:
    run = RunControl("go", 1, {})
    inner = ReactAgent(ScriptedModel(lambda _: ""), max_steps=2)
    with pytest.raises(ToolRetry):
        await inner.as_tool("expert", "Knows colours.").run({"task": "?"}, run.context)
    assert run.usage.requests == 2


async def test_a_typed_answer_is_given_as_json() -> None:
    inner = ReactAgent(ScriptedModel(['{"amount": 5}']), output_type=Total)
    expert = inner.as_tool("expert", "Adds up.")
    result = await ReactAgent(_asking("?"), [expert]).run("Find out")
    assert result.output == '{"amount":5}'


def test_an_agent_without_a_description_cannot_be_a_tool() -> None:
    with pytest.raises(ToolDefinitionError, match="tool 'expert' has no description; say what"):
        ReactAgent(ScriptedModel([])).as_tool("expert", " ")


def test_a_description_is_passed_on_word_for_word() -> None:
    said = "Knows colours.\n\nReturns:\n    the nearest\nWarning:\n    slow"
    assert ReactAgent(ScriptedModel([])).as_tool("expert", said).doc == said


async def test_cancelling_the_outer_run_cancels_the_inner_one() -> None:
    entered, left = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        """Wait for ever."""
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    before = asyncio.all_tasks()
    inner = ReactAgent(ScriptedModel([scripted_call("wait")]), [wait])
    outer = ReactAgent(_asking("?"), [inner.as_tool("expert", "Waits.")])
    run = asyncio.create_task(outer.run("Find out"))
    await entered.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert left.is_set()
    assert asyncio.all_tasks() == before


async def test_inner_runs_side_by_side_do_not_mix() -> None:
    together = asyncio.Barrier(10)

    async def meet(run: RunContext) -> str:
        """Meet the others."""
        await together.wait()
        return run.task

    inner = ScriptedModel(
        lambda r: r.messages[-1].text if r.messages[-1].role == "tool" else scripted_call("meet")
    )
    expert = ReactAgent(inner, [meet]).as_tool("expert", "Meets.")
    calls = [scripted_call("expert", task=f"task {n}") for n in range(10)]
    result = await ReactAgent(ScriptedModel([calls, "done"]), [expert]).run("go")
    assert [r.content for r in result.steps[0].results] == [f"task {n}" for n in range(10)]
    assert result.usage.requests == 22
