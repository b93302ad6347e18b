from decimal import Decimal

import pytest

from skillian.data.comparison.explain.explanation import (
    Breakdown,
    Contribution,
    MeasureExplanation,
    share,
)


def contribution(member: dict[str, object], gross: str) -> Contribution:
    return Contribution(member, Decimal(gross), Decimal(gross), 1)


def breakdown(
    dimension: str, *gross: str, needed: int | None, members: int | None = None
) -> Breakdown:
    found = tuple(contribution({dimension: f"m{index}"}, each) for index, each in enumerate(gross))
    return Breakdown((dimension,), members or len(gross), found, needed)


def explained(*breakdowns: Breakdown, unit: str | None = "EUR") -> MeasureExplanation:
    return MeasureExplanation("amount", unit, Decimal(100), Decimal(100), breakdowns)


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        ("1", "3", "33.3 %"),
        ("2", "3", "66.6 %"),
        ("99999", "100000", "99.9 %"),
        ("100000", "100000", "100.0 %"),
        ("-1", "2", "-50.0 %"),
        ("-1", "-2", "50.0 %"),
        ("-1", "100000", "0.0 %"),
        ("1", "0", None),
        (
            "99999999999999999999999999999999999999",
            "100000000000000000000000000000000000000",
            "99.9 %",
        ),
    ],
)
def test_a_share_is_cut_so_that_all_means_all(part: str, whole: str, expected: str | None) -> None:
    assert share(Decimal(part), Decimal(whole)) == expected


def test_the_dimension_that_needs_fewest_members_is_first() -> None:
    many = breakdown("company", "30", "30", "20", "20", needed=3)
    few = breakdown("period", "98", "2", needed=1)
    explanation = explained(many, few).with_member_counts({})
    assert [each.dimensions for each in explanation.breakdowns] == [("period",), ("company",)]
    assert explanation.sentence() == "98.0 % of the gross gap in amount: period m0."


def test_all_members_there_are_explain_nothing() -> None:
    only = breakdown("currency", "100", needed=1)
    two = breakdown("period", "60", "40", needed=2)
    explanation = explained(only, two)
    assert explanation.doubtful == {"currency", "period"}
    trivial = explanation.with_member_counts({"currency": 1, "period": 36})
    assert trivial.sentence() == "100.0 % of the gross gap in amount: period m0; period m1."
    spread = explanation.with_member_counts({"currency": 1, "period": 2})
    assert spread.sentence() == ("The gap in amount of 100 EUR gross is spread over many members.")


def test_a_spread_gap_is_reported_as_such() -> None:
    explanation = explained(
        breakdown("doc", *["5"] * 20, needed=None, members=500)
    ).with_member_counts({})
    assert "spread over many members" in explanation.sentence()
    nothing = MeasureExplanation("amount", None, Decimal(0), Decimal(0), ())
    assert nothing.sentence() == "There is no gap in amount to explain."
