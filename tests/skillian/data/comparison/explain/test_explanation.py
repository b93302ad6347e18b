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


def contribution(member: dict[str, object], gross: str) -> Contribution:
    return Contribution(member, Decimal(gross), Decimal(gross), 1)


def breakdown(
    dimension: str, *gross: str, needed: int | None, members: int | None = None
) -> Breakdown:
    found = tuple(contribution({dimension: f"m{index}"}, each) for index, each in enumerate(gross))
    return Breakdown((dimension,), members or len(gross), found, needed)


def explained(*breakdowns: Breakdown, unit: str | None = "EUR") -> MeasureExplanation:
    return MeasureExplanation("amount", unit, Decimal(100), Decimal(100), breakdowns, 1000)


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
    ordered = explained(many, few).with_rows({})
    assert [each.dimensions for each in ordered.breakdowns] == [("period",), ("company",)]
    assert ordered.sentence() == "98.0 % of the gross gap in amount: period m0."


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (1, "100.0 % of the gross gap in amount: currency m0, with 0.1 % of the rows."),
        (900, "100.0 % of the gross gap in amount: currency m0, with 90.0 % of the rows."),
        # A member that holds nearly all rows holds nearly all of any gap.
        (987, "The gap in amount of 100 EUR gross is spread over many members."),
        (1000, "The gap in amount of 100 EUR gross is spread over many members."),
    ],
)
def test_a_share_of_the_gap_is_compared_with_the_share_of_the_rows(
    rows: int, sentence: str
) -> None:
    known = explained(breakdown("currency", "100", needed=1)).with_rows(
        {("currency",): {("m0",): rows}}
    )
    assert known.sentence() == sentence
    [contribution] = known.to_dict()["breakdowns"][0]["contributions"]  # type: ignore[index]
    assert (contribution["rows"], contribution["gross_share"]) == (rows, "100.0 %")
    assert contribution["rows_share"] == f"{rows // 10}.{rows % 10} %"


def test_members_with_all_rows_explain_nothing_and_the_next_breakdown_is_first() -> None:
    only = breakdown("currency", "100", needed=1)
    two = breakdown("period", "60", "40", needed=2)
    rows: dict[tuple[str, ...], dict[tuple[object, ...], int]]
    rows = {("currency",): {("m0",): 1000}, ("period",): {("m0",): 30, ("m1",): 20}}
    known = explained(only, two).with_rows(rows)
    assert known.sentence() == (
        "100.0 % of the gross gap in amount: period m0; period m1, with 5.0 % of the rows."
    )
    everything: dict[tuple[str, ...], dict[tuple[object, ...], int]]
    everything = {**rows, ("period",): {("m0",): 500, ("m1",): 500}}
    spread = explained(only, two).with_rows(everything)
    assert spread.sentence() == "The gap in amount of 100 EUR gross is spread over many members."


def test_a_spread_gap_is_reported_as_such() -> None:
    spread = explained(breakdown("doc", *["5"] * 20, needed=None, members=500)).with_rows({})
    assert "spread over many members" in spread.sentence()
    nothing = MeasureExplanation("amount", None, Decimal(0), Decimal(0), ())
    assert nothing.sentence() == "There is no gap in amount to explain."


def test_measures_without_an_explanation_share_a_sentence() -> None:
    spread = breakdown("doc", *["5"] * 20, needed=None, members=500)
    gaps = [replace(explained(spread), measure=name) for name in ("quantity", "tax")]
    none = [
        MeasureExplanation(name, None, Decimal(0), Decimal(0), ()) for name in ("games", "runs")
    ]
    both = Explanation("key", ("doc",), (), (*none, *gaps))
    assert both.sentences == (
        "The gaps in quantity of 100 EUR gross, tax of 100 EUR gross are spread over many members.",
    )
    assert Explanation("key", ("doc",), (), tuple(none)).sentences == (
        "There is no gap in games, runs to explain.",
    )
