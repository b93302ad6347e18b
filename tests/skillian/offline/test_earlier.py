from __future__ import annotations

import json
from typing import Any

import pytest

from skillian.offline import earlier as earlier_module
from skillian.offline.earlier import Earlier, read_earlier
from tinyagent import Message, ToolCall

ASKED: dict[str, Any] = {"source_a": "a", "source_b": "b", "measures": ["m"]}
KEY = {"company": "1001"}


def turn(tool: str, arguments: dict[str, Any], content: str) -> list[Message]:
    return [
        Message("user", "?"),
        Message("assistant", "", (ToolCall(tool, tool, arguments),)),
        Message("tool", content, tool_call_id=tool),
    ]


def compared() -> list[Message]:
    result = {"top_differences": [{"key": KEY}], "cache_key": "k1"}
    return turn("compare_sources", ASKED, json.dumps(result))


def test_the_last_comparison_with_the_groups_that_it_names() -> None:
    earlier = read_earlier(compared())
    assert earlier.comparison is not None
    assert (earlier.comparison.cache_key, earlier.comparison.keys) == ("k1", (KEY,))
    assert earlier.sources == ("a", "b")


def test_a_failure_leaves_what_was_before() -> None:
    failed = turn("query_source", {"source": "x"}, '{"error": true, "type": "not_found"}')
    assert read_earlier([*compared(), *failed]) == read_earlier(compared())


def test_of_a_result_that_was_cut_the_key_and_the_groups_are_read() -> None:
    cut = '{"top_differences": [{"key": {"company": "1001"}, "gap [...] "cache_key": "k1"}'
    earlier = read_earlier(turn("compare_sources", ASKED, cut))
    assert earlier.comparison is not None
    assert (earlier.comparison.cache_key, earlier.comparison.keys) == ("k1", (KEY,))


def test_a_page_of_groups_is_what_the_largest_one_means_next() -> None:
    page = turn(
        "get_comparison_rows",
        {"cache_key": "k1"},
        json.dumps({"rows": [{"key": {"company": "2"}}]}),
    )
    earlier = read_earlier([*compared(), *page])
    assert earlier.comparison is not None
    assert earlier.comparison.keys == ({"company": "2"},)
    assert earlier.page is not None


def test_a_query_is_the_last_call_and_the_comparison_stays_known() -> None:
    queried = turn("query_source", {"source": "x"}, '{"rows": []}')
    earlier = read_earlier([*compared(), *queried])
    assert earlier.last is not None
    assert earlier.last.name == "query_source"
    assert earlier.comparison is not None


def test_an_empty_conversation() -> None:
    assert read_earlier([Message("user", "Hello")]) == Earlier()


def test_what_is_before_the_last_comparison_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    as_object = earlier_module.as_object

    def counted(text: str) -> dict[str, Any]:
        read.append(text)
        return as_object(text)

    monkeypatch.setattr(earlier_module, "as_object", counted)
    long = [message for _ in range(200) for message in compared()]
    assert read_earlier(long) == read_earlier(compared())
    assert len(read) <= 4
