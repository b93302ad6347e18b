"""Comparisons of rows, for every pair of databases, held against the oracle's answers."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.skillian.data.tables.comparing import compare
from tests.skillian.oracle.places import Place
from tests.skillian.oracle.questions import Table
from tests.skillian.oracle.row_cases import Limits, RowCase, row_cases
from tests.skillian.oracle.row_oracle import Expected, expected, multiset

from skillian.data.declare.rules import Rule, Rules
from skillian.data.results.result import ComparisonResult
from skillian.data.sql.values import python_rows
from skillian.data.tables.differing import DifferingRows

# What compares by a statement of its own, and what is staged, or reduced by checksums.
PAIRS = (
    *("duckdb", "postgres", "mysql", "duckdb-duckdb", "duckdb-postgres", "mysql-duckdb"),
    *("sqlite-duckdb", "clickhouse-duckdb", "csv-csv"),
)
EXAMPLES = int(os.environ.get("ROW_EXAMPLES", "8"))

_ALL = Limits().kinds
LIMITS = {
    "duckdb": Limits(),
    "postgres": Limits(),
    # TIMESTAMP begins in 1970, and floats are finite.
    "mysql": Limits(_ALL - {"timestamptz"}, odd_floats=False),
    "sqlite": Limits(_ALL - {"timestamptz"}, (float("nan"),), odd_floats=False),
    "csv": Limits(odd_floats=False),
    # Days from 1900 to 2299.
    "clickhouse": Limits(_ALL - {"timestamptz"}, (date(1, 1, 1), date(9999, 12, 31))),
}


@pytest.fixture(scope="session", params=PAIRS)
def places(request: pytest.FixtureRequest, place_of: Any) -> tuple[str, list[Place]]:
    kinds = request.param.split("-")
    names = kinds
    if kinds[1:] == kinds[:1]:
        # Both tables are in one database, except for DuckDB, of which there are two files.
        names = ["duckdb", "duckdb other"] if kinds[0] == "duckdb" else kinds[:1]
    return request.param, [*map(place_of, names)]


Rows = list[dict[str, Any]]
"""All rows that differ, if they are kept."""


def compared(
    places: list[Place], a: Table, b: Table, question: Mapping[str, Any], kept: Rows | None = None
) -> ComparisonResult:
    if len(places) == 1:
        urls = [places[0].put((a, b))] * 2
    else:
        urls = [place.put([table]) for place, table in zip(places, (a, b), strict=True)]
    suffixes = [place.suffix for place in (places * 2)[:2]]
    names = [
        f"{url}#{table.name}{suffix}"
        for url, table, suffix in zip(urls, (a, b), suffixes, strict=True)
    ]

    async def keep(rows: DifferingRows) -> None:
        async for batch in rows.batches():
            cast("Rows", kept).extend(python_rows(batch))

    return asyncio.run(compare(*names, keep=None if kept is None else keep, **question))


def check(result: ComparisonResult, answer: Expected, kept: Rows | None) -> None:
    """Hold a result, and all rows that differ, against the oracle's answer."""
    if kept is not None:
        classes = Counter(row["class"] for row in kept)
        assert classes["differs"] == answer.counts["differing"]
        assert classes["only in a"] == answer.counts["only_in_a"]
        assert classes["only in b"] == answer.counts["only_in_b"]
        repeated = [row for row in kept if row["class"] == "duplicate key"]
        assert sum(row["rows a"] for row in repeated) == answer.counts["duplicate_rows_a"]
        assert sum(row["rows b"] for row in repeated) == answer.counts["duplicate_rows_b"]
        marks = Counter(name for row in kept for name in (row["differing"] or "").split(", "))
        assert {name: marks[name] for name in answer.mismatches} == answer.mismatches
    assert result.rows.to_dict() == answer.counts
    assert not result.not_compared
    columns = {column.a: column for column in result.columns}
    assert {name: column.mismatches for name, column in columns.items()} == answer.mismatches
    for name, column in columns.items():
        assert [pair.count for pair in column.pairs] == answer.pairs[name], name
        gap = answer.gaps[name]
        if gap is not None:
            assert column.largest_gap is not None
            assert abs(column.largest_gap - gap) <= abs(gap) * Decimal("1e-12"), name
    samples = result.samples
    assert len(samples.differing) == min(10, answer.counts["differing"])
    assert len(samples.only_in_a) == min(10, answer.counts["only_in_a"])
    assert len(samples.only_in_b) == min(10, answer.counts["only_in_b"])
    assert sum(len(row.cells) for row in samples.differing) <= sum(answer.mismatches.values())


_SETTINGS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@given(data=st.data())
@_SETTINGS
def test_rows_by_key(places: tuple[str, list[Place]], data: st.DataObject) -> None:
    case = data.draw(_cases(places[0]))
    own = _fitting_rules(case) if "csv" in places[0] else case.rules
    answer = expected(case.a, case.b, case.keys, own)
    question = {"key": case.keys, "rules": Rules(columns=own)}
    kept: Rows | None = [] if data.draw(st.booleans()) else None
    check(compared(places[1], case.a, case.b, question, kept), answer, kept)


@pytest.mark.parametrize(
    "places", ["duckdb", "postgres", "duckdb-postgres", "mysql-duckdb"], indirect=True
)
@given(data=st.data())
@_SETTINGS
def test_rows_with_counts(places: tuple[str, list[Place]], data: st.DataObject) -> None:
    case = data.draw(_cases(places[0]))
    own = _fitting_rules(case) if "csv" in places[0] else case.rules
    rules = {name: _without_limits(rule) for name, rule in own.items()}
    question = {"multiset": True, "rules": Rules(columns=rules)}
    rows = compared(places[1], case.a, case.b, question).rows
    only = multiset(case.a, case.b, rules)
    assert (rows.only_in_a, rows.only_in_b) == only
    assert rows.matched == len(case.a.rows) - only[0]


def _cases(pair: str) -> st.SearchStrategy[RowCase]:
    kinds = (pair.split("-") * 2)[:2]
    return row_cases(LIMITS[kinds[0]], LIMITS[kinds[1]])


def _fitting_rules(case: RowCase) -> dict[str, Rule]:
    """The rules of a case, but no limits for a column without values, which is text in a file."""
    empty = {
        name
        for name in case.rules
        for table in (case.a, case.b)
        if all(row[table.columns.index(table.column(name))] is None for row in table.rows)
    }
    return {
        name: _without_limits(rule).model_copy(update={"precision": None, "zone": None})
        if name in empty
        else rule
        for name, rule in case.rules.items()
    }


def _without_limits(rule: Rule) -> Rule:
    return rule.model_copy(update={"absolute": None, "relative": None, "seconds": None})
