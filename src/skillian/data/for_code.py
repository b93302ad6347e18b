"""What differs in a comparison as a data frame and a summary, for code that a model writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from pyarrow import compute as pa_compute  # pyright: ignore[reportMissingTypeStubs]

from skillian.connectors.arrow import arrow
from skillian.data.comparison.page import Page
from skillian.data.engine import ComparisonEngine
from skillian.data.results.result import ComparisonResult
from skillian.data.subjects import STATUS

compute: Any = pa_compute  # pyarrow carries no types

MOST = 10_000
"""The largest number of groups or rows in a frame."""
_WHOLE = arrow.decimal128(38, 0)
_STATUS_OF = {words: status for status, words in STATUS.items()}
_OF_GROUP = ("status", "rows_a", "rows_b")
_OF_MEASURE = ("a", "b", "gap", "percentage_diff", "status")


Content = tuple[Any, Mapping[str, Any]]
"""The frame of a comparison, and its counts."""


async def in_code(
    engine: ComparisonEngine,
    result: ComparisonResult,
    content: Callable[[ComparisonResult, Any], Content],
) -> tuple[Any, dict[str, Any]]:
    """The frame and the summary of a comparison, with the rows of its file of differences."""
    async with aclosing(engine.batches(result.cache_key, Page((), limit=MOST))) as batches:
        table = arrow.Table.from_batches([batch async for batch in batches])
    frame, counts = content(result, exact(table))
    unit = result.subject.unit
    total = (await engine.rows(result.cache_key, Page((), limit=1))).total
    return frame, {
        "source_a": result.source_a,
        "source_b": result.source_b,
        "cache_key": result.cache_key,
        **counts,
        f"{unit}_that_differ": total,
        f"{unit}_in_comparison": len(frame),
    }


def groups_in_code(result: ComparisonResult, file: Any) -> Content:
    """The content of a comparison of measures."""
    names = [measure.name for measure in result.measures]
    return group_frame(result.key_columns, names, file), result.summary.to_dict()


def rows_in_code(result: ComparisonResult, file: Any) -> Content:
    """The content of a comparison of whole rows."""
    mismatches = {each.a: each.mismatches for each in result.columns if each.mismatches}
    counts = {"rows": result.rows.to_dict(), "mismatches": mismatches}
    return file, {"key": list(result.key_columns), **counts}


def exact(table: Any) -> Any:
    """The table; integers with a NULL become Decimals, because pandas would use floats."""
    columns = [
        column.cast(_WHOLE) if arrow.types.is_integer(column.type) and column.null_count else column
        for column in table.columns
    ]
    return arrow.table(columns, names=table.column_names)


def group_frame(keys: Sequence[str], measures: Sequence[str], file: Any) -> Any:
    """The groups of a file as an Arrow table, which the sandbox turns into a pandas data frame.

    Columns: the dimensions, `status`, `rows_a`, `rows_b`, and for each measure m: `m_a`, `m_b`,
    `m_gap`, `m_percentage_diff`, `m_status`, `m_absolute_diff`; all amounts are exact Decimals.
    """
    names = [*keys, *_OF_GROUP, *(f"{name}_{part}" for name in measures for part in _OF_MEASURE)]
    columns = dict(zip(names, file.columns, strict=True))
    for name in ("status", *(f"{measure}_status" for measure in measures)):
        statuses = [_STATUS_OF[words] for words in columns[name].to_pylist()]
        columns[name] = arrow.array(statuses, arrow.string())
    sizes = {f"{name}_absolute_diff": _size(columns[f"{name}_gap"]) for name in measures}
    return arrow.table({**columns, **sizes})


def _size(gaps: Any) -> Any:
    """Amounts without their signs; they are texts if one has more digits than a decimal."""
    is_text = arrow.types.is_string(gaps.type)
    return compute.utf8_ltrim(gaps, "-") if is_text else compute.abs(gaps)
