"""Rules of measures: aggregations and arithmetic, exact to the last digit."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from tests.skillian.oracle.questions import Column, Side
from tests.skillian.oracle.rules import KEY, compared, only, question, side, statuses
from tests.skillian.oracle.running import Pair

MONEY = Column("v", "decimal", 2, 24)
WHOLE = Column("v", "integer")


def measured(
    name: str, values: Sequence[Any], how: str, column: Column = MONEY, key: Any = "x"
) -> Side:
    """A source with one key, and one measure over these values."""
    rows = [(key, value) for value in values]
    measures = {"amount": {"column": "v", "aggregation": how}}
    return side(name, rows, (KEY, column), measures=measures)


def cells(pair: Pair, a: Sequence[Any], b: Sequence[Any], how: str, column: Column = MONEY) -> Any:
    """The values of a and b in the one difference."""
    item = only(compared(pair, measured("a", a, how, column), measured("b", b, how, column)))
    return item.a, item.b


def test_sums_may_be_longer_than_their_values(pair: Pair) -> None:
    a = ["9999999999999999999999.99"] * 100
    total = Decimal("999999999999999999999999.00")
    assert cells(pair, a, ["0.01"], "sum") == (total, Decimal("0.01"))


def test_sums_of_whole_numbers_do_not_overflow(pair: Pair) -> None:
    big = 2**63 - 1
    assert cells(pair, [big] * 3, [big] * 2, "sum", WHOLE) == (3 * big, 2 * big)


AVERAGES: tuple[tuple[list[Any], str], ...] = (
    (["1", "0", "0"], "0.33333333"),
    (["2", "0", "0"], "0.66666667"),
    (["-2", "0", "0"], "-0.66666667"),
    (["0.01", None, None], "0.01"),
    (["0.01"] + ["0"] * 63, "0.00015625"),
    (["0.01"] + ["0"] * 127, "0.00007813"),
    (["-0.01"] + ["0"] * 127, "-0.00007813"),
    (["999999999999999999.99", "999999999999999999.98"], "999999999999999999.985"),
)


def test_averages_are_exact_quotients_rounded_half_away_from_zero(pair: Pair) -> None:
    rows = [(str(n), value) for n, (values, _) in enumerate(AVERAGES) for value in values]
    measures = {"amount": {"column": "v", "aggregation": "avg"}}
    result = compared(
        pair, *(side(name, rows[: n * 999], measures=measures) for name, n in (("a", 1), ("b", 0)))
    )
    by_key = {item.key["key"]: item.a for item in result.top_differences}
    assert by_key == {str(n): Decimal(average) for n, (_, average) in enumerate(AVERAGES)}


def test_an_expression_is_a_measure(pair: Pair) -> None:
    negated = (
        "v * -1", "-v", "v - 2 * v", "CASE WHEN k = 'x' THEN -v ELSE v END", "COALESCE(v, 0) * -1",
        "CAST(v AS DECIMAL(18,2)) * -1", "v * (1 - 2.00)", "ROUND(-v, 2)", "NULLIF(-v, 0)",
    )  # fmt: skip
    plain = {f"m{n}": {"column": "v", "aggregation": "sum"} for n in range(len(negated))}
    expressions = {
        f"m{n}": {"expression": text, "aggregation": "sum"} for n, text in enumerate(negated)
    }
    a = side("a", [("x", "-5.25"), ("x", "1")], (KEY, MONEY), measures=plain)
    b = side("b", [("x", "5.25"), ("x", "-1")], (KEY, MONEY), measures=expressions)
    result = pair.compared(question(a, b, measures=tuple(expressions)))
    assert statuses(result) == {"match": 1}
    assert {measure.total_b for measure in result.summary.measures} == {Decimal("-4.25")}


def test_floats_cast_by_an_expression_are_compared(pair: Pair) -> None:
    measures = {"amount": {"expression": "CAST(v AS DECIMAL(18,2))", "aggregation": "sum"}}
    columns = (KEY, Column("v", "float"))
    a = side("a", [("x", 0.1), ("x", 0.2)], columns, measures=measures)
    b = side("b", [("x", 0.3)], columns, measures=measures)
    result = pair.compared(question(a, b))
    assert statuses(result) == {"match": 1}
    assert result.summary.measures[0].total_a == Decimal("0.30")
