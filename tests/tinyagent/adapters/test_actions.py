from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, create_model

from tinyagent import Message, Tool, ToolCall
from tinyagent.adapters.structured import (
    action_schema,
    answer_text,
    as_plain_messages,
    describe_tools,
    read_action,
)
from tinyagent.core import MalformedReply


def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


def _taking(item: type[BaseModel], name: str) -> Tool:
    def take(items: Any) -> None:
        """Take items."""

    take.__annotations__["items"] = list[item]  # type: ignore[valid-type]
    return Tool.from_function(take, name=name)


FLAT = create_model("Item", name=(str, ...))
OTHER = create_model("Item", parts=(list[int], ...))
ADD = Tool.from_function(add)
ACTION = {"scratchpad": "", "tool": "add", "arguments": {"a": 1}}


def test_a_schema_admits_a_call_of_each_tool_and_an_answer() -> None:
    schema = action_schema([ADD, Tool.from_function(add, name="plus")], {"type": "integer"})
    calls, answer = schema["anyOf"][:-1], schema["anyOf"][-1]
    assert [call["properties"]["tool"] for call in calls] == [{"const": "add"}, {"const": "plus"}]
    assert calls[0]["properties"]["arguments"] == ADD.json_schema
    assert calls[0]["required"] == ["scratchpad", "tool", "arguments"]
    assert answer["properties"]["answer"] == {"type": "integer"}
    assert {option["additionalProperties"] for option in schema["anyOf"]} == {False}


def test_without_tools_there_is_only_an_answer() -> None:
    assert action_schema((), None)["properties"]["answer"] == {"type": "string"}


def test_definitions_stand_at_the_root_where_references_point() -> None:
    schema = action_schema([_taking(FLAT, "take")], None)
    assert schema["$defs"]["Item"]["properties"] == {"name": {"type": "string"}}
    arguments = schema["anyOf"][0]["properties"]["arguments"]
    assert "$defs" not in arguments
    assert arguments["properties"]["items"]["items"] == {"$ref": "#/$defs/Item"}


def test_definitions_of_one_name_stay_distinct() -> None:
    tools = [_taking(FLAT, "one"), _taking(FLAT, "same"), _taking(OTHER, "other")]
    schema = action_schema(tools, None)
    references = [
        option["properties"]["arguments"]["properties"]["items"]["items"]["$ref"]
        for option in schema["anyOf"][:-1]
    ]
    assert references == ["#/$defs/Item", "#/$defs/Item", "#/$defs/other.Item"]
    assert list(schema["$defs"]["Item"]["properties"]) == ["name"]
    assert list(schema["$defs"]["other.Item"]["properties"]) == ["parts"]


def test_tools_are_described_with_their_arguments() -> None:
    described = describe_tools([ADD])
    assert described.startswith("Tools:\n- add: Add two numbers.\n  arguments: {")
    assert json.loads(described.partition("arguments: ")[2]) == ADD.json_schema
    assert "No tool" in describe_tools(())


@pytest.mark.parametrize(
    "action",
    [
        ACTION,
        {"name": "add", "parameters": {"a": 1}},
        {"tool": "add", "arguments": '{"a": 1}'},
        {"tool": "add", "arguments": {"a": 1}, "answer": None},
    ],
)
def test_a_call_is_read(action: dict[str, Any]) -> None:
    assert read_action(action) == ToolCall("", "add", {"a": 1})


def test_a_call_without_arguments_has_none() -> None:
    assert read_action({"tool": "add"}) == ToolCall("", "add", {})


@pytest.mark.parametrize("arguments", [[1], None, '{"a": ', {"a": float("nan")}])
def test_arguments_that_are_no_object_are_the_fault_of_the_call(arguments: object) -> None:
    call = read_action({"tool": "add", "arguments": arguments})
    assert call is not None
    assert call.fault is not None


@pytest.mark.parametrize("tool", [None, ""])
def test_an_answer_is_not_a_call(tool: str | None) -> None:
    assert read_action({"answer": "3"}) is None
    assert read_action({"tool": tool, "answer": "3"}) is None


@pytest.mark.parametrize(
    ("action", "keys"),
    [({}, "none"), ({"plan": 1, "a": 2}, "a, plan"), ({"tool": 5}, "tool"), ({"tool": ""}, "tool")],
)
def test_an_object_that_is_neither_is_reported_with_its_keys(
    action: dict[str, Any], keys: str
) -> None:
    with pytest.raises(MalformedReply, match=rf"neither .* \(its keys: {keys}\)\. Reply with one"):
        read_action(action)


@pytest.mark.parametrize(
    ("answer", "text"),
    [("blue", "blue"), (3, "3"), (False, "false"), ({"ö": [1]}, '{"ö": [1]}'), (0, "0")],
)
def test_an_answer_as_text(answer: object, text: str) -> None:
    assert answer_text({"answer": answer}) == text


@pytest.mark.parametrize("answer", [None, "", " \n"])
def test_an_empty_answer_is_rejected(answer: str | None) -> None:
    with pytest.raises(MalformedReply, match=r"Your answer is empty\. Reply with one JSON"):
        answer_text({"answer": answer})


def _nest(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_what_nests_too_deeply_is_rejected() -> None:
    for read in (answer_text, read_action):
        key = "answer" if read is answer_text else "arguments"
        with pytest.raises(MalformedReply, match="nested too deeply"):
            read({key: _nest(200_000), "tool": "add"})


def test_calls_and_results_become_plain_messages() -> None:
    calls = (ToolCall("1", "add", {"a": 1}), ToolCall("2", "sub", {}))
    messages = [
        Message("system", "s"),
        Message("user", "go"),
        Message("assistant", "Let me see.", calls),
        Message("tool", "3", tool_call_id="1"),
        Message("tool", "4", tool_call_id="2"),
        Message("tool", "5", tool_call_id="unknown"),
        Message("assistant", "done"),
    ]
    *before, asked, results, after = as_plain_messages(messages)
    assert before == messages[:2]
    assert [json.loads(line) for line in asked.text.splitlines()] == [
        {"scratchpad": "Let me see.", "tool": "add", "arguments": {"a": 1}},
        {"scratchpad": "Let me see.", "tool": "sub", "arguments": {}},
    ]
    assert results == Message(
        "user", "Result of add:\n3\n\nResult of sub:\n4\n\nResult of the tool:\n5"
    )
    assert after == messages[-1]
    assert not any(message.tool_calls for message in as_plain_messages(messages))


def test_results_at_the_end_are_there() -> None:
    call = ToolCall("1", "add", {})
    messages = [Message("assistant", "", (call,)), Message("tool", "3", tool_call_id="1")]
    assert as_plain_messages(messages)[-1] == Message("user", "Result of add:\n3")


@pytest.mark.parametrize("own", [json.dumps(ACTION), "[" * 100_000])
def test_what_the_model_wrote_itself_stays_if_it_was_right(own: str) -> None:
    (message,) = as_plain_messages([Message("assistant", own, (ToolCall("1", "add", {"a": 1}),))])
    action = json.loads(message.text)
    assert (action["tool"], action["arguments"]) == ("add", {"a": 1})
    assert (message.content == own) == own.startswith("{")
