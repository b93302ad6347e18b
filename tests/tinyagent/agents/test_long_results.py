from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent import ToolRetry
from tinyagent.agents.run import MAX_CHARS, PAGE_CHARS, ResultStore

HANDLE = re.compile(r'handle="(\w+)", offset=(\d+)')


def _handle(bounded: str) -> str:
    match = HANDLE.search(bounded)
    assert match is not None
    return match[1]


def test_a_result_that_fits_is_left_as_it_is() -> None:
    store = ResultStore()
    text = "x" * MAX_CHARS
    assert store.bounded(text) is text
    assert not store.is_used


def test_a_long_result_is_cut_in_the_middle_and_says_how_to_read_the_rest() -> None:
    store = ResultStore(max_chars=10)
    text = "abcdefghijklmnop"
    bounded = store.bounded(text)
    assert store.is_used
    assert bounded == (
        "abcde\n[... 6 of 16 characters are left out here; read them with"
        f' read_result(handle="{_handle(bounded)}", offset=5) ...]\nlmnop'
    )


@pytest.mark.parametrize("max_chars", [0, 1])
def test_no_room_at_all_leaves_the_notice(max_chars: int) -> None:
    bounded = ResultStore(max_chars).bounded("abc")
    assert bounded.startswith("\n[... 3 of 3 characters are left out")
    assert bounded.endswith("...]\n")


@given(st.text(min_size=11, max_size=200), st.integers(1, 60))
async def test_the_whole_can_be_paged(text: str, limit: int) -> None:
    store = ResultStore(max_chars=10)
    handle = _handle(store.bounded(text))
    offset, pages = 0, ""
    while True:
        arguments = {"handle": handle, "offset": offset, "limit": limit}
        page: dict[str, Any] = await store.tool.run(arguments)
        pages += page["text"]
        assert page["total_characters"] == len(text)
        if "next_offset" not in page:
            break
        offset = page["next_offset"]
    assert pages == text


async def test_a_page_is_bounded_too() -> None:
    store = ResultStore()
    handle = _handle(store.bounded("x" * 3 * PAGE_CHARS))
    page = await store.tool.run({"handle": handle, "offset": -5, "limit": 10**9})
    assert (len(page["text"]), page["next_offset"]) == (PAGE_CHARS, PAGE_CHARS)
    last = await store.tool.run({"handle": handle, "offset": 3 * PAGE_CHARS + 1})
    assert last == {"text": "", "total_characters": 3 * PAGE_CHARS}


async def test_a_wrong_handle_is_reported_with_the_valid_ones() -> None:
    store = ResultStore(max_chars=10)
    handle = _handle(store.bounded("x" * 20))
    with pytest.raises(ToolRetry, match=f"this run has no result 'r1', only: {handle};"):
        await store.tool.run({"handle": "r1"})


async def test_a_handle_of_another_run_never_finds_another_text() -> None:
    first, second = ResultStore(max_chars=10), ResultStore(max_chars=10)
    old, new = _handle(first.bounded("x" * 20)), _handle(second.bounded("y" * 20))
    with pytest.raises(ToolRetry):
        await second.tool.run({"handle": old})
    assert (await second.tool.run({"handle": new}))["text"] == "y" * 20


def test_the_same_text_has_the_same_handle_and_others_have_others() -> None:
    store = ResultStore(max_chars=10)
    texts = ["a" * 20, "b" * 20, "a" * 20, "\ud83d" * 20]
    first, second, again, odd = (_handle(store.bounded(text)) for text in texts)
    assert first == again
    assert len({first, second, odd}) == 3


def test_the_tool_avoids_a_name_that_is_taken() -> None:
    assert ResultStore().tool.name == "read_result"
    store = ResultStore(max_chars=10, taken={"read_result"})
    assert store.tool.name == "read_cut_off_result"
    assert "read_cut_off_result(handle=" in store.bounded("x" * 20)
