"""Rules of the five classes and their limits: cases that somebody worked out."""

from dataclasses import replace
from typing import Any

from tests.skillian.oracle.running import AMOUNT, KEY, Pair, compared, side

MUCH = "123456789012345.00"
# Values of a and b, the limits, and the class.
CASES: tuple[tuple[Any, Any, dict[str, Any], str], ...] = (
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
    ("-100", "-101", {"match": {"percentage": 1}}, "match"),
    ("-100", "-101.01", {"match": {"percentage": 1}}, "major_diff"),
    (MUCH, "124691356902468.45", {"match": {"percentage": 1}}, "match"),
    (MUCH, "124691356902468.46", {"match": {"percentage": 1}}, "major_diff"),
    ("0.07", "0.08", {"match": {"percentage": "14.285714286"}}, "match"),
    ("0.07", "0.08", {"match": {"percentage": "14.285714285"}}, "major_diff"),
    ("-1", "0", {"match": {"percentage": 100}}, "match"),
    ("1", "-0.01", {"match": {"percentage": 100}}, "major_diff"),
    (None, None, {}, "match"),
    (None, 0, {"match": {"absolute": 1}}, "major_diff"),
    (0, None, {"match": {"absolute": 1}}, "major_diff"),
)


def test_every_limit_that_is_stated_decides(pair: Pair) -> None:
    """A measure for each case."""
    names = [f"m{n}" for n in range(len(CASES))]
    columns = (KEY, *(replace(AMOUNT, name=name) for name in names))
    measures = {name: {"column": name, "aggregation": "sum"} for name in names}
    a, b = (
        side(each, [("x", *(case[n] for case in CASES))], columns, measures=measures)
        for n, each in enumerate("ab")
    )
    limits = {name: {"thresholds": case[2]} for name, case in zip(names, CASES, strict=True)}
    result = compared(pair, a, b, measures=names, settings={"measures": limits})
    classes = [each.classes.to_dict() for each in result.summary.measures]
    assert [each[case[3]] for each, case in zip(classes, CASES, strict=True)] == [1] * len(CASES)


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
