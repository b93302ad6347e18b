from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent import Tool
from tinyagent.adapters import NativeToolAdapter, ToolCallingAdapter
from tinyagent.core import MalformedReply, ModelResponse, RawToolCall

adapter: ToolCallingAdapter = NativeToolAdapter()


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


TOOLS = (Tool.from_function(add),)


def test_tools_are_declared_as_functions() -> None:
    assert adapter.format_request(TOOLS).tools == (
        {
            "type": "function",
            "function": {
                "name": "add",
                "description": "Add two numbers.",
                "parameters": TOOLS[0].json_schema,
            },
        },
    )


def test_no_tools_declare_nothing() -> None:
    assert adapter.format_request(()).tools == ()


def test_calls_keep_their_order_and_ids() -> None:
    response = ModelResponse(
        None, (RawToolCall("x", "add", '{"a": 1}'), RawToolCall("y", "sub", "{}"))
    )
    calls = adapter.extract_tool_calls(response, TOOLS)
    assert [(call.id, call.name, call.arguments) for call in calls] == [
        ("x", "add", {"a": 1}),
        ("y", "sub", {}),
    ]


def test_calls_of_one_id_get_different_ids() -> None:
    response = ModelResponse(None, (RawToolCall("x", "add", "{}"),) * 2)
    first, second = adapter.extract_tool_calls(response, TOOLS)
    assert first.id == "x"
    assert second.id.startswith("call_")


def test_text_is_an_answer() -> None:
    assert adapter.extract_tool_calls(ModelResponse("It is 3."), TOOLS) == ()


def test_text_next_to_calls_is_not_searched_for_more() -> None:
    written = '<tool_call>{"name": "add", "arguments": {}}</tool_call>'
    response = ModelResponse(written, (RawToolCall("x", "add", "{}"),))
    assert len(adapter.extract_tool_calls(response, TOOLS)) == 1


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_an_empty_reply_is_rejected_with_what_is_wanted(content: str | None) -> None:
    with pytest.raises(MalformedReply, match=r"empty\. Call a tool or give your answer"):
        adapter.extract_tool_calls(ModelResponse(content), TOOLS)
    with pytest.raises(MalformedReply, match=r"empty\. Give your answer"):
        adapter.extract_tool_calls(ModelResponse(content), ())


raw_calls = st.builds(RawToolCall, id=st.text(), name=st.text(), arguments=st.text())


@given(st.none() | st.text(), st.lists(raw_calls, max_size=4).map(tuple))
def test_any_reply_is_calls_or_an_answer_or_rejected(
    content: str | None, raw: tuple[RawToolCall, ...]
) -> None:
    try:
        calls = adapter.extract_tool_calls(ModelResponse(content, raw), TOOLS)
    except MalformedReply:
        assert not raw
        return
    assert len(calls) == len(raw) or not raw
    assert len({call.id for call in calls}) == len(calls)


def test_a_call_written_as_text_is_remembered_once() -> None:
    adapter = NativeToolAdapter()
    call = '{"name": "add", "arguments": {}}'
    written = ModelResponse(f"I will add.\n```json\n{call}\n```\nThen we see.")
    assert adapter.text_beside_calls(written) == "I will add."
    assert adapter.text_beside_calls(ModelResponse(f"<tool_call>{call}</tool_call>")) == ""
    assert adapter.text_beside_calls(ModelResponse(call)) == ""
    called = ModelResponse("I will add.", (RawToolCall("1", "add", "{}"),))
    assert adapter.text_beside_calls(called) == "I will add."
