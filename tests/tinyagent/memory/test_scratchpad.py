from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent.memory.scratchpad import AgentMemory

notes: st.SearchStrategy[list[tuple[str, ...]]] = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["observe", "fail"]), st.text(max_size=700)),
        st.tuples(st.just("store"), st.text(max_size=3), st.text(max_size=700)),
    ),
    max_size=20,
)


def _noted(entries: list[tuple[str, ...]]) -> AgentMemory:
    memory = AgentMemory()
    for method, *arguments in entries:
        getattr(memory, method)(*arguments)
    return memory


def test_what_is_stored_can_be_recalled() -> None:
    memory = AgentMemory()
    memory.store("columns", ["a", "b"])
    memory.store("columns", ["a"])
    memory.store("none", None)
    assert memory.recall("columns") == ["a"]
    assert memory.recall("none", 1) is None
    assert memory.recall("rows") is None
    assert memory.recall("rows", 0) == 0
    assert len(memory) == 2


def test_what_is_observed_is_not_stored() -> None:
    memory = _noted([("observe", "x")])
    assert memory.recall("") is None


def test_a_key_is_a_string() -> None:
    with pytest.raises(TypeError, match="got int"):
        AgentMemory().store(1, "one")  # type: ignore[arg-type]


def test_the_context_holds_all_notes_in_their_order() -> None:
    memory = _noted(
        [("store", "n", "old"), ("observe", "two\nlines"), ("fail", "join"), ("store", "n", "new")]
    )
    assert memory.to_context() == (
        "Your notes so far, oldest first:\n"
        "- observed: two lines\n"
        "- failed: join\n"
        "- stored: n = 'new'"
    )


def test_no_notes_are_no_context() -> None:
    memory = _noted([("observe", "x")])
    memory.clear()
    assert memory.to_context() == ""
    assert len(memory) == 0


@given(notes, st.integers(min_value=0, max_value=3_000))
def test_the_context_is_bounded(entries: list[tuple[str, ...]], max_chars: int) -> None:
    assert len(_noted(entries).to_context(max_chars)) <= max_chars


@given(st.integers(min_value=1, max_value=200), st.integers(min_value=200, max_value=2_000))
def test_the_newest_notes_stay_and_the_rest_is_counted(count: int, max_chars: int) -> None:
    memory = _noted([("observe", f"note {number};") for number in range(count)])
    context = memory.to_context(max_chars)
    shown = [number for number in range(count) if f"note {number};" in context]
    assert shown == list(range(count - len(shown), count))
    assert shown
    if len(shown) < count:
        assert f"({count - len(shown)} older notes are left out" in context
        assert len(context) > max_chars - 60
    else:
        assert "left out" not in context


class _Odd:
    def __repr__(self) -> str:
        raise ValueError("not today")


@pytest.mark.parametrize("size", [10, 10**5])
def test_a_large_value_is_shown_in_short_and_kept_whole(size: int) -> None:
    for value in ("x" * size, list(range(size)), {f"{n}": n for n in range(size // 10)}):
        memory = AgentMemory()
        memory.store("value", value)
        assert len(memory.to_context()) < 600
        assert memory.recall("value") == value


def test_a_value_that_cannot_be_shown_does_no_harm() -> None:
    number = 10**5_000  # Python refuses to write it in digits
    for value in (number, [number], _Odd(), {"odd": _Odd()}):
        memory = AgentMemory()
        memory.store("value", value)
        assert "- stored: value = " in memory.to_context()
        assert memory.recall("value") is value


def test_a_scratchpad_shows_its_size_and_not_its_content() -> None:
    assert repr(_noted([("observe", "secret")])) == "AgentMemory(1 notes)"
