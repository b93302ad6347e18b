from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from skillian.data.comparison.interpretation import interpret
from skillian.data.comparison.near_misses import NearMisses
from skillian.data.comparison.results import Classes, Difference, MeasureSummary, Status, Summary


def measure(**changed: Any) -> MeasureSummary:
    given: dict[str, Any] = {
        "name": "amount",
        "unit": "EUR",
        "classes": Classes(1, 0, 2, 0, 0),
        "total_a": Decimal("10.00"),
        "total_b": Decimal("30.00"),
        "net_difference": Decimal("20.00"),
        "gross_difference": Decimal("20.00"),
        "null_in_a": 0,
        "null_in_b": 0,
        "doubled_in_a": 0,
        "doubled_in_b": 0,
        "opposite_sign": 0,
    }
    return MeasureSummary(**given | changed)


def difference(a: str | None, b: str | None, rows: tuple[int, int], status: Status) -> Difference:
    return Difference(
        measure="amount",
        key={"company": "1001", "period": None},
        status=status,
        a=None if a is None else Decimal(a),
        b=None if b is None else Decimal(b),
        rows_a=rows[0],
        rows_b=rows[1],
    )


def interpretation(
    classes: Classes,
    top: list[Difference],
    uneven: int = 0,
    near: NearMisses | None = None,
    **changed: Any,
) -> list[str]:
    summary = Summary(
        classes=classes,
        rows_a=5,
        rows_b=6,
        uneven_groups=uneven,
        repeated_a=0,
        repeated_b=0,
        near_misses=near or NearMisses(),
        measures=(measure(**changed),),
    )
    return list(interpret("fi", "bpc", summary, top, {}))


def test_the_overall_picture_is_first_and_complete() -> None:
    sentences = interpretation(Classes(1, 0, 2, 0, 0), [])
    assert sentences[0] == "1 of 3 groups match (33.3 %), 2 with a major difference."
    assert sentences[1] == "Total amount: 10.00 EUR in fi, 30.00 EUR in bpc."
    assert sentences[2] == "The differences in amount add up to 20.00 EUR net and 20.00 EUR gross."
    assert len(sentences) == 3


@pytest.mark.parametrize(
    ("top", "changed", "sentence"),
    [
        (
            difference("5", "10", (1, 2), "major_diff"),
            {"doubled_in_b": 4},
            (
                "In 4 groups (such as company 1001, period without a value) bpc has exactly twice"
                " the rows and twice the amount of fi, as if a load had run twice."
            ),
        ),
        (
            difference("10", "5", (2, 1), "major_diff"),
            {"doubled_in_a": 1},
            (
                "In 1 group (company 1001, period without a value) fi has exactly twice the"
                " rows and twice the amount of bpc, as if a load had run twice."
            ),
        ),
        (
            difference("5", "-5", (1, 1), "major_diff"),
            {"opposite_sign": 1},
            (
                "In 1 group (company 1001, period without a value) amount has the same size"
                " and the opposite sign."
            ),
        ),
        (
            difference(None, "5", (1, 1), "major_diff"),
            {"null_in_a": 2},
            "fi has no value of amount in 2 groups (such as company 1001, period without a value).",
        ),
        (
            difference("5", None, (1, 1), "major_diff"),
            {"null_in_b": 1},
            "bpc has no value of amount in 1 group (company 1001, period without a value).",
        ),
        (
            difference("5", "7", (1, 1), "major_diff"),
            {},
            (
                "The largest difference beyond the match limits in amount is 2 EUR, at company"
                " 1001, period without a value."
            ),
        ),
    ],
)
def test_causes_are_named_with_an_example(
    top: Difference, changed: dict[str, Any], sentence: str
) -> None:
    assert sentence in interpretation(Classes(1, 0, 2, 0, 0), [top], **changed)


def test_an_average_has_no_total() -> None:
    sentences = interpretation(Classes(1, 0, 0, 0, 0), [], total_a=None, total_b=None)
    assert "Total" not in "".join(sentences)


@pytest.mark.parametrize(
    ("count", "named"), [(3, "(k 1; k 2; k 3)"), (4, "(such as k 1; k 2; k 3)")]
)
def test_examples_are_not_taken_for_the_whole_list(count: int, named: str) -> None:
    top = [
        replace(difference("5", None, (1, 0), "missing_in_b"), key={"k": number + 1})
        for number in range(count)
    ]
    assert f"Only fi has {count} groups {named}." in interpretation(Classes(0, 0, 0, 0, count), top)


def test_keys_that_are_only_written_differently_are_named_with_the_fix() -> None:
    sentences = interpretation(Classes(0, 0, 0, 2, 2), [], near=NearMisses(spaces=1, zeros=37))
    assert sentences[-4:-2] == [
        "1 key on both sides differs only by spaces at the ends (normalise: [trim]).",
        "37 keys on both sides differ only by leading zeros (normalise with lpad).",
    ]
