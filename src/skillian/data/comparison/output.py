"""The groups of a comparison as rows of a file."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Sequence
from typing import Any

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

from skillian.connectors.base import ArrowBatch
from skillian.data.comparison.results import ComparisonResult, Status
from skillian.data.comparison.rows import GroupRow

_arrow: Any = pa  # pyarrow carries no types

STATUS: dict[Status, str] = {
    "match": "match",
    "minor_diff": "minor",
    "major_diff": "major",
    "missing_in_a": "only in b",
    "missing_in_b": "only in a",
}
"""The name of each class."""


async def group_batches(
    result: ComparisonResult, batches: AsyncIterable[Sequence[GroupRow]]
) -> AsyncGenerator[ArrowBatch]:
    """Yield the groups of a comparison of measures as rows of a file."""
    rows = [[*_cells(row)] async for batch in batches for row in batch]
    names = headings(result)
    columns = [_arrow.array([row[index] for row in rows]) for index in range(len(names))]
    yield _arrow.RecordBatch.from_arrays(columns, names=names)


def headings(result: ComparisonResult) -> list[str]:
    """The names of the columns: the dimensions, the class, the rows, and those of each measure."""
    names = [*result.proof.align_on, "class", "rows a", "rows b"]
    for measure in result.summary.measures:
        unit = f" ({measure.unit})" if measure.unit else ""
        names += [f"{measure.name} {part}{unit}" for part in ("a", "b", "b - a")]
        names += [f"{measure.name} %", f"{measure.name} class"]
    return names


def _cells(row: GroupRow) -> Iterator[object]:
    """The values of one group; amounts are `Decimal`."""
    yield from row.key.values()
    yield STATUS[row.status]
    yield row.rows_a
    yield row.rows_b
    for each in row.measures:
        yield from (each.a, each.b, each.gap)
        yield each.percentage_diff
        yield STATUS[each.status]
