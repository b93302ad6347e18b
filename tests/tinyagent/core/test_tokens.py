from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent.core.tokens import TokenEstimate


def test_a_token_has_four_characters_until_the_server_says_otherwise() -> None:
    assert TokenEstimate().tokens(401) == 101
    assert TokenEstimate().characters(100) == 400


def test_the_servers_numbers_correct_the_estimate() -> None:
    estimate = TokenEstimate().update(characters=3_000, tokens=1_500)
    assert estimate.characters_per_token == 2
    assert estimate.tokens(100) == 50
    assert estimate.update(characters=9_000, tokens=1_500).characters_per_token == 6


@pytest.mark.parametrize(("characters", "tokens"), [(999, 10), (5_000, 0), (0, 0), (5_000, -1)])
def test_numbers_that_say_nothing_teach_nothing(characters: int, tokens: int) -> None:
    assert TokenEstimate(3.0).update(characters, tokens) == TokenEstimate(3.0)


@given(st.integers(min_value=1_000, max_value=10**9), st.integers(min_value=1, max_value=10**9))
def test_absurd_numbers_do_not_lead_far_astray(characters: int, tokens: int) -> None:
    learned = TokenEstimate().update(characters, tokens)
    assert 0.5 <= learned.characters_per_token <= 8
    assert learned.tokens(learned.characters(tokens)) <= tokens + 1
