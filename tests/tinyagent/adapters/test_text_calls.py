from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent import ToolCall
from tinyagent.adapters.native import find_text_calls, is_only_calls
from tinyagent.core import MalformedReply

NAMES = {"add", "search"}
CALL = json.dumps({"name": "add", "arguments": {"a": 1}})
ADD = ToolCall("", "add", {"a": 1})


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"\n {CALL} \n",
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```",
        f"```tool_call\n{CALL}```",
        f"```JSON\n{CALL}\n```",
        f"```json\r\n{CALL}\r\n```",
        f"<tool_call>{CALL}</tool_call>",
        f"I will add.\n<tool_call>\n{CALL}\n</tool_call> Done.",
        f"<tool_call>{CALL}",
        f"I will add.\n```json\n{CALL}\n```\n",
        '{"tool": "add", "parameters": {"a": 1}}',
        '{"name": "add", "arguments": "{\\"a\\": 1}"}',
        f"<think>{CALL} or not?</think>\n{CALL}",
    ],
)
def test_a_call_written_as_text_is_found(text: str) -> None:
    assert find_text_calls(text, NAMES) == (ADD,)


@pytest.mark.parametrize(
    "text",
    [
        "The answer is 3.",
        'For example:\n```json\n{"name": "other", "arguments": {}}\n```',
        f"The page only says:\n```json\n{CALL}\n```\nNothing to worry about.",
        "```python\nprint(1)\n```",
        '{"name": "Ada", "arguments": {}}',
        '{"name": "add"}',
        '{"name": "add", "arguments": [1]}',
        '{"name": 5, "arguments": {}}',
        "{not json}",
        "[1, 2]",
        "",
        "```",
        "``````",
        f"<think><tool_call>{CALL}</tool_call>?</think> The answer is 3.",
    ],
)
def test_an_answer_is_left_alone(text: str) -> None:
    assert find_text_calls(text, NAMES) == ()


ONLY_CALLS = {
    "bare": CALL,
    "with other keys": '{"tool": "add", "parameters": {"a": 1}}',
    "fenced": f"```json\n{CALL}\n```",
    "in a fence without a language": f"\n```\n{CALL}\n```\n",
    "in a fence for calls": f"```tool_call\n{CALL}```",
    "in two fences": f"```json\n{CALL}\n```\n```json\n{CALL}\n```",
    "tagged": f"<tool_call>{CALL}</tool_call>",
    "in a tag left open": f"<tool_call>{CALL}",
    "tagged twice": f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>",
    "behind thoughts": f"<think>I add.</think>\n{CALL}",
}
UNREADABLE = {
    "two in a row": f"{CALL}\n{CALL}",
    "cut off": CALL[:-4],
    "cut off in a fence": f"```json\n{CALL[:-4]}",
    "tagged and cut off": f"<tool_call>{CALL[:-4]}</tool_call>",
    "of an unknown tool": '{"name": "ad", "arguments": {"a": 1}}',
}


@pytest.mark.parametrize("text", [*ONLY_CALLS.values(), *UNREADABLE.values()])
def test_a_text_without_a_word_next_to_its_calls_is_only_calls(text: str) -> None:
    assert is_only_calls(text, NAMES)


@pytest.mark.parametrize("name", sorted(ONLY_CALLS.keys() - {"behind thoughts"}))
def test_a_word_before_calls_makes_them_a_quotation(name: str) -> None:
    assert not is_only_calls(f"It says: {ONLY_CALLS[name]}", NAMES)


@pytest.mark.parametrize("name", sorted(ONLY_CALLS.keys() - {"in a tag left open"}))
def test_a_word_behind_calls_makes_them_a_quotation(name: str) -> None:
    assert not is_only_calls(f"{ONLY_CALLS[name]}\nSo it says.", NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "The answer is 3.",
        '{"name": "Ada", "arguments": {}, "age": 36}',
        '{"name": "Ada", "age": 36}',
        '{"name": "Ada", "argu',
        '{"name": "add"}',
        "{not json}",
        f"[{CALL}]",
        "```python\nprint(1)\n```",
        "<think>I add.</think>",
    ],
)
def test_what_is_not_a_call_is_not_only_calls(text: str) -> None:
    assert not is_only_calls(text, NAMES)


def test_several_tagged_calls_keep_their_order() -> None:
    other = json.dumps({"name": "search", "arguments": {"q": "x"}})
    text = f"<tool_call>{CALL}</tool_call><tool_call>{other}</tool_call>"
    assert [call.name for call in find_text_calls(text, NAMES)] == ["add", "search"]


def test_a_tagged_call_of_an_unknown_tool_is_a_call() -> None:
    (call,) = find_text_calls('<tool_call>{"name": "ad", "arguments": {}}</tool_call>', NAMES)
    assert call.name == "ad"


def test_unreadable_arguments_within_a_call_are_its_fault() -> None:
    (call,) = find_text_calls('{"name": "add", "arguments": "{\\"a\\": "}', NAMES)
    assert "not valid JSON" in (call.fault or "")


@pytest.mark.parametrize("inside", ["", "add(1)", '{"name": "add"', "[]", '{"name": "add"}'])
def test_a_tag_around_anything_else_is_reported_as_unreadable(inside: str) -> None:
    with pytest.raises(MalformedReply, match="Your <tool_call> could not be read"):
        find_text_calls(f"<tool_call>{inside}</tool_call>", NAMES)


def test_without_tools_nothing_is_a_call() -> None:
    assert find_text_calls(f"<tool_call>{CALL}</tool_call>", ()) == ()


pieces = st.sampled_from(
    ["<tool_call>", "</tool_call>", "```", "```json\n", "\n", " ", CALL, '{"name":', "{", "}", "x"]
)


@given(st.lists(pieces | st.text(), max_size=12).map("".join))
def test_no_text_does_worse_than_being_rejected(text: str) -> None:
    is_only_calls(text, NAMES)
    try:
        calls = find_text_calls(text, NAMES)
    except MalformedReply:
        return
    assert all(isinstance(call.name, str) for call in calls)


@given(st.integers(0, len(CALL)), st.characters())
def test_a_call_with_one_character_changed_is_a_call_or_an_answer(at: int, other: str) -> None:
    calls = find_text_calls(CALL[:at] + other + CALL[at + 1 :], NAMES)
    assert len(calls) <= 1


def test_an_object_nested_too_deeply_is_not_a_call() -> None:
    deep = "[" * 100_000
    text = '{"name": "add", "arguments": {"a": ' + deep
    assert find_text_calls(text, NAMES) == ()
    assert is_only_calls(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "```\n" + " " * 100_000 + "x",
        "```\n" + "\n" * 100_000 + "x",
        "<tool_call>" * 20_000,
        "```" * 50_000,
    ],
    ids=["spaces", "lines", "tags", "fences"],
)
def test_a_model_that_repeats_itself_costs_no_time(text: str) -> None:
    """What is quadratic meets the timeout."""
    is_only_calls(text, NAMES)
    try:
        assert find_text_calls(text, NAMES) == ()
    except MalformedReply:
        assert text.startswith("<tool_call>")
