"""Rules of keys, measures and names: what meets, exact to the last digit, by what is declared."""

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.oracle.questions import Column
from tests.skillian.oracle.running import (
    AMOUNT,
    KEY,
    Pair,
    compared,
    only,
    question,
    side,
    statuses,
)
from tests.support.asking import measures_asked

MONEY = Column("v", "decimal", 2, 24)


DIFFERENT_TEXTS = (
    ("1001", "1001 "), ("1001", " 1001"), ("abc", "ABC"), ("é", "e\u0301"), ("é", "e"), ("ß", "ss"),
    ("1001", "01001"), ("1001", "1001\u00a0"), ("a", "a\u200b"), ("Å", "\u212b"), ("", " "),
    ("a\n", "a"), ("\uff11", "1"), ("x", "x\x01"), ("", None), (None, ""),
    ("x" * 5000, "x" * 4999 + "y"),
)  # fmt: skip


def test_texts_are_compared_exactly(pair: Pair) -> None:
    columns = (Column("n", "integer"), KEY, AMOUNT)
    dimensions = {"number": {"column": "n"}, "key": {"column": "k"}}
    rows = [[(n, each[index], 1) for n, each in enumerate(DIFFERENT_TEXTS)] for index in (0, 1)]
    same = [(-1, "\x01\x7f\u2028a\rb😀", 1), (None, "x", 2), (None, None, 3), (-2, None, 4)]
    a, b = (side(name, [*rows[n], *same], columns, dimensions) for n, name in enumerate("ab"))
    result = compared(pair, a, b, align_on=("number", "key"))
    assert result.summary.classes.match == len(same)
    assert list(result.top_differences[0].key) == ["number", "key"]


LEAP = date(2024, 2, 29)


def test_keys_of_every_type_meet_and_come_back_as_they_are(pair: Pair) -> None:
    kinds = {"day": "date", "flag": "boolean", "time": "timestamp", "number": "integer"}
    columns = (*(Column(name, kind) for name, kind in kinds.items()), AMOUNT)
    dimensions = {column.name: {"column": column.name} for column in columns[:-1]}
    moment = datetime(2024, 1, 1, 12, 0, 0, 1)  # noqa: DTZ001
    rows = [
        (LEAP, True, moment, 2**63 - 1, 1),
        (date(1, 1, 1), False, None, -(2**63), 2),
        (date(9999, 12, 31), None, moment, 0, 3),
        (None, True, moment, None, 4),
    ]
    a = side("a", rows, columns, dimensions)
    for other in (rows, []):
        compared(pair, a, side("b", other, columns, dimensions), align_on=tuple(dimensions))


def test_sums_may_be_longer_than_their_values(pair: Pair) -> None:
    columns = (KEY, MONEY, Column("w", "integer"))
    measures = {name: {"column": name, "aggregation": "sum"} for name in "vw"}
    rows = [("x", "9999999999999999999999.99", 2**63 - 1)] * 100
    a, b = side("a", rows, columns, None, measures), side("b", rows[:50], columns, None, measures)
    result = compared(pair, a, b, measures=["v", "w"])
    sums = [(item.a, item.b) for item in result.top_differences]
    assert sums[0][0] == Decimal("999999999999999999999999.00")
    assert sums[1] == (Decimal(100 * (2**63 - 1)), Decimal(50 * (2**63 - 1)))


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


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, v * 2 AS v FROM table_b WHERE v > 0",
        "SELECT k, SUM(v) * 2 AS v FROM table_b WHERE v > 0 GROUP BY k",
        "WITH kept AS (SELECT k, v FROM table_b WHERE v > 0) SELECT k, v + v AS v FROM kept",
        (
            "SELECT one.k, one.v + other.v AS v FROM table_b AS one JOIN table_b AS other"
            " ON one.k = other.k WHERE one.v > 0"
        ),
    ],
)
def test_a_query_may_take_the_place_of_a_table(pair: Pair, query: str) -> None:
    rows = [("x", 1), ("y", 2), ("z", -1)]
    b = replace(side("b", rows), query=pair.written(query))
    result = pair.compared(question([("x", 2), ("y", 3)], b))
    assert statuses(result) == {"match": 1, "major_diff": 1}
    assert [only(result).gap, result.summary.rows_b] == [1, 2]


def test_names_given_twice_count_once(one_pair: Pair) -> None:
    asked = question([("x", 1)], [("x", 2)], measures=["amount"], align_on=("key", "key"))
    result = one_pair.compared(asked)
    assert result.key_columns == ("key",)
    both = one_pair.asked(
        asked, lambda each: each.comparison.compare(measures_asked("a", "b", ["amount"] * 2))
    )
    assert [measure.name for measure in both.summary.measures] == ["amount"]
