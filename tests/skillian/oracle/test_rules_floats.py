"""Rules of binary floats: the decimals they print, NaN, and the infinities."""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.skillian.oracle.oracle import AGGREGATIONS
from tests.skillian.oracle.questions import Column, Side
from tests.skillian.oracle.running import KEY, Pair, compared, only, question, side, statuses
from tests.skillian.oracle.tables import Profile

from skillian.data.services import DataServices
from skillian.errors import QueryError

FLOAT = Column("v", "float")
NAN, HIGH, LOW = math.nan, math.inf, -math.inf
EACH = {how: {"column": "v", "aggregation": how} for how in ("sum", "avg", "min", "max")}


def floats(name: str, rows: Sequence[tuple[Any, Any]], measures: Any = None) -> Side:
    return side(name, rows, (KEY, FLOAT), measures=measures)


def test_floats_count_as_the_decimals_they_print(pair: Pair) -> None:
    a = [("x", 0.1), ("x", 0.2), ("y", 1e-7), ("z", 123456789012.5), (None, -0.0)]
    b = [("x", 0.3), ("y", 0.0000001), ("z", 123456789012.0), ("z", 0.5), (None, 0.0)]
    result = compared(pair, floats("a", a), floats("b", b))
    shortest = "the shortest decimal that reads back as the same float"
    assert any(shortest in text for text in result.sentences)
    decimals = side("b", [("x", "0.10"), ("y", "0.30"), ("z", "1")])
    result = compared(
        pair, floats("a", [("x", 0.1), ("y", 0.1 + 0.2), ("z", NAN), ("u", HIGH)]), decimals
    )
    assert any("NaN or infinite" in text for text in result.sentences)


def test_nan_in_a_decimal_of_postgres(place_of: Any) -> None:
    rows: list[tuple[Any, Any]] = [("x", "NaN"), ("x", "1"), ("y", "2")]
    pair = Pair([place_of("postgres")], Profile())
    result = pair.compared(question(rows, rows))
    assert statuses(result) == {"match": 2}
    result = pair.compared(question(rows, [("x", "1"), ("y", "2")]))
    assert only(result).reason == "nan_in_a"
    [amount] = result.summary.measures
    assert (str(amount.total_a), amount.total_b) == ("NaN", Decimal(3))


def test_one_source_gives_the_same_answers(pair: Pair) -> None:
    rows = [("x", 0.1), ("x", 0.2), ("y", NAN), ("y", 1.0), ("z", LOW), (None, None)]
    asked = question(floats("a", rows, EACH), floats("b", rows, EACH), measures=[*EACH])

    async def ask(services: DataServices) -> Any:
        return await services.query.query("a", ["key"], [*EACH])

    found = {row[0]: [str(value) for value in row[1:]] for row in pair.asked(asked, ask).rows}
    assert [Decimal(value) for value in found["x"]] == [
        Decimal(text) for text in ("0.3", "0.15", "0.1", "0.2")
    ]
    assert [*found["y"][:2], found["y"][3]] == ["NaN"] * 3
    assert Decimal(found["y"][2]) == 1
    assert found["z"] == ["-Infinity"] * 4
    assert found[None] == ["None"] * 4


values = st.one_of(
    st.none(),
    st.sampled_from([NAN, HIGH, LOW, 0.0, -0.0, 0.1, 1 / 3, 1e-10, 12345678.9]),
    st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6),
)
finite = values.filter(lambda value: value is None or value - value == 0)
MOST = {how: {"column": "v", "aggregation": how} for how in AGGREGATIONS if how != "avg"}


def tables(cells: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[Any, Any]]]:
    return st.lists(st.tuples(st.sampled_from(["x", "y", None]), cells), max_size=8)


@settings(max_examples=max(5, settings().max_examples // 5))
@given(a=tables(values), b=tables(values))
def test_any_floats_equal_the_oracle(
    pair: Pair, a: list[tuple[Any, Any]], b: list[tuple[Any, Any]]
) -> None:
    compared(pair, floats("a", a, MOST), floats("b", b, MOST), measures=[*MOST])


@pytest.fixture(params=["sqlite", "csv"])
def untyped_pair(request: pytest.FixtureRequest, place_of: Any) -> Pair:
    """A database or files whose columns have no types to rely on, compared with DuckDB."""
    return Pair([place_of(request.param), place_of("duckdb")], Profile())


@settings(
    max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(a=tables(finite), b=tables(finite))
def test_finite_floats_of_sqlite_and_csv_equal_the_oracle(
    untyped_pair: Pair, a: list[tuple[Any, Any]], b: list[tuple[Any, Any]]
) -> None:
    compared(untyped_pair, floats("a", a, MOST), floats("b", b, MOST), measures=[*MOST])


def test_infinities_of_sqlite_equal_themselves_only_and_nan_is_null(place_of: Any) -> None:
    pair = Pair([place_of("sqlite"), place_of("duckdb")], Profile())
    a = [("same", HIGH), ("other", HIGH), ("number", 0.1), ("nan", NAN)]
    b = [("same", HIGH), ("other", LOW), ("number", 0.1), ("nan", NAN)]
    result = pair.compared(question(floats("a", a), floats("b", b)))
    assert statuses(result) == {"match": 2, "major_diff": 2}
    reasons = {item.key["key"]: item.reason for item in result.top_differences}
    assert reasons == {"other": "infinite_in_a", "nan": "null_in_a"}


def test_a_csv_file_with_nan_is_refused_until_its_expression_is_declared(place_of: Any) -> None:
    pair = Pair([place_of("csv"), place_of("duckdb")], Profile())
    a, b = [("x", NAN), ("y", 0.1), ("z", HIGH)], [("x", NAN), ("y", 0.1), ("z", 1.0)]
    with pytest.raises(
        QueryError, match=r"'nan' \(line 2\), 'inf'.*`expression: CAST\(v AS DOUBLE\)`"
    ):
        pair.compared(question(floats("a", a), floats("b", b)))
    declared = {"amount": {"expression": "CAST(v AS DOUBLE)", "aggregation": "sum"}}
    result = pair.compared(question(floats("a", a, declared), floats("b", b)))
    assert statuses(result) == {"match": 2, "major_diff": 1}
    assert only(result).reason == "infinite_in_a"
