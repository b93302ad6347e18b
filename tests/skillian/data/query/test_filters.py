from typing import Any

import pytest
from sqlglot import exp
from tests.support.cost import cost_of

from skillian.connectors.base import ColumnType
from skillian.connectors.dialects import compile_sql
from skillian.data.query.filters import MAX_VALUES, check_size, condition_sql, parse_filter
from skillian.data.sql import BoundValues, bare
from skillian.errors import InvalidInputError

TEXT = ColumnType("text", "VARCHAR")
MONEY = ColumnType("decimal", "DECIMAL(17,2)", 2)
FLAG = ColumnType("boolean", "BOOLEAN")


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ("abc", MONEY, r"'x' \(DECIMAL\(17,2\)\) takes a number such as 1234.50, not 'abc'"),
        ({"gte": "abc"}, MONEY, "not 'abc'"),
        ([1, "abc"], MONEY, "not 'abc'"),
        ([], TEXT, "an empty list matches no row"),
        ({}, TEXT, "has no operator"),
        ({"like": "a%"}, TEXT, "unknown operator 'like'; operators: ne, gte, gt, lte, lt, between"),
        ({"between": [1]}, MONEY, r"needs \[low, high\]"),
        ({"between": 1}, MONEY, r"needs \[low, high\]"),
        ({"between": [2, 1]}, MONEY, "from low to high, not 2 to 1"),
        ({"gt": None}, MONEY, "None has no order"),
        ({"gt": True}, FLAG, "True has no order"),
        ({"ne": {"ne": 1}}, MONEY, "not {'ne': 1}"),
        ("a" * 1001, TEXT, r"a text of at most 1000 characters, not 'a+\.\.\.a+'$"),
        (["\u202egnp.exe", "\n"], MONEY, r"not '\\u202egnp.exe'"),
        ({"x" * 10_000: 1}, MONEY, r"unknown operator 'x+\.\.\.x+'; operators"),
    ],
)
def test_an_invalid_filter_is_refused_by_name(given: Any, kind: ColumnType, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        parse_filter("x", given, kind)


def test_more_values_than_there_may_be_are_refused() -> None:
    most: list[Any] = list(range(MAX_VALUES))
    filters: tuple[list[Any], ...] = ([[*most, 1]], [{"ne": [*most, 1]}], [most, 1])
    for too_many in (*filters, [{"gte": 1, "ne": most}]):
        with pytest.raises(InvalidInputError, match="hold 1001 values; the limit is 1000"):
            check_size(too_many)
    check_size([most])
    check_size([None] * MAX_VALUES)


@pytest.mark.parametrize(
    ("dialect", "kind", "operator"),
    [("duckdb", TEXT, "in"), ("postgres", TEXT, "in"), ("mysql", TEXT, "ne")],
)
def test_each_value_costs_the_same(dialect: str, kind: ColumnType, operator: str) -> None:
    def work(values: int) -> float:
        given: Any = list(range(values))
        filtered = given if operator == "in" else {"ne": given}

        def compiled() -> None:
            parameters = BoundValues()
            [condition] = parse_filter("x", filtered, kind)
            test = condition_sql(condition, bare("x"), kind, parameters)
            compile_sql(exp.Select(expressions=[exp.Star()]).where(test), dialect)

        return cost_of(compiled)

    work(1)  # the first statement of a dialect makes its tables
    few, many = work(100), work(10 * 100)
    assert many < 30 * few  # linear is 10, quadratic is 100
