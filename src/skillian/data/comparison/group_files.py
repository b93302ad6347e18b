"""The groups of a comparison as the rows of a file, converted by columns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from skillian.connectors.arrow import arrow, arrow_type
from skillian.connectors.base import MAX_DIGITS, ArrowBatch
from skillian.data.comparison.plan import ComparisonPlan, MeasurePlan
from skillian.data.query.measures import number_of
from skillian.data.results.groups import gap_of, percentage_of
from skillian.data.results.result import ComparisonResult
from skillian.data.sql.values import jsonable, python_columns, python_value
from skillian.data.subjects import STATUS

Columns = Sequence[Sequence[object]]
"""The values of some groups, by the columns of a file."""
_AT_ONCE = 10_000


def group_types(plan: ComparisonPlan) -> Iterator[Any]:
    """Yield the types of Arrow of the columns of a file, in the order of `headings`."""
    yield from (arrow_type(term.type) for term in plan.a.keys)
    yield from (arrow.string(), arrow.int64(), arrow.int64())
    for measure in plan.measures:
        yield from [arrow.decimal128(MAX_DIGITS, measure.scale)] * 3
        yield from (arrow.decimal128(MAX_DIGITS, 4), arrow.string())


async def group_columns(
    batches: AsyncIterable[ArrowBatch], plan: ComparisonPlan
) -> AsyncGenerator[Columns]:
    """Yield what `Groups.tables` yields as the columns of a file, in the order of `headings`."""
    async for batch in batches:
        yield await asyncio.to_thread(lambda: [*_columns(batch, plan)])  # noqa: B023 - awaited


async def group_batches(
    result: ComparisonResult, columns: AsyncIterable[Columns], types: Iterable[Any]
) -> AsyncGenerator[ArrowBatch]:
    """Yield the groups of a comparison of measures as rows of a file.

    A column has the type of its dimension or measure, also without groups; it is text if a value is
    not of that type, such as NaN.
    """
    names = headings(result)
    whole: list[list[object]] = [[] for _ in names]
    async for part in columns:
        for column, values in zip(whole, part, strict=True):
            column.extend(values)

    def arrays() -> ArrowBatch:
        made = [_array(values, kind) for values, kind in zip(whole, types, strict=True)]
        batch: ArrowBatch = arrow.RecordBatch.from_arrays(made, names=names)
        return batch

    batch: Any = await asyncio.to_thread(arrays)
    for start in range(0, max(batch.num_rows, 1), _AT_ONCE):
        yield batch.slice(start, _AT_ONCE)


def headings(result: ComparisonResult) -> list[str]:
    """The names of the columns: the dimensions, the class, the rows, and those of each measure."""
    names = [*result.key_columns, "class", "rows a", "rows b"]
    for measure in result.summary.measures:
        unit = f" ({measure.unit})" if measure.unit else ""
        names += [f"{measure.name} {part}{unit}" for part in ("a", "b", "b - a")]
        names += [f"{measure.name} %", f"{measure.name} class"]
    return names


def _columns(batch: ArrowBatch, plan: ComparisonPlan) -> Iterator[Sequence[object]]:
    stored = dict(zip(batch.schema.names, python_columns(batch), strict=True))
    for position, term in enumerate(plan.a.keys):
        kind = term.type.kind
        yield [python_value(value, kind) for value in stored[f"key_{position}"]]
    yield [STATUS[status] for status in stored["status"]]
    yield [int(rows) for rows in stored["rows_a"]]
    yield [int(rows) for rows in stored["rows_b"]]
    for index, measure in enumerate(plan.measures):
        a, b = (_numbers(stored, measure, f"{side}_{index}") for side in "ab")
        yield from (a, b, list(map(gap_of, a, b)), list(map(percentage_of, a, b)))
        yield [STATUS[status] for status in stored[f"status_{index}"]]


def _numbers(
    stored: Mapping[str, Sequence[Any]], measure: MeasurePlan, name: str
) -> Sequence[Decimal | None]:
    values = stored[name]
    return list(map(number_of, values, stored[f"x{name}"])) if measure.has_code else values


def _array(values: Sequence[object], kind: Any) -> Any:
    try:
        return arrow.array(values, type=kind)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, OverflowError):
        texts = [None if value is None else str(jsonable(value)) for value in values]
        return arrow.array(texts, type=arrow.string())
