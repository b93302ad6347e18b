from __future__ import annotations

import asyncio
import functools
import gc
import logging
import threading
from collections.abc import Generator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tinyagent import (
    ConfigurationError,
    InvalidFinalAnswer,
    Memory,
    Message,
    OpenAIModel,
    ReactAgent,
    RunContext,
    RunFinished,
    RunStarted,
    Sandbox,
    ScriptedModel,
    StepLimitReached,
    TextDelta,
    TinyCodeAgent,
    Tool,
    ToolDefinitionError,
    scripted_call,
    tool,
)
from tinyagent.agents import BaseAgent
from tinyagent.core import CallerError, ModelRefused, ModelRequest, ModelRequested
from tinyagent.prompts import CODE_SYSTEM, REACT_SYSTEM
from tinyagent.testing import MockServer


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def test_an_agent_takes_tools_and_typed_functions() -> None:
    assert set(BaseAgent([add, double])._tool_map) == {"add", "double"}
    assert BaseAgent()._tool_map == {}


@pytest.mark.parametrize("item", ["add", 5, None, int, functools.partial(add, 1)])
def test_what_is_not_a_tool_is_named_with_the_fix(item: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="is not a tool; pass a function with type hints"):
        BaseAgent([item])


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="two tools are called 'add'; rename one"):
        BaseAgent([add, Tool.from_function(double.fn, name="add")])


async def test_an_answer_ends_the_run() -> None:
    result = await ReactAgent(ScriptedModel(["blue"])).run("Which colour?")
    assert (str(result), result.output, result.state) == ("blue", "blue", "completed")
    assert (result.steps_taken, result.usage.requests, result.error) == (1, 1, None)
    assert result.duration_seconds >= 0
    assert result.final_answer is not None
    assert result.final_answer.source == "text"


async def test_the_conversation_is_system_task_answer() -> None:
    agent = ReactAgent(ScriptedModel(["blue"]), instructions="Be brief.")
    system, task, answer = (await agent.run("Which colour?")).memory.messages
    assert system.role == "system"
    assert system.text.endswith("\n\nBe brief.")
    assert (task, answer) == (Message("user", "Which colour?"), Message("assistant", "blue"))


@pytest.mark.parametrize("agent", [ReactAgent, TinyCodeAgent])
@pytest.mark.parametrize("has_file", [False, True])
async def test_instructions_are_added_to_the_prompt_that_a_file_may_replace(
    agent: Any, tmp_path: Path, *, has_file: bool
) -> None:
    file = tmp_path / "prompt.md"
    file.write_text("You are a clerk.")
    built_in = REACT_SYSTEM if agent is ReactAgent else CODE_SYSTEM
    model = ScriptedModel([""])
    options = {"prompt_file": file} if has_file else {}
    one = agent(model, [add], instructions="Be brief.", max_steps=1, **options)
    await one.run("go", return_result=True)
    system = model.requests[0].messages[0].text
    assert system.startswith("You are a clerk." if has_file else built_in)
    assert "Be brief." in system


@pytest.mark.parametrize("wrong", [["Be brief."], lambda _: "Be brief.", None])
def test_instructions_that_are_not_a_string_are_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="instructions must be str, got"):
        ReactAgent(ScriptedModel([]), instructions=wrong)


async def test_the_messages_of_a_result_are_its_conversation() -> None:
    result = await ReactAgent(ScriptedModel(["blue"])).run("Which colour?")
    assert [(each.role, each.text) for each in result.messages[1:]] == [
        ("user", "Which colour?"),
        ("assistant", "blue"),
    ]
    model = ScriptedModel(["```python\nprint(6 * 7)\n```", "```python\nfinal_answer('42')\n```"])
    coded = await TinyCodeAgent(model, sandbox=Sandbox(level="local")).run("Six times seven?")
    assert [each.role for each in coded.messages] == [
        *("system", "user", "assistant", "user"),
        *("assistant", "user"),
    ]
    assert "42" in coded.messages[3].text
    assert list(coded.messages[:4]) == list(model.requests[1].messages)


async def test_the_models_settings_go_with_each_request() -> None:
    model = ScriptedModel(["blue"])
    await ReactAgent(model, temperature=0.5, max_tokens=9).run("go")
    (request,) = model.requests
    assert (request.temperature, request.max_tokens) == (0.5, 9)


async def test_at_the_step_limit_the_error_carries_the_result() -> None:
    agent = ReactAgent(ScriptedModel(lambda _: ""), max_steps=5)
    with pytest.raises(StepLimitReached, match=r"no answer after 2 steps") as caught:
        await agent.run("go", max_steps=2)
    result = caught.value.result
    assert result is not None
    assert (result.state, result.steps_taken, result.output) == ("step_limit_reached", 2, None)
    assert (result.error, str(result)) == (caught.value, "")


async def test_at_the_step_limit_the_result_can_be_had_instead() -> None:
    agent = ReactAgent(ScriptedModel(lambda _: ""), max_steps=2)
    result = await agent.run("go", return_result=True)
    assert (result.state, result.steps_taken) == ("step_limit_reached", 2)


@pytest.mark.parametrize("max_steps", [0, -1])
async def test_a_run_without_a_step_is_a_mistake_of_the_caller(max_steps: int) -> None:
    agent = ReactAgent(ScriptedModel([]))
    with pytest.raises(ConfigurationError, match="max_steps must be 1 or more"):
        await agent.run("go", max_steps=max_steps)
    with pytest.raises(ConfigurationError, match="max_steps must be 1 or more"):
        await anext(agent.stream("go", max_steps=max_steps))
    with pytest.raises(ConfigurationError, match="max_steps must be 1 or more"):
        ReactAgent(ScriptedModel([]), max_steps=max_steps)


async def test_a_models_error_carries_the_result_too() -> None:
    with pytest.raises(ModelRefused) as caught:
        await ReactAgent(ScriptedModel([ModelRefused("no")])).run("go")
    assert caught.value.result is not None
    assert caught.value.result.state == "error"


async def test_memory_continues_and_the_earlier_result_stays_as_it_was() -> None:
    model = ScriptedModel(["blue", "red"])
    agent = ReactAgent(model)
    first = await agent.run("Which colour?")
    before = first.memory.to_list()
    second = await agent.run("Another?", memory=first.memory)
    assert first.memory.to_list() == before
    assert [message.content for message in second.memory.messages[1:]] == [
        "Which colour?",
        "blue",
        "Another?",
        "red",
    ]
    assert model.requests[1].messages == second.memory.messages[:-1]


async def test_memory_that_was_stored_continues_too() -> None:
    first = await ReactAgent(ScriptedModel(["blue"])).run("Which colour?")
    stored = Memory.from_list(first.memory.to_list())
    second = await ReactAgent(ScriptedModel(["red"])).run("Another?", memory=stored)
    assert len(second.memory) == 5


async def test_an_empty_memory_is_a_new_conversation() -> None:
    result = await ReactAgent(ScriptedModel(["blue"])).run("go", memory=Memory())
    assert [message.role for message in result.memory.messages] == ["system", "user", "assistant"]


async def test_a_typed_answer_goes_back_until_it_fits() -> None:
    model = ScriptedModel(["blue", '{"a": 1}', "[1, 2]"])
    result = await ReactAgent(model, output_type=list[int]).run("go")
    assert (result.output, result.steps_taken) == ([1, 2], 3)
    assert "does not match the required type" in model.requests[1].messages[-1].content
    assert "this JSON Schema: {" in model.requests[0].messages[0].content


@pytest.mark.parametrize("retries", [0, 2])
async def test_a_typed_answer_that_never_fits_ends_the_run(retries: int) -> None:
    model = ScriptedModel(lambda _: "blue")
    agent = ReactAgent(model, output_type=int, output_retries=retries)
    with pytest.raises(InvalidFinalAnswer, match=f"did not match its type in {retries + 1} tries"):
        await agent.run("go")
    assert len(model.requests) == retries + 1


def test_a_run_without_a_loop() -> None:
    assert ReactAgent(ScriptedModel(["blue"])).run_sync("go").output == "blue"


async def test_run_sync_inside_a_loop_names_what_to_do() -> None:
    agent = ReactAgent(ScriptedModel(["blue"]))
    with pytest.raises(CallerError, match=r"inside a running event loop; use: await agent\.run"):
        agent.run_sync("go")


@pytest.fixture
def address() -> Generator[str]:
    """The base URL of a server on its own loop, in a thread."""
    loop, server = asyncio.new_event_loop(), MockServer(["blue"])
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    yield server.base_url
    asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_one_model_serves_one_loop_after_another(address: str) -> None:
    agent = ReactAgent(OpenAIModel("m", base_url=address))
    assert [agent.run_sync("go").output for _ in range(3)] == ["blue"] * 3
    gc.collect()  # a connection left open would be an error now


async def test_one_agent_serves_many_runs_at_once_without_mixing_them() -> None:
    together = asyncio.Barrier(100)

    async def shout(text: str, run: RunContext) -> str:
        """Say it loud."""
        await together.wait()
        return f"{text.upper()} of {run.task}"

    def answer(request: ModelRequest) -> Any:
        task, *rest = [m.content for m in request.messages if m.role in {"user", "tool"}]
        return rest[0] if rest else scripted_call("shout", text=task)

    agent = ReactAgent(ScriptedModel(answer), [shout])
    results = await asyncio.gather(*(agent.run(f"task {n}") for n in range(100)))
    assert [r.output for r in results] == [f"TASK {n} of task {n}" for n in range(100)]
    assert {len(result.memory) for result in results} == {5}


async def test_a_stream_ends_with_its_result() -> None:
    events = [event async for event in ReactAgent(ScriptedModel(["It is blue."])).stream("go")]
    assert isinstance(events[0], RunStarted)
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["It", " is", " blue."]
    assert isinstance(events[-1], RunFinished)
    assert events[-1].result.output == "It is blue."


@pytest.mark.parametrize("error", [ValueError("odd"), KeyError("odd")])
async def test_a_stream_ends_with_its_result_whatever_the_error(error: Exception) -> None:
    events = ReactAgent(ScriptedModel([error])).stream("go")
    async for event in events:
        if isinstance(event, RunFinished):
            assert event.result.state == "error"
            break
    with pytest.raises(type(error)):
        await anext(events)


async def test_leaving_a_stream_early_ends_the_run_and_leaves_nothing_behind() -> None:
    before = asyncio.all_tasks()
    entered, left = asyncio.Event(), asyncio.Event()

    class Waiting(ScriptedModel):
        async def complete(self, _request: ModelRequest) -> Any:
            entered.set()
            try:
                await asyncio.Event().wait()
            finally:
                left.set()

    async with aclosing(ReactAgent(Waiting([])).stream("go")) as events:
        async for event in events:
            if isinstance(event, ModelRequested):
                await entered.wait()
                break
    assert left.is_set()
    assert asyncio.all_tasks() == before


async def test_what_a_run_does_is_logged_without_its_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="tinyagent")
    await ReactAgent(ScriptedModel(["a secret"])).run("a private task")
    assert [record.getMessage() for record in caplog.records] == [
        "step 1: asking scripted, 2 messages",
        "step 1: scripted answered (stop)",
    ]
