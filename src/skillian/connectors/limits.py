"""How long a statement may run, and how much it may return."""

from collections.abc import Iterator
from typing import Any, cast

from skillian.connectors.base import ArrowBatch, ArrowTable
from skillian.errors import QueryError

TIMEOUT_SECONDS = 30.0
STREAM_TIMEOUT_SECONDS = 3600.0
ROW_BUDGET = 100_000
BYTE_BUDGET = 64 * 1024 * 1024


class ResultBudget:
    """What the result of one statement may still take before it is refused."""

    def __init__(self) -> None:
        self._rows = self._bytes = 0

    def spend(self, batch: ArrowBatch) -> None:
        """Count a batch; raises `QueryError` beyond `ROW_BUDGET` rows or `BYTE_BUDGET` bytes."""
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows > ROW_BUDGET or self._bytes > BYTE_BUDGET:
            raise QueryError(
                f"the result is larger than {ROW_BUDGET} rows or {BYTE_BUDGET >> 20} MB;"
                " narrow it with filters, or group by fewer dimensions"
            )


def table_within_budget(batches: Iterator[ArrowBatch], schema: Any) -> ArrowTable:
    """All batches as one table; raises `QueryError` for one that exceeds the budget.

    Args:
        batches: The rows; the iterator may block.
        schema: The `pyarrow.Schema` of the table, which may have no rows.
    """
    import pyarrow as pa  # noqa: PLC0415 - slow to load # pyright: ignore[reportMissingTypeStubs]

    budget, kept = ResultBudget(), list[ArrowBatch]()
    for batch in batches:
        budget.spend(batch)
        kept.append(batch)
    arrow: Any = pa  # it carries no types
    return cast("ArrowTable", arrow.Table.from_batches(kept, schema))
