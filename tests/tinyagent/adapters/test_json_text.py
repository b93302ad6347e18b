from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent.adapters.json_text import find_object

TEXT = '{"tool": "add", "arguments": {"a": 1}}'
FOUND = {"tool": "add", "arguments": {"a": 1}}

words = st.text() | st.text(st.sampled_from("{}[]\"'\\:, ab"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(words, values, min_size=1, max_size=4)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f" \n{TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}```",
        f"```json {TEXT}```",
        f"<tool_call>{TEXT}</tool_call>",
        f"<function_call>\n{TEXT}\n</function_call>",
        f"<tool_call>{TEXT}",
        f"<tool_call><tool_call>{TEXT}</tool_call>",
        f"I will add.\n{TEXT}\nIs that right?",
        f"In {{short}}: {TEXT}",
        f'{TEXT}\n{{"tool": "other"}}',
        f'<think>Not {{"tool": "rm"}}.</think>\n{TEXT}',
    ],
)
def test_an_object_is_found_anywhere_in_the_text(text: str) -> None:
    assert find_object(text) == FOUND


@pytest.mark.parametrize(
    "text",
    [
        "{'tool': 'add', 'arguments': {'a': 1}}",
        '{"tool": "add", "arguments": {"a": 1,},}',
        '{tool: "add", arguments: {a: 1}}',
        '{"tool": "add" "arguments": {"a": 1}}',
        '{"tool": "add", // the sum\n "arguments": {"a": 1}}',
        "Now: ```json\n{'tool': 'add', 'arguments': {'a': 1}}\n```",
    ],
)
def test_near_json_is_repaired(text: str) -> None:
    assert find_object(text) == FOUND


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{'a': None, 'b': True, 'c': False}", {"a": None, "b": True, "c": False}),
        ("{'a': 'don\\'t', \"b\": \"it's\"}", {"a": "don't", "b": "it's"}),
        ("{'a': '} {', 'b': {\"tool\": \"rm\"}}", {"a": "} {", "b": {"tool": "rm"}}),
    ],
)
def test_pythons_spelling_is_read(text: str, found: dict[str, Any]) -> None:
    assert find_object(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The answer is 3.",
        "[1, 2]",
        "{not json}",
        "{",
        "}{",
        '{"a": }',
        '{"a" 1}',
        '{"tool": "add", "arguments": {"a": 1}',
        '{"tool": "make", "arguments": {"name": "add", "arguments": {"a": 1}}',
        '{"tool": "check", "arguments": {"answer": "42"}',
        '{"scratchpad": "}", "tool": "make", "arguments": {"tool": "add"}',
        "{'scratchpad': '}', 'tool': 'make', 'arguments': {'tool': 'add'}",
        "{'tool': 'make', 'arguments': {\"tool\": \"add\"}",
        '{"text": "cut in its mid}',
        '<think>First {"tool": "rm"} and then',
        "{'a': 1} and {'b': 2}",
    ],
)
def test_what_is_not_whole_is_never_completed_nor_taken_for_a_part_of_it(text: str) -> None:
    assert find_object(text) is None


def test_tags_and_fences_inside_a_text_of_the_object_do_not_count() -> None:
    text = '{"answer": "write <tool_call>{}</tool_call> or\n```json\n{}\n```"}'
    assert find_object(text.replace("\n", "\\n")) == {
        "answer": "write <tool_call>{}</tool_call> or\n```json\n{}\n```"
    }


@given(objects, st.sampled_from(["{}", "```json\n{}\n```", "<tool_call>{}</tool_call>", "So: {}"]))
def test_a_whole_object_is_found_as_it_is(value: dict[str, Any], around: str) -> None:
    assert find_object(around.replace("{}", json.dumps(value))) == value


@given(objects, st.integers(min_value=0))
def test_a_cut_off_object_is_none(value: dict[str, Any], cut: int) -> None:
    text = json.dumps(value)
    assert find_object(text[: cut % len(text)]) is None


@given(objects, st.integers(min_value=0))
def test_a_cut_off_object_in_pythons_spelling_is_none(value: dict[str, Any], cut: int) -> None:
    text = repr(value)
    assert find_object(text[: cut % len(text)]) is None


@pytest.mark.parametrize("depth", [50, 500, *range(940, 1000, 7), 5_000])
@pytest.mark.parametrize("comma", ["", ","])
def test_no_depth_breaks_it(depth: int, comma: str) -> None:
    find_object('{"a": ' + "[" * depth + "]" * depth + comma + "}")


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>" * 20_000,
        "<answer>" * 20_000 + "{",
        "```\n" * 50_000,
        "{" * 100_000,
        "{'" * 5_000 + "}" * 5_000,
        "{a" + "}{a" * 50_000,
        '{\\"' * 30_000 + "}" * 30_000,
        "{a}" * 30_000,
        "{" + "a" * 90_000 + "}",
        "```\n{a\n```" * 3_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_a_model_that_repeats_itself_costs_no_time(text: str) -> None:
    """What is quadratic meets the timeout."""
    assert find_object(text) is None
