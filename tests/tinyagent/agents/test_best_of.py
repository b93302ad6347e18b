from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tinyagent import RunResult, Sandbox, ScriptedModel, TinyCodeAgent
from tinyagent.agents import NoCandidatePassed
from tinyagent.core import CallerError, ConfigurationError
from tinyagent.execution import ProcessExecutor


@pytest.fixture
async def executor() -> AsyncGenerator[ProcessExecutor]:
    async with ProcessExecutor() as made:
        await made.run("rows = [3, 1, 2]\nopen('file', 'w').write('text')")
        yield made


def answering(*answers: object) -> ScriptedModel:
    """One request for each candidate, in the order in which they ask."""
    return ScriptedModel([f"```python\nfinal_answer({each!r})\n```" for each in answers])


def agent_with(model: ScriptedModel, **options: Any) -> TinyCodeAgent[int]:
    return TinyCodeAgent(model, output_type=int, **options)


async def test_a_function_chooses_the_answer_that_is_right() -> None:
    agent = agent_with(answering(1, 4, 3))
    best = await agent.best_of("Four?", 3, lambda result: result.output == 4)
    assert best.output == 4
    assert best.usage.requests == 3
    assert sorted(each.output for each in best.candidates) == [1, 3, 4]
    assert sorted(best.scores, key=str) == [1.0, None, None]


async def test_the_highest_score_wins_and_the_first_of_several() -> None:
    async def score(result: RunResult[int]) -> float:
        return -abs(result.output - 10)

    best = await agent_with(answering(7, 12, 8)).best_of("Ten?", 3, score)
    at = [number for number, each in enumerate(best.scores) if each == -2.0]
    assert len(at) == 2
    assert best.chosen is best.candidates[at[0]]


async def test_a_test_runs_where_the_code_of_the_candidate_ran(executor: ProcessExecutor) -> None:
    replies = [f"```python\nmine = rows[{at}]\nfinal_answer(mine)\n```" for at in range(3)]
    agent = agent_with(ScriptedModel(replies), executor=executor)
    test = "assert answer == mine == max(rows)\nassert open('file').read() == 'text'"
    best = await agent.best_of("The largest?", 3, test)
    assert best.output == 3
    assert [score for score in best.scores if score is not None] == [1.0]
    assert (await executor.run("rows")).value == [3, 1, 2]  # the executor that was given goes on
    assert (await executor.run("mine")).error is not None


async def test_the_last_value_of_a_test_is_the_score(executor: ProcessExecutor) -> None:
    agent = agent_with(answering(1, 5, 3), executor=executor)
    best = await agent.best_of("Any.", 3, "False if answer == 5 else answer * 1.5")
    assert best.output == 3
    assert sorted(best.scores, key=str) == [1.5, 4.5, None]


async def test_a_typed_answer_reaches_the_test_as_data() -> None:
    replies = ["```python\nfinal_answer({'name': 'Ann', 'amount': 2})\n```"]
    agent = TinyCodeAgent(ScriptedModel(replies), output_type=dict[str, Any])
    best = await agent.best_of("Who?", 1, "answer['name'] == 'Ann'")
    assert best.output == {"name": "Ann", "amount": 2}


async def test_files_of_the_agent_are_there_for_each_candidate(tmp_path: Any) -> None:
    (tmp_path / "number.txt").write_text("5")
    replies = ["```python\nfinal_answer(int(open('number.txt').read()))\n```"] * 2
    agent = agent_with(ScriptedModel(replies), sandbox=Sandbox(files=[tmp_path / "number.txt"]))
    best = await agent.best_of("The number?", 2, lambda result: result.output == 5)
    assert best.scores == (1.0, 1.0)
    assert best.chosen is best.candidates[0]


async def test_when_none_passes_the_results_are_in_the_error() -> None:
    model = ScriptedModel(["```python\nfinal_answer(1)\n```", "```python\n1\n```"])
    with pytest.raises(NoCandidatePassed, match="none of 2 candidates passes") as raised:
        await agent_with(model, max_steps=1).best_of("Two?", 2, lambda _: False)
    states = {each.state for each in raised.value.candidates}
    assert states == {"completed", "step_limit_reached"}
    assert "the check refused its answer" in str(raised.value)
    assert "no answer after 1 steps" in str(raised.value)


async def test_candidates_differ_by_their_temperature(executor: ProcessExecutor) -> None:
    model = answering(1, 2, 3)
    agent = agent_with(model, executor=executor)
    await agent.best_of("Any.", 2, lambda _: True)
    await agent.run("Any.")
    assert [request.temperature for request in model.requests] == [0.8, 0.8, None]


@pytest.mark.parametrize("given", ["yes", None, float("nan"), [1]])
async def test_a_check_that_gives_something_else_is_an_error(given: Any) -> None:
    with pytest.raises(CallerError, match="the check must give a bool or a number"):
        await agent_with(answering(1)).best_of("One?", 1, lambda _: given)


async def test_an_error_of_the_check_is_raised_and_nothing_runs_on(
    executor: ProcessExecutor,
) -> None:
    def check(result: RunResult[int]) -> bool:
        raise LookupError(result.output)

    with pytest.raises(LookupError):
        await agent_with(answering(1, 2), executor=executor).best_of("One?", 2, check)
    assert (await executor.run("rows")).value == [3, 1, 2]
    assert len(await executor.fork(31)) == 31  # the branches of the candidates are closed


async def test_a_cancelled_choice_ends_its_candidates(executor: ProcessExecutor) -> None:
    model = ScriptedModel(["```python\nimport time\ntime.sleep(60)\n```"] * 2)
    agent = agent_with(model, executor=executor)
    choice = asyncio.create_task(agent.best_of("Sleep.", 2, lambda _: True))
    while len(model.requests) < 2:  # noqa: ASYNC110 - the model has no event for it
        await asyncio.sleep(0.01)
    choice.cancel()
    with pytest.raises(asyncio.CancelledError):
        await choice
    assert (await executor.run("rows")).value == [3, 1, 2]


async def test_what_cannot_branch_is_refused(executor: ProcessExecutor) -> None:
    class Plain:
        """An executor without branches."""

    with pytest.raises(ConfigurationError, match="n must be 1 or more"):
        await agent_with(answering(1)).best_of("One?", 0, lambda _: True)
    agent = TinyCodeAgent(answering(1), executor=Plain())  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"no fork\(n\)"):
        await agent.best_of("One?", 2, lambda _: True)
    async with ProcessExecutor(Sandbox(checkpoints=0)) as alone:
        with pytest.raises(ConfigurationError, match="checkpoints=0"):
            await agent_with(answering(1), executor=alone).best_of("One?", 2, lambda _: True)
