"""The Arrow types of the rows of a statement, by the kinds of their columns."""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pyarrow  # noqa: ICN001 - see below # pyright: ignore[reportMissingTypeStubs]

from skillian.connectors.base import MAX_DIGITS, ArrowBatch, Column, ColumnType, Kind
from skillian.errors import UnreadableColumnError

arrow: Any = pyarrow  # it carries no types

Values = TypeVar("Values")

_NO_TEXT = "Invalid UTF8"
_UNPARSED = re.compile(r"Failed to parse string: ('.*') as a scalar of type .*", re.DOTALL)
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


def result_type(kind: ColumnType) -> Any:
    """The Arrow type for a column of a result, in which a whole number may be wide."""
    return arrow.decimal128(MAX_DIGITS, 0) if kind.wide else arrow_type(kind)


def arrow_schema(columns: Iterable[Column]) -> Any:
    """The `pyarrow.Schema` of a result."""
    return arrow.schema([(name, result_type(kind)) for name, kind in columns])


def empty_batch(schema: Any) -> ArrowBatch:
    """A `pyarrow.RecordBatch` without rows."""
    columns = [arrow.nulls(0, each.type) for each in schema]  # loads no pandas
    batch: ArrowBatch = arrow.RecordBatch.from_arrays(columns, schema=schema)
    return batch


def batch_of(
    columns: Iterable[Column],
    values: Iterable[Values],
    array: Callable[[Values, ColumnType], Any],
    expected: str = "a valid {sql}",
) -> ArrowBatch:
    """The rows of a result as a `pyarrow.RecordBatch`.

    Args:
        columns: The columns of the result.
        values: The values of each column.
        array: Makes the Arrow array of a column, of its `result_type`.
        expected: What a value should be, for a message, by the `type` in Arrow and in `sql`.

    Raises:
        UnreadableColumnError: A value is not one of its column's type.
    """
    arrays: list[Any] = []
    named = [*columns]
    for (name, kind), each in zip(named, values, strict=True):
        try:
            arrays.append(array(each, kind))
        except (arrow.ArrowInvalid, ValueError, TypeError, ArithmeticError) as error:
            goal = expected.format(sql=kind.sql, type=result_type(kind))
            text = _UNPARSED.fullmatch(str(error))
            reason = f"holds a value that is not {goal}: {error}"
            if text is not None:
                reason = f"holds {text[1]}, which is not {goal}"
            elif _NO_TEXT in str(error):
                reason = (
                    f"holds bytes that are not UTF-8, and so no text ({kind.sql}): compare a query"
                    " or a view that writes them with hex()"
                )
            raise UnreadableColumnError(
                name,
                reason,
                "declare `type: text` for its dimension",
                is_beyond=text is not None and text[1].startswith("'0000-00-00"),
            ) from None
    batch: ArrowBatch = arrow.record_batch(arrays, schema=arrow_schema(named))
    return batch
