from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillian.offline.language.vocabulary import plain, split


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Companies", "company"),
        ("cost_centres", "cost centre"),
        ("cost-centre", "cost centre"),
        ("across", "across"),
        ("status", "status"),
        ("branches", "branch"),
        ("movies", "movy"),
        ("movie", "movy"),
    ],
)
def test_the_form_in_which_names_are_compared(text: str, form: str) -> None:
    assert plain(text) == form


def test_quotes_hold_a_name_together_and_apostrophes_are_none() -> None:
    words = split("what's in 'North America', it says \"A and B\"?")
    assert [word.text for word in words if word.is_quoted] == ["North America", "A and B"]
    assert [word.plain for word in words][:2] == ["what", "in"]


def test_numbers_and_signs() -> None:
    words = [word.text for word in split("company=1001, 03/2024; 0.05 or 1 % of A+ and -5.")]
    assert words == [
        "company",
        "=",
        "1001",
        "03/2024",
        "0.05",
        "or",
        "1",
        "%",
        "of",
        "A+",
        "and",
        "-5",
    ]


@given(st.text(max_size=100))
def test_words_stand_where_they_say(text: str) -> None:
    for word in split(text):
        assert word.text in text[word.start : word.end]
