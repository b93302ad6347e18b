"""Rows of a DB-API cursor as Arrow, and their types."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from skillian.connectors.arrow import arrow, unreadable
from skillian.connectors.arrow import arrow_schema as schema_of
from skillian.connectors.arrow import arrow_type as type_of
from skillian.connectors.base import MAX_DIGITS, ArrowBatch, ColumnType, Kind

BATCH_ROWS = 8192

_TYPE = re.compile(r"(?P<name>[A-Z0-9_ ]++)\s*+(?:\((?P<arguments>[^)]*+)\).*)?", re.DOTALL)

Column = tuple[str, ColumnType]


def column_type(kinds: Mapping[str, Kind], written: str, scale: int | None = None) -> ColumnType:
    """A type by the vendor's name for it, as in `NUMBER(18,2)`.

    Args:
        kinds: The kinds of the vendor's types.
        written: The name.
        scale: The scale of a decimal, if it is not in the name. A decimal without a fraction is an
            integer; one without a scale is "other".
    """
    match = _TYPE.fullmatch(written.strip().upper())
    kind = kinds.get(match["name"].rstrip(), "other") if match else "other"
    if kind != "decimal" or match is None:
        return ColumnType(kind, written)
    if scale is None and match["arguments"]:
        scale = int(match["arguments"].partition(",")[2] or 0)
    if scale is None or not 0 <= scale <= MAX_DIGITS:
        return ColumnType("other", written)
    name = written if match["arguments"] else f"{written}({MAX_DIGITS},{scale})"
    return ColumnType("decimal", name, scale) if scale else ColumnType("integer", name)


def arrow_schema(columns: Sequence[Column]) -> Any:
    """The `pyarrow.Schema` of a result."""
    return schema_of(columns, _arrow_type)


def batches(cursor: Any, columns: Sequence[Column]) -> Iterator[ArrowBatch]:
    """Yield the rows of a cursor.

    Raises `UnreadableColumnError` for a value that its type does not hold.
    """
    while rows := cursor.fetchmany(BATCH_ROWS):
        values = zip(columns, zip(*rows, strict=True), strict=True)
        arrays = [_array(name, listed, kind) for (name, kind), listed in values]
        batch: ArrowBatch = arrow.record_batch(arrays, schema=arrow_schema(columns))
        yield batch


def _array(name: str, values: Sequence[Any], kind: ColumnType) -> Any:
    convert = _CONVERT.get(kind.kind, str)
    try:
        converted = [None if value is None else convert(value) for value in values]
        return arrow.array(converted, _arrow_type(kind))
    except (arrow.ArrowInvalid, ValueError, TypeError, ArithmeticError) as error:
        raise unreadable(name, f"a valid {kind.sql}", error) from None


def _number(value: Any) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(str(value))


def _day(value: Any) -> date:
    return value.date() if isinstance(value, datetime) else value


def _moment(value: datetime) -> datetime:
    return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)


def _instant(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _text(value: Any) -> str:
    return bytes(value).hex() if isinstance(value, bytes | bytearray) else str(value)


_CONVERT: dict[Kind, Callable[[Any], Any]] = {
    "text": _text,
    "integer": _number,
    "decimal": _number,
    "float": float,
    "boolean": bool,
    "date": _day,
    "timestamp": _moment,
    "timestamptz": _instant,
    "other": _text,
}


def _arrow_type(kind: ColumnType) -> Any:
    # A whole number may have any width.
    return arrow.decimal128(MAX_DIGITS, 0) if kind.kind == "integer" else type_of(kind)
