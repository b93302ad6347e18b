"""Rules of the five classes and their limits: cases that somebody worked out."""

from typing import Any

import pytest
from tests.skillian.oracle.running import Pair, compared, statuses


def test_every_group_is_in_exactly_one_of_five_classes(pair: Pair) -> None:
    a = [("same", 1), ("near", 100), ("far", 100), ("only a", 5), (None, 7), ("null a", None)]
    b = [("same", 1), ("near", 101), ("far", 102), ("only b", 0), (None, 7), ("null b", None)]
    result = compared(
        pair,
        [*a, ("sum", None), ("sum", 3), ("nulls", None), ("in a", None), ("in b", 0)],
        [*b, ("sum", 3), ("nulls", None), ("in a", 0), ("in b", None)],
        thresholds={"minor_diff": {"absolute": 1, "percentage": 1}},
    )
    assert [*result.summary.classes.to_dict().values()] == [4, 1, 3, 2, 2]
    reasons = {each.key["key"]: each.reason for each in result.top_differences}
    reasoned = {"in a": "null_in_a", "in b": "null_in_b"}
    same = ("near", "far", "only a", "null a", "only b", "null b")
    assert reasons == dict.fromkeys(same) | reasoned


@pytest.mark.parametrize(
    ("percentage", "kept", "over"),
    [
        (1, [("100", "101"), ("-100", "-101"), ("123456789012345.00", "124691356902468.45")],
            [("100", "101.01"), ("-100", "-101.01"), ("123456789012345.00", "124691356902468.46")]),
        ("14.285714285", [("0.07", "0.07")], [("0.07", "0.08")]),
        ("14.285714286", [("0.07", "0.08")], []),
        ("33.333333333", [("0", "0")], [("3", "4"), ("0", "10000000000001")]),
        (100, [("1", "0"), ("-1", "0"), ("1", "2")], [("1", "-0.01")]),
    ],
)  # fmt: skip
def test_percentages_are_of_a_inclusive_and_exact(
    pair: Pair, percentage: Any, kept: list[tuple[str, str]], over: list[tuple[str, str]]
) -> None:
    a, b = zip(*kept, *over, strict=True)
    limits = {"match": {"absolute": 10**13, "percentage": percentage}}
    sides = [[(str(n), value) for n, value in enumerate(values)] for values in (a, b)]
    classes = compared(pair, *sides, thresholds=limits).summary.classes
    assert (classes.match, classes.major_diff) == (len(kept), len(over))


@pytest.mark.parametrize(
    ("a", "b", "limits", "status"),
    [
        (200, 201, {"match": {"absolute": 1}}, "match"),
        (200, 201, {"match": {"absolute": "0.99"}}, "major_diff"),
        (200, 199, {"match": {"absolute": 1}}, "match"),
        (200, 199, {"minor_diff": {"absolute": "0.99"}}, "major_diff"),
        (200, 201, {"match": {"percentage": "0.5"}}, "match"),
        (200, 201, {"match": {"percentage": "0.49"}}, "major_diff"),
        (200, 201, {"match": {}}, "major_diff"),
        (0, "0.01", {"match": {"percentage": 100}}, "major_diff"),
        (0, -1, {"match": {"absolute": 1, "percentage": 0}}, "match"),
        (0, "1.01", {"match": {"absolute": 1, "percentage": 100}}, "major_diff"),
        (100, 101, {"match": {"absolute": "0.99", "percentage": 1}}, "major_diff"),
        (100, 101, {"match": {"absolute": 1, "percentage": "0.99"}}, "major_diff"),
        (100, 80, {"match": {"absolute": 100, "percentage": 20}}, "match"),
        (80, 100, {"match": {"absolute": 100, "percentage": 20}}, "major_diff"),
        (100, 104, {"match": {"absolute": 5}, "minor_diff": {"absolute": 1}}, "match"),
        (100, 104, {"minor_diff": {"absolute": 4, "percentage": 4}}, "minor_diff"),
    ],
)
def test_every_limit_that_is_stated_decides(
    one_pair: Pair, a: int, b: Any, limits: dict[str, Any], status: str
) -> None:
    result = compared(one_pair, [("x", a)], [("x", b)], thresholds=limits)
    assert statuses(result) == {status: 1}


def test_the_result_says_which_limits_decided(one_pair: Pair) -> None:
    def sentences(**thresholds: Any) -> list[str]:
        result = compared(one_pair, [("x", 100)], [("x", 104)], thresholds=thresholds)
        return [each for each in result.sentences if each.startswith("Limits")]

    assert sentences(match={"absolute": 0}) == []
    [sentence] = sentences(minor_diff={"percentage": 5}, match={"absolute": 1, "percentage": "0.5"})
    assert sentence == (
        "Limits of amount: a match is up to 1 and 0.5 % apart, a minor difference up to 5 % apart"
        " whatever the amount."
    )
