"""Rules of keys, measures and names: what meets, exact to the last digit, by what is declared."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.oracle.questions import Column
from tests.skillian.oracle.running import (
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
