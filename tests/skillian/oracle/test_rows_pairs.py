"""Comparisons of rows, for every pair of databases, held against the oracle's answers."""

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
from tests.skillian.oracle.row_cases import Limits, RowCase, row_cases
from tests.skillian.oracle.row_oracle import Expected, expected, multiset
from tests.skillian.oracle.running import Pair
from tests.support.places import Table

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


Rows = list[dict[str, Any]]
"""All rows that differ, if they are kept."""


def compared(
    pair: Pair, a: Table, b: Table, question: Mapping[str, Any], kept: Rows | None = None
) -> ComparisonResult:
    names = [
        f"{url}#{table.name}{suffix}"
        for url, table, suffix in zip(pair.put(a, b), (a, b), pair.suffixes, strict=True)
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


@pytest.mark.parametrize("any_pair", PAIRS, indirect=True)
@given(data=st.data())
@_SETTINGS
def test_rows_by_key(any_pair: Pair, data: st.DataObject) -> None:
    case = data.draw(_cases(any_pair))
    own = _fitting_rules(case) if "csv" in any_pair.kinds else case.rules
    answer = expected(case.a, case.b, case.keys, own)
    question = {"key": case.keys, "rules": Rules(columns=own)}
    kept: Rows | None = [] if data.draw(st.booleans()) else None
    check(compared(any_pair, case.a, case.b, question, kept), answer, kept)


@pytest.mark.parametrize(
    "any_pair", ["duckdb", "postgres", "duckdb-postgres", "mysql-duckdb"], indirect=True
)
@given(data=st.data())
@_SETTINGS
def test_rows_with_counts(any_pair: Pair, data: st.DataObject) -> None:
    case = data.draw(_cases(any_pair))
    rules = {name: _without_limits(rule) for name, rule in case.rules.items()}
    question = {"multiset": True, "rules": Rules(columns=rules)}
    rows = compared(any_pair, case.a, case.b, question).rows
    only = multiset(case.a, case.b, rules)
    assert (rows.only_in_a, rows.only_in_b) == only
    assert rows.matched == len(case.a.rows) - only[0]


def _cases(pair: Pair) -> st.SearchStrategy[RowCase]:
    return row_cases(*(LIMITS[kind] for kind in pair.kinds))


def _fitting_rules(case: RowCase) -> dict[str, Rule]:
    """The rules of a case, but no limits for a column without values, which is text in a file."""
    empty = {
        name
        for name in case.rules
        for table in (case.a, case.b)
        if all(row[table.columns.index(table.column(name))] is None for row in table.rows)
    }
    return {
        name: _without_limits(rule) if name in empty else rule for name, rule in case.rules.items()
    }


def _without_limits(rule: Rule) -> Rule:
    return rule.model_copy(update={"absolute": None, "relative": None, "seconds": None})
