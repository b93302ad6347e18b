from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent.core.untrusted import as_array, as_object, cut_middle, describe

NOTICE = 60  # a notice is shorter than this


@given(st.text(), st.integers(min_value=0, max_value=200))
def test_a_cut_text_is_never_longer_than_asked_or_than_it_was(text: str, max_chars: int) -> None:
    cut = cut_middle(text, max_chars)
    assert len(cut) <= len(text)
    assert len(cut) <= max(max_chars, NOTICE)
    if len(text) <= max_chars:
        assert cut == text


@given(st.integers(min_value=200, max_value=5_000), st.integers(min_value=0, max_value=199))
def test_the_gap_says_how_many_characters_are_missing(length: int, max_chars: int) -> None:
    text = "ab" * (length // 2)
    cut = cut_middle(text, max_chars)
    match = re.fullmatch(
        r"([ab]*)\n\[\.\.\. ([\d,]+) characters are left out here \.\.\.\]\n([ab]*)", cut
    )
    assert match is not None
    assert text.startswith(match[1])
    assert text.endswith(match[3])
    assert int(match[2].replace(",", "")) == len(text) - len(match[1]) - len(match[3])


@given(
    st.integers(min_value=600, max_value=2_000_000),
    st.integers(min_value=300, max_value=500),
    st.integers(min_value=0, max_value=299),
)
def test_cutting_twice_is_like_cutting_once(length: int, first: int, second: int) -> None:
    text = "x" * length
    assert cut_middle(cut_middle(text, first), second) == cut_middle(text, second)


def test_where_the_rest_can_be_read_is_kept() -> None:
    hint = '; read them with read_result(handle="r1", offset=5000)'
    note = f"\n[... 20,000 of 30,000 characters are left out here{hint} ...]\n"
    cut = cut_middle("#" * 5_000 + note + "%" * 5_000, 200)
    assert len(cut) <= 200
    missing = 30_000 - cut.count("#") - cut.count("%")
    assert f"\n[... {missing:,} characters are left out here{hint} ...]\n" in cut


def test_only_an_object_is_an_object() -> None:
    assert as_object({"a": 1}) == {"a": 1}
    assert as_object([]) is None
    assert as_object(None) is None


def test_only_an_array_is_an_array() -> None:
    assert as_array([1]) == [1]
    assert as_array({}) is None
    assert as_array("ab") is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "null"),
        ({}, "an object with the keys: none"),
        ({"b": 1, "a": 2}, "an object with the keys: a, b"),
        ("a secret", "a str"),
        ([1], "a list"),
    ],
)
def test_a_description_names_the_shape_and_quotes_nothing(value: object, message: str) -> None:
    assert describe(value) == message


def test_a_description_of_many_keys_stops_at_eight() -> None:
    assert describe({f"k{n}": n for n in range(10)}).endswith("k6, k7")
