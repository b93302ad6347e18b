"""Rows of a DB-API cursor as Arrow, and their types."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from skillian.connectors.arrow import arrow, batch_of, result_type
from skillian.connectors.base import MAX_DIGITS, ArrowBatch, Column, ColumnType, Kind

BATCH_ROWS = 8192

_TYPE = re.compile(r"(?P<name>[A-Z0-9_ ]++)\s*+(?:\((?P<arguments>[^)]*+)\).*)?", re.DOTALL)


def column_type(kinds: Mapping[str, Kind], written: str, scale: int | None = None) -> ColumnType:
    """A type by the vendor's name for it, as in `NUMBER(18,2)`.

    Args:
        kinds: The kinds of the vendor's types.
        written: The name.
        scale: The scale of a decimal, if it is not in the name. A decimal without a fraction is an
            integer, which may have any width; one without a scale is "other".
    """
    match = _TYPE.fullmatch(written.strip().upper())
    kind = kinds.get(match["name"].rstrip(), "other") if match else "other"
    if kind != "decimal" or match is None:
        return ColumnType(kind, written, wide=kind == "integer")
    if scale is None and match["arguments"]:
        scale = int(match["arguments"].partition(",")[2] or 0)
    if scale is None or not 0 <= scale <= MAX_DIGITS:
        return ColumnType("other", written)
    name = written if match["arguments"] else f"{written}({MAX_DIGITS},{scale})"
    return ColumnType("decimal", name, scale) if scale else ColumnType("integer", name, wide=True)


def batches(cursor: Any, columns: Sequence[Column]) -> Iterator[ArrowBatch]:
    """Yield the rows of a cursor.

    Raises `UnreadableColumnError` for a value that its type does not hold.
    """
    while rows := cursor.fetchmany(BATCH_ROWS):
        yield batch_of(columns, zip(*rows, strict=True), _array)


def _array(values: Sequence[Any], kind: ColumnType) -> Any:
    convert = _CONVERT[kind.kind]
    converted = [None if value is None else convert(value) for value in values]
    return arrow.array(converted, result_type(kind))


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
