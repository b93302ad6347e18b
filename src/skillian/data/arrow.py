"""From what a database gave to Python values."""

from typing import Any

from skillian.connectors.base import ArrowBatch, ArrowTable
from skillian.errors import QueryError


def rows(table: ArrowTable | ArrowBatch) -> list[dict[str, Any]]:
    """Return the rows; raises `QueryError` for a date that Python has no value for."""
    try:
        return table.to_pylist()
    except (OverflowError, ValueError):
        raise QueryError(
            "the result holds a date outside the years 1 to 9999; declare `type: text` for its"
            " dimension"
        ) from None
