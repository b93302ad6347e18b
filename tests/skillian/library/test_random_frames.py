"""Random data frames of each kind, held against the oracle of comparisons of rows."""

from __future__ import annotations

from typing import Any, cast

import pandas as pd
import polars as pl
import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.skillian.oracle.row_cases import Limits, row_cases
from tests.skillian.oracle.row_oracle import expected
from tests.support.places import Column, Table

import skillian
from skillian.data.declare.rules import Rules

_arrow: Any = pa  # pyarrow carries no types
# The columns of pandas in which each value stays what it is.
PANDAS = {
    "text": "str",
    "integer": "Int64",
    "decimal": "object",
    "float": "float64",
    "boolean": "boolean",
    "date": "object",
    "timestamp": "datetime64[us]",
    "timestamptz": "datetime64[us, UTC]",
}


def _type(column: Column) -> Any:
    types = {
        "text": _arrow.string(),
        "integer": _arrow.int64(),
        "decimal": _arrow.decimal128(38, column.scale),
        "float": _arrow.float64(),
        "boolean": _arrow.bool_(),
        "date": _arrow.date32(),
        "timestamp": _arrow.timestamp("us"),
        "timestamptz": _arrow.timestamp("us", "UTC"),
    }
    return types[column.kind]


def _values(table: Table) -> dict[str, list[Any]]:
    return {each.name: [row[at] for row in table.rows] for at, each in enumerate(table.columns)}


def of_arrow(table: Table) -> Any:
    schema = _arrow.schema([(column.name, _type(column)) for column in table.columns])
    return _arrow.table(_values(table), schema=schema)


def of_polars(table: Table) -> Any:
    return pl.from_arrow(of_arrow(table))


def of_pandas(table: Table) -> Any:
    columns = {
        each.name: pd.Series(values, dtype=cast("Any", PANDAS[each.kind]))
        for each, values in zip(table.columns, _values(table).values(), strict=True)
    }
    return pd.DataFrame(columns)


KINDS = {"arrow": of_arrow, "polars": of_polars, "pandas": of_pandas}
LIMITS = {
    "arrow": Limits(),
    "polars": Limits(),
    # NaN is how a float of pandas has no value.
    "pandas": Limits(odd_floats=False),
}


@pytest.mark.parametrize(
    "kinds",
    [("arrow", "arrow"), ("polars", "arrow"), ("pandas", "pandas"), ("pandas", "polars")],
    ids="-".join,
)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_random_frames_have_the_differences_of_the_oracle(
    kinds: tuple[str, str], data: st.DataObject
) -> None:
    one, other = kinds
    case = data.draw(row_cases(LIMITS[one], LIMITS[other]))
    a, b = KINDS[one](case.a), KINDS[other](case.b)
    rules = Rules(columns=case.rules)
    found = skillian.compare(a, b, key=case.keys, rules=rules, accept="schema:*")
    wanted = expected(case.a, case.b, case.keys, case.rules)
    assert found.counts == wanted.counts
    classes = found.rows().to_arrow()["class"].to_pylist()
    assert classes.count("differs") == wanted.counts["differing"]
    assert classes.count("only in a") == wanted.counts["only_in_a"]
    assert classes.count("only in b") == wanted.counts["only_in_b"]
    names = [
        name
        for text in found.rows("differs").to_arrow()["differing"].to_pylist()
        for name in text.split(", ")
    ]
    assert {name: names.count(name) for name in wanted.mismatches} == wanted.mismatches
