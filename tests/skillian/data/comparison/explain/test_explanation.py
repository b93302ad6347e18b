from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from skillian.data.comparison.explain.explanation import (
    Breakdown,
    Contribution,
    Explanation,
    MeasureExplanation,
    share,
)

Rows = dict[tuple[str, ...], dict[tuple[object, ...], int]]


def breakdown(name: str, *gross: str, needed: int | None, members: int | None = None) -> Breakdown:
    shares = [
        Contribution({name: f"m{index}"}, Decimal(each), Decimal(each), 1)
        for index, each in enumerate(gross)
    ]
    return Breakdown((name,), members or len(gross), tuple(shares), needed)


def explained(*breakdowns: Breakdown, name: str = "amount") -> MeasureExplanation:
    return MeasureExplanation(name, "EUR", Decimal(100), Decimal(100), breakdowns, 1000)


SPREAD = "The gap in amount of 100 EUR gross is spread over many members."
MANY = breakdown("doc", *["5"] * 20, needed=None, members=500)
SHARES = (
    ("1", "3", "33.3 %"),
    ("2", "3", "66.6 %"),
    ("99999", "100000", "99.9 %"),
    ("100000", "100000", "100.0 %"),
    ("-1", "2", "-50.0 %"),
    ("-1", "-2", "50.0 %"),
    ("-1", "100000", "0.0 %"),
    ("1", "0", None),
    ("9" * 38, "1" + "0" * 38, "99.9 %"),
)


def test_a_share_is_cut_so_that_all_means_all() -> None:
    assert [share(Decimal(part), Decimal(whole)) for part, whole, _ in SHARES] == [
        expected for *_, expected in SHARES
    ]


def test_the_dimension_that_needs_fewest_members_is_first() -> None:
    many = breakdown("company", "30", "30", "20", "20", needed=3)
    few = breakdown("period", "98", "2", needed=1)
    ordered = explained(many, few).with_rows({})
    assert [each.dimensions for each in ordered.breakdowns] == [("period",), ("company",)]
    assert ordered.sentence() == "98.0 % of the gross gap in amount: period m0."


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (1, "100.0 % of the gross gap in amount: currency m0, with 0.1 % of the rows."),
        (900, "100.0 % of the gross gap in amount: currency m0, with 90.0 % of the rows."),
        # A member that holds nearly all rows holds nearly all of any gap.
        (987, SPREAD),
        (1000, SPREAD),
    ],
)
def test_a_share_of_the_gap_is_compared_with_the_share_of_the_rows(
    rows: int, sentence: str
) -> None:
    one = explained(breakdown("currency", "100", needed=1))
    known = one.with_rows({("currency",): {("m0",): rows}})
    assert known.sentence() == sentence
    [contribution] = known.to_dict()["breakdowns"][0]["contributions"]  # type: ignore[index]
    assert (contribution["rows"], contribution["gross_share"]) == (rows, "100.0 %")
    assert contribution["rows_share"] == f"{rows // 10}.{rows % 10} %"


def test_members_with_all_rows_explain_nothing_and_the_next_breakdown_is_first() -> None:
    only = breakdown("currency", "100", needed=1)
    both = explained(only, breakdown("period", "60", "40", needed=2))
    rows: Rows = {("currency",): {("m0",): 1000}, ("period",): {("m0",): 30, ("m1",): 20}}
    assert both.with_rows(rows).sentence() == (
        "100.0 % of the gross gap in amount: period m0; period m1, with 5.0 % of the rows."
    )
    everything: Rows = {**rows, ("period",): {("m0",): 500, ("m1",): 500}}
    assert both.with_rows(everything).sentence() == SPREAD


def test_measures_without_an_explanation_share_a_sentence() -> None:
    nothing = MeasureExplanation("games", None, Decimal(0), Decimal(0), ())
    assert nothing.sentence() == "There is no gap in games to explain."
    none = nothing, replace(nothing, measure="runs")
    gaps = explained(MANY, name="quantity"), explained(MANY, name="tax")
    assert Explanation("key", ("doc",), (), (*none, *gaps)).sentences == (
        "The gaps in quantity of 100 EUR gross, tax of 100 EUR gross are spread over many members.",
    )
    assert Explanation("key", ("doc",), (), none).sentences == (
        "There is no gap in games, runs to explain.",
    )
