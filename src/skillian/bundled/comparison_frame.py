"""A comparison as code sees it: a table of the groups that differ, and a summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow  # noqa: ICN001 - see below # pyright: ignore[reportMissingTypeStubs]

from skillian.data.comparison import MAX_PAGE
from skillian.data.comparison.engine import ComparisonEngine
from skillian.data.comparison.results import ComparisonResult
from skillian.data.comparison.rows import GroupRow

pa: Any = pyarrow  # it has no types

MOST_GROUPS = 10_000
_NUMBERS = ("a", "b", "gap", "absolute_diff", "percentage_diff")


async def read_groups(engine: ComparisonEngine, cache_key: str) -> tuple[list[GroupRow], int]:
    """The groups that differ, the largest first, up to a bound; and how many there are."""
    rows: list[GroupRow] = []
    while True:
        page = await engine.rows(cache_key, None, len(rows), MAX_PAGE)
        rows += page.rows
        if not page.rows or len(rows) >= min(page.total, MOST_GROUPS):
            return rows[:MOST_GROUPS], page.total


def make_frame(align_on: Sequence[str], measures: Sequence[str], rows: Sequence[GroupRow]) -> Any:
    """The groups as an Arrow table, which arrives in the sandbox as a pandas data frame.

    Columns: the dimensions, `status`, `rows_a`, `rows_b`, and for each measure m: `m_a`, `m_b`,
    `m_gap`, `m_absolute_diff`, `m_percentage_diff`, all exact Decimals.
    """
    columns: dict[str, Any] = {
        name: _column(row.key.get(name) for row in rows) for name in align_on
    }
    columns["status"] = pa.array([row.status for row in rows], pa.string())
    columns["rows_a"] = pa.array([row.rows_a for row in rows], pa.int64())
    columns["rows_b"] = pa.array([row.rows_b for row in rows], pa.int64())
    for at, measure in enumerate(measures):
        for number in _NUMBERS:
            values = [getattr(row.measures[at], number) for row in rows]
            columns[f"{measure}_{number}"] = _decimals(values)
    return pa.table(columns)


def make_summary(result: ComparisonResult, shown: int, total: int) -> dict[str, Any]:
    """The result's summary, with what the frame holds of it; amounts are strings."""
    return {
        "source_a": result.source_a,
        "source_b": result.source_b,
        "cache_key": result.cache_key,
        **result.summary.to_dict(),
        "groups_that_differ": total,
        "groups_in_comparison": shown,
    }


def _column(given: Iterable[object]) -> Any:
    """Keys as they are; whole numbers beside a NULL are Decimals, which floats would round."""
    values = list(given)
    whole = [isinstance(value, int) and not isinstance(value, bool) for value in values]
    if any(whole) and not all(whole):
        return _decimals(values)
    # Arrow has a type for nothing but NULL, which the sandbox does not know of no rows.
    return pa.array(values) if any(v is not None for v in values) else pa.array(values, pa.string())


def _decimals(values: Sequence[Any]) -> Any:
    exact = [value if value is None else Decimal(value) for value in values]
    known = any(value is not None for value in exact)
    return pa.array(exact) if known else pa.array(exact, pa.decimal128(38, 2))
