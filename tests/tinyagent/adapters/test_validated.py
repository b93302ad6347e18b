from __future__ import annotations

import pytest

from tinyagent import Message, Tool, ToolCall
from tinyagent.adapters import (
    NativeToolAdapter,
    ParsedAdapter,
    ToolCallingAdapter,
    ValidatedAdapter,
)
from tinyagent.core import MalformedReply, ModelResponse, RawToolCall

adapter: ToolCallingAdapter = ValidatedAdapter(NativeToolAdapter())


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


TOOLS = (Tool.from_function(add),)


def _extract(name: str, arguments: str) -> ToolCall:
    response = ModelResponse(None, (RawToolCall("1", name, arguments),))
    (call,) = adapter.extract_tool_calls(response, TOOLS)
    return call


def test_a_right_call_is_left_as_it_is() -> None:
    assert _extract("add", '{"a": 1, "b": "2"}') == ToolCall("1", "add", {"a": 1, "b": "2"})


def test_wrong_arguments_are_reported_field_by_field() -> None:
    call = _extract("add", '{"a": "one", "c": 3}')
    assert call.arguments == {"a": "one", "c": 3}
    assert call.fault is not None
    head, *faults = call.fault.splitlines()
    assert head == "wrong arguments:"
    assert faults[0].startswith("a: Input should be a valid integer")
    assert faults[0].endswith("got 'one'")
    assert faults[1:] == ["b: required, but missing", "c: there is no such argument"]


def test_only_the_wrong_one_of_several_calls_has_a_fault() -> None:
    raw = (RawToolCall("1", "add", '{"a": 1}'), RawToolCall("2", "add", '{"a": 1, "b": 2}'))
    calls = adapter.extract_tool_calls(ModelResponse(None, raw), TOOLS)
    assert [call.fault is None for call in calls] == [False, True]


def test_an_earlier_fault_and_an_unknown_tool_are_left_to_the_call() -> None:
    assert "not valid JSON" in (_extract("add", '{"a": ').fault or "")
    assert _extract("sub", "{}").fault is None


def test_all_else_is_as_in_the_wrapped_adapter() -> None:
    base = ParsedAdapter()
    wrapped = ValidatedAdapter(base)
    messages = [Message("tool", "3", tool_call_id="1")]
    answer = ModelResponse('{"answer": "3"}')
    schema = {"type": "integer"}
    assert wrapped.format_messages(messages) == base.format_messages(messages)
    for only in (True, False):
        assert wrapped.format_request(TOOLS, schema, answer_only=only) == base.format_request(
            TOOLS, schema, answer_only=only
        )
    assert wrapped.extract_tool_calls(answer, TOOLS) == ()
    assert wrapped.extract_answer(answer) == "3"
    assert wrapped.text_beside_calls(answer) == base.text_beside_calls(answer) == answer.content
    with pytest.raises(MalformedReply):
        wrapped.extract_tool_calls(ModelResponse("prose"), TOOLS)
