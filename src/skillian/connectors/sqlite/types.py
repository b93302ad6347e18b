"""From SQLite's values, of any type in any column, to columns of the declared types, exactly."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from skillian.connectors.arrow import arrow, arrow_type
from skillian.connectors.base import MAX_DIGITS, ColumnType
from skillian.connectors.duckdb.statement import column_type

_SHOWN = 60
_EXACT_IN_FLOATS = 2**53
_NUMERIC = re.compile(r"(?:DECIMAL|NUMERIC|NUMBER|DEC)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_DATE = r"\d{4}-\d{2}-\d{2}"
_TIME = r"[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?"
_TIMESTAMP = re.compile(f"{_DATE}({_TIME})?")
_TIMESTAMPTZ = re.compile(rf"{_DATE}{_TIME}(Z|[+-]\d{{2}}:\d{{2}})")
_BOOLEANS: dict[object, bool] = {
    0: False,
    1: True,
    "true": True,
    "false": False,
    "TRUE": True,
    "FALSE": False,
}
# SQLite's rules for a column's affinity, in their order, by a part of the type's name:
# https://www.sqlite.org/datatype3.html#determination_of_column_affinity
_AFFINITIES = {
    "INT": "BIGINT",
    "CHAR": "VARCHAR",
    "CLOB": "VARCHAR",
    "TEXT": "VARCHAR",
    "BLOB": "BLOB",
    "REAL": "DOUBLE",
    "FLOA": "DOUBLE",
    "DOUB": "DOUBLE",
}


class UnfitError(ValueError):
    """A value is not of its column's declared type; the message is the stored value."""


def declared_type(declared: str) -> ColumnType:
    """The type of a column by its declaration; `other` if that is not specific enough."""
    name = " ".join(declared.upper().split())
    number = _NUMERIC.fullmatch(name)
    if number and int(number[2] or 0) <= int(number[1]) <= MAX_DIGITS:
        return column_type(f"DECIMAL({MAX_DIGITS},{number[2] or 0})")
    if name.startswith("BOOL"):
        return column_type("BOOLEAN")
    if name == "DATE":
        return column_type(name)
    if name.startswith(("TIMESTAMP", "DATETIME")):
        zone = "TZ" in name or name.endswith(" WITH TIME ZONE")
        return column_type("TIMESTAMP WITH TIME ZONE" if zone else "TIMESTAMP")
    for part, stored in _AFFINITIES.items():
        if part in name:
            return column_type(stored)
    return ColumnType("other", name or "untyped")


def held_type(counts: Sequence[int | None], low: Any, high: Any) -> ColumnType | None:
    """The type of a column with only numbers, only texts or only bytes; None for any other.

    The arguments are the numbers of its integers, floats, texts and blobs, and the ends of its
    numbers.
    """
    integers, reals, texts, blobs = counts
    if texts and not (integers or reals or blobs):
        return column_type("VARCHAR")
    if blobs and not (integers or reals or texts):
        return column_type("BLOB")
    if texts or blobs or not (integers or reals):
        return None
    if not reals:
        return column_type("BIGINT")
    is_exact = not integers or max(abs(low), abs(high)) <= _EXACT_IN_FLOATS
    return column_type("DOUBLE") if is_exact else ColumnType("other", "NUMERIC")


def stored_type(kind: ColumnType) -> str:
    """The DuckDB type that holds values of a declared type."""
    return "VARCHAR" if kind.kind == "other" and kind.sql != "BLOB" else kind.sql


def array_of(values: Sequence[Any], kind: ColumnType) -> Any:
    """Values as a `pyarrow.Array`; raises `UnfitError` for the first unfit value."""
    try:
        return _array(values, kind)
    except _UNFIT:
        unfit = next(value for value in values if not _fits(value, kind))
        raise UnfitError(repr(unfit)[:_SHOWN]) from None


def _fits(value: object, kind: ColumnType) -> bool:
    try:
        _array([value], kind)
    except _UNFIT:
        return False
    return True


def _array(values: Sequence[Any], kind: ColumnType) -> Any:
    name = "blob" if kind.sql == "BLOB" else kind.kind
    types = {*map(type, values)} - {type(None)}
    known, convert = _STORED[name]
    if not types <= {*known}:
        raise ValueError
    if name == "decimal":
        # By its shortest text, so that a REAL 0.1 is 0.1; the cast fails if digits would be lost.
        texts = arrow.array(
            [None if value is None else _digits(value) for value in values], arrow.string()
        )
        # A direct cast to decimal128 silently changes a number that overflows 128 bits.
        wide = texts.cast(arrow.decimal256(2 * MAX_DIGITS, kind.scale))
        return wide.cast(arrow_type(kind))
    if convert is not None and not (convert is str and types <= {str}):
        values = [None if value is None else convert(value) for value in values]
    return arrow.array(values, arrow.binary() if name == "blob" else arrow_type(kind))


def _digits(value: object) -> str:
    """The text of a number without an exponent; raises `ValueError` if it is too large."""
    text = str(value)
    if "e" in text or "E" in text:
        number = Decimal(text)
        if not number.is_finite() or abs(number.adjusted()) > MAX_DIGITS:
            raise ValueError
        text = format(number, "f")
    if len(text.partition(".")[0].lstrip("+-0")) > MAX_DIGITS:
        raise ValueError
    return text


def _text(value: object) -> str:
    """The text of a value; of a float without an exponent, unless it has too many digits."""
    if isinstance(value, float):
        with suppress(ValueError):
            return _digits(value)
    return str(value)


def _boolean(value: object) -> bool:
    return _BOOLEANS[value]


def _date(value: str) -> date:
    day = date.fromisoformat(value)
    if day.isoformat() != value:
        raise ValueError
    return day


def _timestamp(value: str) -> datetime:
    if not _TIMESTAMP.fullmatch(value):
        raise ValueError
    return datetime.fromisoformat(value)


def _timestamptz(value: str) -> datetime:
    if not _TIMESTAMPTZ.fullmatch(value):
        raise ValueError
    return datetime.fromisoformat(value).astimezone(UTC)


_UNFIT = (ValueError, KeyError, OverflowError, InvalidOperation)
_Convert = Callable[[Any], object] | None
# By kind: the Python types that SQLite may return for it besides None, and their conversion.
_STORED: dict[str, tuple[tuple[type, ...], _Convert]] = {
    "blob": ((bytes,), None),
    "boolean": ((int, float, str), _boolean),
    "date": ((str,), _date),
    "decimal": ((int, float, str), None),
    "float": ((int, float), None),
    "integer": ((int,), None),
    "other": ((int, float, str), _text),
    "text": ((int, float, str), str),
    "timestamp": ((str,), _timestamp),
    "timestamptz": ((str,), _timestamptz),
}
