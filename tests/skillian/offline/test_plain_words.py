from __future__ import annotations

import json
from typing import Any

import pytest

from skillian.offline.wording import word_plainly, word_result


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"answer": "It is so.", "more": 1}, "It is so."),
        ({"a": 1, "b": None, "c": True, "d": "1.10"}, "a: 1\nb: none\nc: yes\nd: 1.10"),
        ({"a": ["x", "y"], "b": []}, "a:\n  - x\n  - y\nb: none"),
        ({"a": [{"b": 1}]}, "a:\n  -\n    b: 1"),
        ({"answer": 42}, "answer: 42"),
        ({}, "The result is empty."),
    ],
)
def test_any_result_is_worded(result: dict[str, Any], text: str) -> None:
    assert word_plainly(result) == text


def test_a_long_result_ends_somewhere() -> None:
    lines = word_plainly({"a": list(range(1000))}).split("\n")
    assert len(lines) == 42
    assert "There is more" in lines[-1]


def test_a_tool_that_the_planner_does_not_know_is_worded_plainly() -> None:
    result = {"company": "1001", "amount": "5.00"}
    assert word_result("booked", result, json.dumps(result)) == "company: 1001\namount: 5.00"


def test_passages_have_their_source() -> None:
    passage = {"skill": "s", "file": "knowledge/a.md", "heading": "Gaps", "text": "Look."}
    assert word_result("search_knowledge", {"passages": [passage] * 3}, "{}").count("Look.") == 2
    text = word_result("search_knowledge", {"passages": [passage]}, "{}")
    assert text == "Gaps (s, knowledge/a.md):\nLook."
    assert "has nothing about that" in word_result("search_knowledge", {"passages": []}, "{}")
