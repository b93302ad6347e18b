"""What differs in a comparison as a data frame and a summary, for code that a model writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from decimal import Decimal
from typing import Any, cast

from skillian.connectors.arrow import arrow
from skillian.data.comparison.page import Page
from skillian.data.comparison.rows import GroupRow
from skillian.data.engine import ComparisonEngine
from skillian.data.results.result import ComparisonResult

MOST = 10_000
"""The largest number of groups or rows in a frame."""
_WHOLE = arrow.decimal128(38, 0)
_NUMBERS = ("a", "b", "gap", "absolute_diff", "percentage_diff")


async def groups_in_code(
    engine: ComparisonEngine, result: ComparisonResult
) -> tuple[Any, dict[str, Any]]:
    """The frame and the summary of a comparison of measures."""
    measures = [measure.name for measure in result.measures]
    page = await engine.rows(result.cache_key, Page((), limit=MOST), MOST)
    frame = make_frame(result.key_columns, measures, cast("Sequence[GroupRow]", page.rows))
    return frame, _summary(result, result.summary.to_dict(), frame, page.total)


async def rows_in_code(
    engine: ComparisonEngine, result: ComparisonResult
) -> tuple[Any, dict[str, Any]]:
    """The frame and the summary of a comparison of whole rows."""
    async with aclosing(engine.batches(result.cache_key, Page((), limit=MOST))) as batches:
        frame = _row_frame([batch async for batch in batches])
    total = (await engine.rows(result.cache_key, Page((), limit=1))).total
    counts = {
        "key": list(result.key_columns),
        "rows": result.rows.to_dict(),
        "mismatches": {each.a: each.mismatches for each in result.columns if each.mismatches},
    }
    return frame, _summary(result, counts, frame, total)


def _summary(
    result: ComparisonResult, counts: Mapping[str, Any], frame: Any, total: int
) -> dict[str, Any]:
    """The counts of the result, and how many groups or rows the frame holds."""
    unit = result.subject.unit
    return {
        "source_a": result.source_a,
        "source_b": result.source_b,
        "cache_key": result.cache_key,
        **counts,
        f"{unit}_that_differ": total,
        f"{unit}_in_comparison": len(frame),
    }


def make_frame(align_on: Sequence[str], measures: Sequence[str], rows: Sequence[GroupRow]) -> Any:
    """The groups as an Arrow table, which the sandbox turns into a pandas data frame.

    Columns: the dimensions, `status`, `rows_a`, `rows_b`, and for each measure m: `m_a`, `m_b`,
    `m_gap`, `m_absolute_diff`, `m_percentage_diff`, all exact Decimals.
    """
    columns: dict[str, Any] = {
        name: _column(row.key.get(name) for row in rows) for name in align_on
    }
    columns["status"] = arrow.array([row.status for row in rows], arrow.string())
    columns["rows_a"] = arrow.array([row.rows_a for row in rows], arrow.int64())
    columns["rows_b"] = arrow.array([row.rows_b for row in rows], arrow.int64())
    for index, measure in enumerate(measures):
        for number in _NUMBERS:
            values = [getattr(row.measures[index], number) for row in rows]
            columns[f"{measure}_{number}"] = _decimals(values)
    return arrow.table(columns)


def _row_frame(batches: Sequence[Any]) -> Any:
    """The rows that differ as an Arrow table; integers with a NULL become Decimals as well."""
    table = arrow.Table.from_batches(batches)
    columns = [
        column.cast(_WHOLE) if arrow.types.is_integer(column.type) and column.null_count else column
        for column in table.columns
    ]
    return arrow.table(columns, names=table.column_names)


def _column(keys: Iterable[object]) -> Any:
    """Keys as they are; integers with a NULL become Decimals, because pandas would use floats."""
    values = list(keys)
    whole = [isinstance(value, int) and not isinstance(value, bool) for value in values]
    if any(whole) and not all(whole):
        return _decimals(values)
    # Without values Arrow would choose the type `null`, which the sandbox does not support.
    return (
        arrow.array(values)
        if any(v is not None for v in values)
        else arrow.array(values, arrow.string())
    )


def _decimals(values: Sequence[Any]) -> Any:
    exact = [value if value is None else Decimal(value) for value in values]
    known = any(value is not None for value in exact)
    return arrow.array(exact) if known else arrow.array(exact, arrow.decimal128(38, 2))
