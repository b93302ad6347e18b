from __future__ import annotations

import pytest

from tinyagent import Message, Tool
from tinyagent.adapters import OpenAIStructuredAdapter, ParsedAdapter, ToolCallingAdapter
from tinyagent.core import MalformedReply, ModelResponse

adapter: ToolCallingAdapter = ParsedAdapter()


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


TOOLS = (Tool.from_function(add),)


@pytest.mark.parametrize("answer_only", [True, False])
def test_only_the_prompt_holds_the_form(*, answer_only: bool) -> None:
    form = adapter.format_request(TOOLS, {"type": "integer"}, answer_only=answer_only)
    structured = OpenAIStructuredAdapter().format_request(TOOLS, answer_only=answer_only)
    assert (form.tools, form.response_format) == ((), None)
    assert form.instructions == structured.instructions
    assert ("- add: Add two numbers." in form.instructions) is not answer_only


@pytest.mark.parametrize(
    "text",
    [
        '{"scratchpad": "", "tool": "add", "arguments": {"a": 1, "b": 2}}',
        'I will add.\n```json\n{"tool": "add", "arguments": {"a": 1, "b": 2}}\n```',
        '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>',
        "{'tool': 'add', 'arguments': {'a': 1, 'b': 2,},}",
        "So:\n{tool: add, arguments: {a: 1, b: 2}}",
    ],
)
def test_a_call_is_read_however_it_is_written(text: str) -> None:
    (call,) = adapter.extract_tool_calls(ModelResponse(text), TOOLS)
    assert (call.name, call.arguments, call.fault) == ("add", {"a": 1, "b": 2}, None)


def test_an_answer_is_read() -> None:
    response = ModelResponse("Here: {'scratchpad': 'done', 'answer': 'It is 3.'}")
    assert adapter.extract_tool_calls(response, TOOLS) == ()
    assert adapter.extract_answer(response) == "It is 3."


@pytest.mark.parametrize(
    "text", ["It is 3.", '{"tool": "add", "arguments": {"a": 1, "b": 2}', "{'answer': 'It is"]
)
def test_prose_and_what_is_cut_off_are_rejected(text: str) -> None:
    with pytest.raises(MalformedReply, match="contains no readable JSON object"):
        adapter.extract_tool_calls(ModelResponse(text), TOOLS)


def test_the_conversation_is_plain_text() -> None:
    message = Message("tool", "3", tool_call_id="1")
    assert list(adapter.format_messages([message])) == [Message("user", "Result of the tool:\n3")]
