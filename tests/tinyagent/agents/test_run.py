from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tinyagent import Event, Memory, Message, ScriptedModel, TextDelta, Tool, ToolCall, Usage
from tinyagent.agents.run import Run
from tinyagent.core import ModelDelta, ModelReplyError, ModelRequest, ModelResponse, RunControl
from tinyagent.models.base import Model

REQUEST = ModelRequest((Message("user", "go"),))


def hello() -> str:
    """Say hello."""
    return "hello"


def _run(model: Model, events: list[Event], *, streaming: bool = False) -> Run[Memory]:
    control = RunControl("go", 1, {}, emit=events.append)
    tools = {"hello": Tool.from_function(hello)}
    return Run(model, tools, (), control, Memory(), streaming=streaming)


async def test_a_model_call_is_an_event_and_its_usage_is_counted() -> None:
    events: list[Event] = []
    run = _run(ScriptedModel(lambda _: ModelResponse("hi", usage=Usage(1, 2, 3))), events)
    await run.call_model(REQUEST)
    await run.call_model(REQUEST)
    assert run.control.usage == Usage(2, 4, 6)
    assert [type(event).__name__ for event in events] == ["ModelRequested", "ModelResponded"] * 2


async def test_a_tool_call_is_an_event_with_its_result() -> None:
    events: list[Event] = []
    result = await _run(ScriptedModel([]), events).call_tool(ToolCall("1", "hello"))
    assert result.content == "hello"
    assert [type(event).__name__ for event in events] == ["ToolStarted", "ToolFinished"]


@pytest.mark.parametrize("streaming", [True, False])
async def test_pieces_of_text_come_only_where_somebody_listens(*, streaming: bool) -> None:
    events: list[Event] = []
    run = _run(ScriptedModel(["a b"]), events, streaming=streaming)
    assert (await run.call_model(REQUEST)).content == "a b"
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    assert pieces == (["a", " b"] if streaming else [])


class Breaking(ScriptedModel):
    """A model of somebody's own that forgets how a stream ends."""

    async def stream(
        self, _request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        yield ModelDelta("half")


async def test_a_stream_without_its_answer_is_an_error() -> None:
    run = _run(Breaking([], name="mine"), [], streaming=True)
    with pytest.raises(ModelReplyError, match="mine ended its stream without a complete answer"):
        await run.call_model(REQUEST)


def test_a_result_is_what_the_run_has_come_to() -> None:
    run = _run(ScriptedModel([]), [])
    assert run.result("error", None).output is None
    run.output = 3
    result = run.result("completed", None)
    assert (result.output, result.state, result.memory) == (3, "completed", run.memory)
