from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent import ConfigurationError, Message, ScriptedModel, scripted_call
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse

REQUEST = ModelRequest((Message("user", "hi"),))


async def test_answers_come_one_a_request() -> None:
    call = scripted_call("add", a=1)
    whole = ModelResponse("whole", finish_reason="length")
    model = ScriptedModel(["text", call, [call, call], whole])
    assert (await model.complete(REQUEST)).content == "text"
    assert (await model.complete(REQUEST)).tool_calls == (call,)
    assert (await model.complete(REQUEST)).tool_calls == (call, call)
    assert await model.complete(REQUEST) is whole
    assert model.requests == [REQUEST] * 4


async def test_an_exhausted_script_is_an_error_of_the_caller() -> None:
    with pytest.raises(ConfigurationError, match="ScriptedModel has no more answers"):
        await ScriptedModel([]).complete(REQUEST)


async def test_an_exception_in_the_script_is_raised() -> None:
    with pytest.raises(LookupError, match="mine"):
        await ScriptedModel([LookupError("mine")]).complete(REQUEST)


async def test_a_function_answers_depending_on_the_request() -> None:
    model = ScriptedModel(lambda request: request.messages[-1].text.upper())
    assert (await model.complete(REQUEST)).content == "HI"


def test_a_scripted_call_takes_its_arguments_as_keywords() -> None:
    call = scripted_call("add", call_id="1", a=1, name="x")
    assert (call.id, call.name, json.loads(call.arguments)) == ("1", "add", {"a": 1, "name": "x"})


@given(st.text())
async def test_the_streamed_pieces_are_the_whole(text: str) -> None:
    items = [item async for item in ScriptedModel([text]).stream(REQUEST)]
    last = items.pop()
    assert isinstance(last, ModelResponse)
    pieces = [item.text for item in items if isinstance(item, ModelDelta)]
    assert "".join(pieces) == last.content == text


def test_it_is_shown_by_its_name() -> None:
    assert repr(ScriptedModel([], name="planner")) == "ScriptedModel('planner')"
