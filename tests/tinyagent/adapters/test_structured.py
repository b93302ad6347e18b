from __future__ import annotations

import json

import pytest

from tinyagent import Message, Tool, ToolCall
from tinyagent.adapters import OpenAIStructuredAdapter, ToolCallingAdapter
from tinyagent.adapters.structured import action_schema
from tinyagent.core import MalformedReply, ModelResponse, RawToolCall

adapter: ToolCallingAdapter = OpenAIStructuredAdapter()


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


TOOLS = (Tool.from_function(add),)
ARGUMENTS = '{"a": 1, "b": 2}'
CALL = f'{{"scratchpad": "", "tool": "add", "arguments": {ARGUMENTS}}}'
NATIVE = RawToolCall("x", "add", ARGUMENTS)


def test_the_server_gets_the_schema_and_the_model_the_tools_in_words() -> None:
    form = adapter.format_request(TOOLS, {"type": "integer"})
    assert form.tools == ()
    assert form.response_format == {
        "type": "json_schema",
        "json_schema": {"name": "action", "schema": action_schema(TOOLS, {"type": "integer"})},
    }
    assert "- add: Add two numbers." in form.instructions
    assert 'Reply with one JSON object only: {"scratchpad"' in form.instructions


def test_where_only_an_answer_is_wanted_the_schema_admits_no_call() -> None:
    form = adapter.format_request(TOOLS, answer_only=True)
    assert form.response_format is not None
    assert form.response_format["json_schema"]["schema"] == action_schema((), None)
    assert '"tool"' not in form.instructions


def test_the_conversation_has_no_function_calls() -> None:
    messages = [
        Message("assistant", CALL, (ToolCall("1", "add", {"a": 1, "b": 2}),)),
        Message("tool", "3", tool_call_id="1"),
    ]
    assert list(adapter.format_messages(messages)) == [
        Message("assistant", CALL),
        Message("user", "Result of add:\n3"),
    ]


@pytest.mark.parametrize(
    "response",
    [
        ModelResponse(CALL),
        ModelResponse(f"Let me add.\n```json\n{CALL}\n```"),
        ModelResponse(None, (NATIVE,)),
        ModelResponse(" \n", (NATIVE,)),
        ModelResponse("Let me add.", (NATIVE,)),
        ModelResponse(CALL, (RawToolCall("x", "other", "{}"),)),
    ],
)
def test_a_call_is_read_and_given_an_id(response: ModelResponse) -> None:
    (call,) = adapter.extract_tool_calls(response, TOOLS)
    assert call == ToolCall(call.id, "add", {"a": 1, "b": 2})
    assert call.id.startswith("call_")


@pytest.mark.parametrize("answer", ["It is 3.", 3, {"total": 3}])
def test_an_answer_is_not_a_call_and_is_read_as_text(answer: object) -> None:
    response = ModelResponse(json.dumps({"scratchpad": "", "answer": answer}))
    assert adapter.extract_tool_calls(response, TOOLS) == ()
    assert adapter.extract_answer(response) in {"It is 3.", "3", '{"total": 3}'}


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_an_empty_reply_is_rejected_with_what_is_wanted(content: str | None) -> None:
    with pytest.raises(MalformedReply, match=r"Your reply was empty\. Reply with one JSON"):
        adapter.extract_tool_calls(ModelResponse(content), TOOLS)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (ModelResponse("It is 3."), "contains no readable JSON object. Reply with one"),
        (ModelResponse(CALL[:-1], finish_reason="length"), "object. It looks cut off. Reply"),
        (ModelResponse('{"plan": "think"}'), 'neither "tool" nor "answer" (its keys: plan)'),
    ],
)
def test_what_is_not_an_action_is_rejected_with_the_reason(
    response: ModelResponse, message: str
) -> None:
    with pytest.raises(MalformedReply) as caught:
        adapter.extract_tool_calls(response, TOOLS)
    assert message in str(caught.value)


def test_an_empty_answer_is_rejected() -> None:
    response = ModelResponse('{"scratchpad": "", "answer": " "}')
    assert adapter.extract_tool_calls(response, TOOLS) == ()
    with pytest.raises(MalformedReply, match="Your answer is empty"):
        adapter.extract_answer(response)


@pytest.mark.parametrize("depth", [150, *range(900, 1_000), 5_000])
def test_no_depth_of_nesting_breaks_it(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    reply = ModelResponse(f'{{"tool": "add", "arguments": {{"a": {deep}}}}}')
    try:
        (call,) = adapter.extract_tool_calls(reply, TOOLS)
    except MalformedReply:
        return
    assert call.fault is not None
