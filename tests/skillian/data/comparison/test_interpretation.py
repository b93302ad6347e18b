from dataclasses import replace
from decimal import Decimal
from typing import Any

from skillian.data.comparison.interpretation import Interpretation
from skillian.data.results.groups import Classes, Difference, MeasureSummary, NearMisses, Summary
from skillian.data.subjects import Status

CLASSES = Classes(1, 0, 2, 0, 0)
MEASURE = MeasureSummary(
    name="amount", unit="EUR", classes=CLASSES, total_a=Decimal("10.00"), total_b=Decimal("30.00"),
    net_difference=Decimal("20.00"), gross_difference=Decimal("20.00"), null_in_a=0, null_in_b=0,
    doubled_in_a=0, doubled_in_b=0, opposite_sign=0,
)  # fmt: skip
SUMMARY = Summary(
    classes=CLASSES, rows_a=5, rows_b=6, uneven_groups=0, repeated_a=0, repeated_b=0,
    near_misses=NearMisses(), measures=(MEASURE,),
)  # fmt: skip


def difference(
    a: str | None, b: str | None, rows: tuple[int, int] = (1, 1), status: Status = "major_diff"
) -> Difference:
    one, other = (None if each is None else Decimal(each) for each in (a, b))
    return Difference("amount", {"company": "1001", "period": None}, status, one, other, *rows)


def interpretation(
    classes: Classes = CLASSES,
    top: tuple[Difference, ...] = (),
    near: NearMisses | None = None,
    **changed: Any,
) -> list[str]:
    measures = (replace(MEASURE, **changed),)
    given = {"classes": classes, "near_misses": near or NearMisses(), "measures": measures}
    return list(Interpretation(("fi", "bpc"), replace(SUMMARY, **given), top, {}).sentences())  # type: ignore[arg-type]


def test_the_overall_picture_is_first_and_complete() -> None:
    assert interpretation() == [
        "1 of 3 groups match (33.3 %), 2 with a major difference.",
        "Total amount: 10.00 EUR in fi, 30.00 EUR in bpc.",
        "The differences in amount add up to 20.00 EUR net and 20.00 EUR gross.",
    ]
    average = interpretation(Classes(1, 0, 0, 0, 0), total_a=None, total_b=None)
    assert "Total" not in "".join(average)


PLACE = "company 1001, period without a value"
TWICE = "has exactly twice the rows and twice the amount of"


CAUSES: tuple[tuple[Difference, dict[str, Any], str], ...] = (
    (difference("5", "10", (1, 2)), {"doubled_in_b": 4},
     f"In 4 groups (such as {PLACE}) bpc {TWICE} fi, as if a load had run twice."),
    (difference("10", "5", (2, 1)), {"doubled_in_a": 1},
     f"In 1 group ({PLACE}) fi {TWICE} bpc, as if a load had run twice."),
    (difference("5", "-5"), {"opposite_sign": 1},
     f"In 1 group ({PLACE}) amount has the same size and the opposite sign."),
    (difference(None, "5"), {"null_in_a": 2},
     f"fi has no value of amount in 2 groups (such as {PLACE})."),
    (difference("5", None), {"null_in_b": 1},
     f"bpc has no value of amount in 1 group ({PLACE})."),
    (difference("5", "7"), {},
     f"The largest difference beyond the match limits in amount is 2 EUR, at {PLACE}."),
)  # fmt: skip


def test_causes_are_named_with_an_example() -> None:
    for top, changed, sentence in CAUSES:
        assert sentence in interpretation(top=(top,), **changed)


def test_examples_are_not_taken_for_the_whole_list() -> None:
    missing = difference("5", None, (1, 0), "missing_in_b")
    for count, named in ((3, "(k 1; k 2; k 3)"), (4, "(such as k 1; k 2; k 3)")):
        top = tuple(replace(missing, key={"k": number + 1}) for number in range(count))
        sentences = interpretation(Classes(0, 0, 0, 0, count), top)
        assert f"Only fi has {count} groups {named}." in sentences


def test_keys_that_are_only_written_differently_are_named_with_the_fix() -> None:
    sentences = interpretation(Classes(0, 0, 0, 2, 2), near=NearMisses(spaces=1, zeros=37))
    assert sentences[-4:-2] == [
        "1 key on both sides differs only by spaces at the ends (normalise: [trim]).",
        "37 keys on both sides differ only by leading zeros (normalise with lpad).",
    ]


NEAR = "1000000000000000000000000000001"  # more digits than Python's own context keeps
LONG = "12345678901234567890123456789012345.67"


def test_a_difference_of_many_digits_is_exact() -> None:
    key = {"company": 2**53 + 1}
    item = Difference("amount", key, "major_diff", Decimal(LONG), Decimal(0), 1, 1).to_dict()
    assert (item["absolute_diff"], item["percentage_diff"]) == (LONG, "100.0000")
    assert item["key"] == {"company": "9007199254740993"}


def test_nearly_doubled_and_opposite_values_are_neither() -> None:
    doubled, opposite = "2000000000000000000000000000003", "-1000000000000000000000000000002"
    for b, rows in ((doubled, (1, 2)), (opposite, (1, 1))):
        item = Difference("amount", {}, "major_diff", Decimal(NEAR), Decimal(b), *rows)
        found = item.doubled(in_a=True), item.doubled(in_a=False), item.opposite_sign
        assert found == (False, False, False)
