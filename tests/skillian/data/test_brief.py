from __future__ import annotations

from datetime import date
from decimal import Decimal

from skillian.data.brief import LONGEST_TEXT, brief_value


def test_a_long_text_is_cut_and_says_how_long_it_is() -> None:
    assert brief_value("x" * LONGEST_TEXT) == "x" * LONGEST_TEXT
    assert brief_value("x" * 201) == f"{'x' * 200}… (201 characters)"


def test_other_values_are_as_json_has_them() -> None:
    assert brief_value(Decimal("1.10")) == "1.10"
    assert brief_value(date(2024, 1, 31)) == "2024-01-31"
    assert brief_value(None) is None
