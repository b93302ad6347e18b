from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent import ToolCall
from tinyagent.adapters.native import read_call, with_own_ids

finite = st.floats(allow_nan=False, allow_infinity=False)
objects = st.dictionaries(
    st.text(),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | finite,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    ),
    max_size=4,
)


@given(objects)
def test_a_whole_object_is_read_as_it_is(arguments: dict[str, object]) -> None:
    assert read_call("1", "t", json.dumps(arguments)) == ToolCall("1", "t", arguments)


@given(objects, st.integers(min_value=0))
def test_a_cut_off_object_is_a_fault_and_never_a_guess(
    arguments: dict[str, object], cut: int
) -> None:
    text = json.dumps(arguments)
    call = read_call("1", "t", text[: 1 + cut % (len(text) - 1)])
    assert call.fault is not None
    assert set(call.arguments) == {"_unreadable"}


@given(st.text())
def test_any_text_is_a_call_whose_arguments_are_json(text: str) -> None:
    call = read_call("1", "t", text)
    json.dumps(dict(call.arguments), allow_nan=False)
    assert (call.id, call.name) == ("1", "t")


@pytest.mark.parametrize("text", ["", "  \n", "{}"])
def test_nothing_means_no_arguments(text: str) -> None:
    assert read_call("1", "t", text) == ToolCall("1", "t", {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1', "Expecting ',' delimiter at character 8 of 7; they look cut off"),
        ('{"a": "b', "Unterminated string starting at at character 7 of 8; they look cut off"),
        ("{'a': 1}", "Expecting property name enclosed in double quotes at character 2 of 8"),
        ("[1]", "its arguments must be a JSON object, got list"),
        ("null", "its arguments must be a JSON object, got NoneType"),
        ('{"a": [NaN]}', "a number is NaN or infinite"),
        ('{"a": -Infinity}', "a number is NaN or infinite"),
        ('{"a": 1e999}', "a number is NaN or infinite"),
        ('{"a": ' + "[" * 300 + "]" * 300 + "}", "nested too deeply"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ('{"a": ' + "1" * 5_000 + "}", "Exceeds the limit (4300 digits)"),
    ],
)
def test_a_fault_says_where_and_what_to_do(text: str, message: str) -> None:
    call = read_call("1", "t", text)
    assert message in (call.fault or "")
    assert (call.fault or "").endswith(". Send the whole call again.")


def test_only_the_beginning_of_a_long_unreadable_text_is_kept() -> None:
    assert read_call("1", "t", "x" * 5000).arguments == {"_unreadable": "x" * 2000}


@given(st.lists(st.sampled_from(["", "a", "b", "c"])))
def test_ids_are_own_and_the_first_to_have_one_keeps_it(ids: list[str]) -> None:
    calls = with_own_ids(ToolCall(call_id, "t") for call_id in ids)
    own = [call.id for call in calls]
    assert all(own)
    assert len(set(own)) == len(ids)
    for wanted in {"a", "b", "c"} & set(ids):
        assert own[ids.index(wanted)] == wanted


def test_all_but_the_id_is_kept() -> None:
    call = ToolCall("", "t", {"a": 1}, "a fault")
    (own,) = with_own_ids([call])
    assert own == ToolCall(own.id, "t", {"a": 1}, "a fault")
