"""The Arrow types of the rows of a statement, by the kinds of their columns."""

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow  # noqa: ICN001 - see below # pyright: ignore[reportMissingTypeStubs]

from skillian.connectors.base import MAX_DIGITS, ArrowBatch, ColumnType, Kind
from skillian.errors import UnreadableColumnError

arrow: Any = pyarrow  # it carries no types

_TYPES: dict[Kind, Any] = {
    "text": arrow.string(),
    "integer": arrow.int64(),
    "float": arrow.float64(),
    "boolean": arrow.bool_(),
    "date": arrow.date32(),
    "timestamp": arrow.timestamp("us"),
    "timestamptz": arrow.timestamp("us", tz="UTC"),
    "other": arrow.string(),
}


def arrow_type(kind: ColumnType) -> Any:
    """The Arrow type for values of a column; `other` is text."""
    return arrow.decimal128(MAX_DIGITS, kind.scale) if kind.kind == "decimal" else _TYPES[kind.kind]


def arrow_schema(
    columns: Iterable[tuple[str, ColumnType]], type_of: Callable[[ColumnType], Any] = arrow_type
) -> Any:
    """The `pyarrow.Schema` of a result; `type_of` gives the type of each column."""
    return arrow.schema([(name, type_of(kind)) for name, kind in columns])


def empty_batch(schema: Any) -> ArrowBatch:
    """A `pyarrow.RecordBatch` without rows."""
    columns = [arrow.nulls(0, each.type) for each in schema]  # loads no pandas
    batch: ArrowBatch = arrow.RecordBatch.from_arrays(columns, schema=schema)
    return batch


def unreadable(name: str, kind: str, error: Exception) -> UnreadableColumnError:
    """The error for a column with a value that its type, of this name, does not hold."""
    return UnreadableColumnError(
        name, f"holds a value that is not {kind}: {error}", "declare `type: text` for its dimension"
    )
