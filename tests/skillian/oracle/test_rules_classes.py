"""Rules of the five classes and their limits: one test, one rule."""

from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.oracle.questions import Column
from tests.skillian.oracle.rules import AMOUNT, KEY, compared, keys, only, side, statuses
from tests.skillian.oracle.running import Pair


def test_every_group_is_in_exactly_one_of_five_classes(pair: Pair) -> None:
    result = compared(
        pair,
        [("same", "1"), ("near", "100"), ("far", "100"), ("only a", "5"), (None, "7")],
        [("same", "1"), ("near", "101"), ("far", "102"), ("only b", "-6"), (None, "7")],
        thresholds={"minor_diff": {"absolute": 1, "percentage": 1}},
    )
    assert result.summary.classes.to_dict() == {
        "match": 2,
        "minor_diff": 1,
        "major_diff": 1,
        "missing_in_a": 1,
        "missing_in_b": 1,
    }
    assert result.summary.classes.groups == 6


def test_a_group_only_in_b_is_missing_in_a(pair: Pair) -> None:
    result = compared(pair, [], [("x", "0")])
    item = only(result)
    assert (item.status, item.a, item.b, item.rows_a, item.rows_b) == (
        "missing_in_a", None, Decimal(0), 0, 1,
    )  # fmt: skip


def test_a_group_only_in_a_is_missing_in_b(pair: Pair) -> None:
    item = only(compared(pair, [("x", "5")], []))
    assert (item.status, item.gap, item.absolute_diff) == ("missing_in_b", Decimal(-5), None)


def test_a_group_with_null_on_one_side_only_is_missing_not_major(pair: Pair) -> None:
    item = only(compared(pair, [("x", None)], []))
    assert (item.status, item.reason, item.gap) == ("missing_in_b", None, Decimal(0))


def test_null_and_null_match(pair: Pair) -> None:
    assert statuses(compared(pair, [("x", None)], [("x", None)])) == {"match": 1}


def test_null_and_a_number_is_major_whatever_the_limits(pair: Pair) -> None:
    result = compared(
        pair,
        [("in a", None), ("in b", "0"), ("zero", "0")],
        [("in a", "0"), ("in b", None), ("zero", "0")],
        thresholds={"match": {"absolute": 1000, "percentage": 1000}},
    )
    by_key = {item.key["key"]: (item.status, item.reason) for item in result.top_differences}
    assert by_key == {"in a": ("major_diff", "null_in_a"), "in b": ("major_diff", "null_in_b")}
    [amount] = result.summary.measures
    assert (amount.null_in_a, amount.null_in_b) == (1, 1)


def test_a_null_among_numbers_is_left_out_of_the_sum(pair: Pair) -> None:
    result = compared(pair, [("x", None), ("x", "3"), ("x", None)], [("x", "3")])
    assert statuses(result) == {"match": 1}
    assert (result.summary.rows_a, result.summary.uneven_groups) == (3, 1)


def test_absolute_limits_are_inclusive_on_both_sides(pair: Pair) -> None:
    gaps = ("0", "0.05", "-0.05", "0.06", "-0.06", "1", "-1", "1.01", "-1.01")
    result = compared(
        pair,
        [(gap, "100") for gap in gaps],
        [(gap, 100 + Decimal(gap)) for gap in gaps],
        thresholds={
            "match": {"absolute": "0.05", "percentage": 100},
            "minor_diff": {"absolute": 1, "percentage": 100},
        },
    )
    assert statuses(result) == {"match": 3, "minor_diff": 4, "major_diff": 2}
    assert {item.key["key"] for item in result.top_differences if item.status == "major_diff"} == {
        "1.01",
        "-1.01",
    }


@pytest.mark.parametrize(
    ("percentage", "kept", "over"),
    [
        (1, [("100", "101"), ("-100", "-101"), ("123456789012345.00", "124691356902468.45")],
            [("100", "101.01"), ("-100", "-101.01"), ("123456789012345.00", "124691356902468.46")]),
        ("0.5", [("200", "199")], [("200", "198.99")]),
        ("14.285714285", [("0.07", "0.07")], [("0.07", "0.08")]),
        ("14.285714286", [("0.07", "0.08")], []),
        ("33.333333333", [], [("3", "4")]),
        (200, [("1", "-1")], [("1", "-1.01")]),
        (100, [("1", "0"), ("-1", "0"), ("1", "2")], [("1", "-0.01")]),
    ],
)  # fmt: skip
def test_percentages_are_of_a_inclusive_and_exact(
    pair: Pair, percentage: Any, kept: list[tuple[str, str]], over: list[tuple[str, str]]
) -> None:
    cases = [*kept, *over]
    result = compared(
        pair,
        [(f"{n}", a) for n, (a, _) in enumerate(cases)],
        [(f"{n}", b) for n, (_, b) in enumerate(cases)],
        thresholds={"match": {"absolute": 10**13, "percentage": percentage}},
    )
    assert (result.summary.classes.match, result.summary.classes.major_diff) == (
        len(kept),
        len(over),
    )


def test_every_percentage_on_its_limit_is_kept(pair: Pair) -> None:
    values = [Decimal(n * 700 + 100) / 100 for n in range(400)]
    result = compared(
        pair,
        [(f"{n}", value * 100) for n, value in enumerate(values)],
        [(f"{n}", value * 101) for n, value in enumerate(values)],
        thresholds={"match": {"absolute": 10**6, "percentage": 1}},
    )
    assert result.summary.classes.match_rate == "100.0 %"


def test_the_percentage_is_of_the_first_source(pair: Pair) -> None:
    limits = {"match": {"absolute": 100, "percentage": 20}}
    assert statuses(compared(pair, [("x", 100)], [("x", 80)], thresholds=limits)) == {"match": 1}
    result = compared(pair, [("x", 80)], [("x", 100)], thresholds=limits)
    assert statuses(result) == {"major_diff": 1}
    assert only(result).percentage_diff == Decimal("25.0000")


@pytest.mark.parametrize(
    ("match", "status"),
    [
        ({"absolute": 1}, "match"),
        ({"absolute": "0.99"}, "major_diff"),
        ({"percentage": "0.5"}, "match"),
        ({"percentage": "0.49"}, "major_diff"),
        ({}, "major_diff"),
    ],
)
def test_a_limit_that_is_stated_alone_decides_alone(
    pair: Pair, match: dict[str, Any], status: str
) -> None:
    result = compared(pair, [("x", 200)], [("x", 201)], thresholds={"match": match})
    assert statuses(result) == {status: 1}


def test_without_an_absolute_limit_nothing_else_is_near_zero(pair: Pair) -> None:
    result = compared(
        pair,
        [("x", 0), ("zero", 0), ("on", 100)],
        [("x", "0.01"), ("zero", 0), ("on", 200)],
        thresholds={"match": {"percentage": 100}},
    )
    assert statuses(result) == {"match": 2, "major_diff": 1}


def test_the_result_says_which_limits_decided(one_pair: Pair) -> None:
    def sentences(**thresholds: Any) -> list[str]:
        result = compared(one_pair, [("x", 100)], [("x", 104)], thresholds=thresholds)
        return [each for each in result.interpretation if each.startswith("Limits")]

    assert sentences() == []
    assert sentences(match={"absolute": 0}) == []
    assert sentences(match={"absolute": 10}) == [
        "Limits of amount: a match is up to 10 apart whatever the percentage."
    ]
    [sentence] = sentences(minor_diff={"percentage": 5}, match={"absolute": 1, "percentage": "0.5"})
    assert sentence == (
        "Limits of amount: a match is up to 1 and 0.5 % apart, a minor difference up to 5 % apart"
        " whatever the amount."
    )


@pytest.mark.parametrize(
    ("absolute", "percentage", "status"),
    [("1", "1", "match"), ("0.99", "1", "major_diff"), ("1", "0.99", "major_diff")],
)
def test_both_limits_must_be_kept(pair: Pair, absolute: str, percentage: str, status: str) -> None:
    limits = {"match": {"absolute": absolute, "percentage": percentage}}
    result = compared(pair, [("x", 100)], [("x", 101)], thresholds=limits)
    assert statuses(result) == {status: 1}


def test_for_a_of_zero_the_absolute_limit_alone_decides(pair: Pair) -> None:
    result = compared(
        pair,
        [("on", "0"), ("over", "0.00"), ("zero", "0")],
        [("on", "-1"), ("over", "1.01"), ("zero", "0")],
        thresholds={"match": {"absolute": 1, "percentage": 0}},
    )
    assert statuses(result) == {"match": 2, "major_diff": 1}
    assert only(result).percentage_diff is None


def test_match_precedes_minor_even_if_its_limits_are_wider(one_pair: Pair) -> None:
    limits = {
        "match": {"absolute": 5, "percentage": 5},
        "minor_diff": {"absolute": 1, "percentage": 1},
    }
    result = compared(one_pair, [("x", 100)], [("x", 104)], thresholds=limits)
    assert statuses(result) == {"match": 1}


WIDE = {"match": {"absolute": 5, "percentage": 5}}


@pytest.mark.parametrize(
    ("settings", "thresholds", "status"),
    [
        ({}, {}, "major_diff"),
        ({"thresholds": WIDE}, {}, "match"),
        ({"pairs": [("a", "b", 5)]}, {}, "match"),
        ({"pairs": [("b", "a", 5)]}, {}, "match"),
        ({"pairs": [("a", "a", 5)]}, {}, "major_diff"),
        ({"thresholds": WIDE, "pairs": [("a", "b", 3)]}, {}, "major_diff"),
        ({"pairs": [("a", "b", 3)], "measures": 5}, {}, "match"),
        ({"pairs": [("a", "b", 5)], "measures": 3}, {}, "major_diff"),
        ({"measures": 5}, {"match": {"absolute": 3}}, "major_diff"),
        ({"measures": 3}, {"match": {"absolute": 4}}, "match"),
        ({"measures": 3}, {"match": {"absolute": 4, "percentage": 4}}, "match"),
        ({"measures": 3}, {"minor_diff": {"absolute": 4, "percentage": 4}}, "minor_diff"),
    ],
)  # fmt: skip
def test_narrower_levels_of_thresholds_go_first(
    one_pair: Pair, settings: dict[str, Any], thresholds: dict[str, Any], status: str
) -> None:
    def limits(limit: int) -> dict[str, Any]:
        return {"thresholds": {"match": {"absolute": limit, "percentage": limit}}}

    given = dict(settings)
    if "pairs" in given:
        given["pairs"] = [{"sources": [*names], **limits(n)} for *names, n in given["pairs"]]
    if "measures" in given:
        given["measures"] = {"amount": limits(given["measures"])}
    result = compared(one_pair, [("x", 100)], [("x", 104)], settings=given, thresholds=thresholds)
    assert statuses(result) == {status: 1}


def test_a_row_is_as_bad_as_its_worst_measure(pair: Pair) -> None:
    columns = (KEY, AMOUNT, Column("q", "integer"))
    measures = {
        "amount": {"column": "v", "aggregation": "sum"},
        "quantity": {"column": "q", "aggregation": "sum"},
    }
    result = compared(
        pair,
        side("a", [("x", 1, 1), ("y", 1, 1), ("z", 1, 5)], columns, measures=measures),
        side("b", [("x", 1, 2), ("y", 2, 1), ("z", 2, None)], columns, measures=measures),
        measures=("quantity", "amount"),
        thresholds={"minor_diff": {"absolute": 1, "percentage": 100}},
    )
    assert statuses(result) == {"minor_diff": 2, "major_diff": 1}
    assert [(item.measure, item.key["key"]) for item in result.top_differences] == [
        ("quantity", "z"),
        ("quantity", "x"),
        ("amount", "y"),
        ("amount", "z"),
    ]
    assert [measure.name for measure in result.summary.measures] == ["quantity", "amount"]


def test_a_comparison_of_a_source_with_itself_matches(pair: Pair) -> None:
    rows = [("x", 1), (None, None), ("y", "-0.01")]
    assert statuses(compared(pair, rows, rows)) == {"match": 3}


def test_swapped_sources_give_the_mirrored_answer(pair: Pair) -> None:
    a, b = [("x", 1), ("y", None), ("z", 3)], [("x", 4), ("y", 2), ("w", 5)]
    one, other = compared(pair, a, b), compared(pair, b, a)
    assert keys(one) == keys(other)
    assert [item.gap for item in one.top_differences] == [
        -item.gap for item in other.top_differences
    ]
    assert one.summary.measures[0].net_difference == -other.summary.measures[0].net_difference
