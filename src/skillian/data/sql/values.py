"""Values and rows: from a filter to a column's type, from a database to Python, and to JSON."""

from __future__ import annotations

import math
import re
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import fields
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, cast, runtime_checkable
from uuid import UUID

from sqlglot import exp

from skillian.connectors.base import ArrowBatch, ColumnType, Kind
from skillian.data.sql import MAX_DIGITS, Statement, prepare
from skillian.errors import InvalidInputError, QueryError, quoted

Value = str | int | float | Decimal | bool | date | datetime | None

MAX_TEXT = 1000
"""The longest text of a filter, in characters."""

_SAFE_INTEGER = 2**53
_MOMENTS = frozenset({"date", "timestamp", "timestamptz"})
_FRACTION = re.compile(r"[.,]([0-9]*)")
_MICROSECONDS, _NANOSECONDS = 6, 9  # digits after the point
_TIME = re.compile(r"TIME(?:\(\d\))?(?: WITHOUT TIME ZONE)?")
_BOOLEANS = {"true": True, "false": False}
_EXPECTED: dict[Kind, str] = {
    "integer": "a whole number",
    "decimal": "a number such as 1234.50",
    "float": "a number such as 1234.5, nan, inf or -inf",
    "boolean": "true or false",
    "date": "a date such as 2024-12-31",
    "timestamp": "a time such as 2024-12-31T18:00:00",
    "timestamptz": "a time with its zone, such as 2024-12-31T18:00:00+00:00",
    "text": f"a text of at most {MAX_TEXT} characters",
}


def coerce(name: str, value: object, kind: ColumnType) -> Value:
    """`value` in the type of the dimension `name`, without changing its meaning.

    A time of a `TIMESTAMP_NS` that has nanoseconds stays a text, which DuckDB reads.

    Raises `InvalidInputError` with the dimension, the value and what the dimension accepts.
    """
    try:
        if kind.kind == "other":
            return _other(value, kind)
        typed = _COERCIONS[kind.kind](value)
        return typed if _fits_microseconds(value, kind) else str(value).replace(",", ".")
    except (ValueError, OverflowError, TypeError, KeyError, InvalidOperation) as error:
        expected = _EXPECTED.get(kind.kind) or _expected(kind)
        if isinstance(error, OverflowError) and kind.kind in {"integer", "decimal"}:
            expected = f"a number of at most {MAX_DIGITS} digits"
        raise InvalidInputError(
            f"{name!r} ({kind.sql}) takes {expected}, not {quoted(value)}"
        ) from None


def jsonable(value: object) -> object:
    """A value for JSON: decimals, times, integers past 2**53, NaN and infinities as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE_INTEGER:
        return str(value)
    return value


def plain(value: object) -> object:
    """A value for JSON, as `jsonable`, and what mappings, sequences and records hold."""
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        return {name: plain(each) for name, each in entries.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in cast("Sequence[object]", value)]
    return jsonable(value)


class Record:
    """A data class that JSON has with its attributes, in their order.

    Attributes:
        json_names: Their names, by default those of all fields; `name=attribute` if JSON has
            another one, and `name=attribute.part` for a part of one.
    """

    __slots__ = ()
    json_names: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; numbers with a fraction are strings."""
        return named(self, self.json_names or _names_of(cast("Any", type(self))))


def named(record: Record, names: str) -> dict[str, Any]:
    """A record for JSON with these names, which are as `json_names`."""
    return {name: plain(attribute(record)) for name, attribute in _attributes(names)}


@cache
def _names_of(kind: Any) -> str:
    return " ".join(each.name for each in fields(kind))


@cache
def _attributes(names: str) -> Sequence[tuple[str, attrgetter[Any]]]:
    pairs = (name.partition("=") for name in names.split())
    return [(name, attrgetter(path or name)) for name, _, path in pairs]


def none_last(value: Any) -> tuple[bool, Any]:
    """The key by which values are sorted, None after all others."""
    return (value is None, 0 if value is None else value)


def python_value(value: Any, kind: Kind) -> object:
    """A value of this kind in its Python type, whatever its database returned."""
    if value is None:
        return None
    if kind == "integer":  # integers of two widths are compared as decimals without a fraction
        return int(value)
    return bool(value) if kind == "boolean" else value  # MySQL returns numbers for it


def is_comparable(kind: ColumnType) -> bool:
    """Whether values of a type of kind `other` have one text each, with which filters compare."""
    return kind.sql.upper() == "UUID" or _TIME.fullmatch(kind.sql.upper()) is not None


def _other(value: object, kind: ColumnType) -> str:
    """The text of a UUID or a time; raises `ValueError` for any other type."""
    if not is_comparable(kind):
        raise ValueError
    if kind.sql.upper() == "UUID":
        return str(UUID(str(value)))
    moment = time.fromisoformat(str(value).strip())
    if moment.tzinfo is not None:
        raise ValueError
    text = moment.isoformat()
    return text.rstrip("0") if moment.microsecond else text


def _expected(kind: ColumnType) -> str:
    if not is_comparable(kind):
        return "no value: a filter only tests whether there is one (null)"
    is_uuid = kind.sql.upper() == "UUID"
    return f"a UUID such as {UUID(int=1)}" if is_uuid else "a time of day such as 18:00:00"


def _text(value: object) -> str:
    if isinstance(value, bool | float) or not isinstance(value, str | int | Decimal | date):
        raise TypeError
    text = value.isoformat() if isinstance(value, date) else str(value)
    if len(text) > MAX_TEXT:
        raise ValueError
    text.encode()  # fails for a lone surrogate
    return text


def _integer(value: object) -> int:
    number = _decimal(value)
    if number != number.to_integral_value():
        raise ValueError
    return int(number)


def _decimal(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise TypeError
    # The text of a float is the number as it was written in JSON.
    number = Decimal(str(value).strip()) if isinstance(value, str | float) else Decimal(value)
    # A database's decimal holds 38 digits, before and after the point together. The exponent is
    # checked first: 1e-999999999 without an exponent would fill the memory.
    if not number.is_finite():
        raise ValueError
    fits = -MAX_DIGITS <= number.adjusted() < MAX_DIGITS
    if not fits or len(format(number, "f").strip("-").replace(".", "")) > MAX_DIGITS:
        raise OverflowError
    return number


def _float(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise TypeError
    number = float(value)
    if math.isinf(number) and "inf" not in str(value).lower():  # it is outside the range
        raise ValueError
    return number


def _boolean(value: object) -> bool:
    return value if isinstance(value, bool) else _BOOLEANS[str(value).lower()]


def _date(value: object) -> date:
    moment = _timestamp(value)
    if moment.time() != time():
        raise ValueError
    return moment.date()


def _timestamp(value: object) -> datetime:
    moment = _moment(value)
    if moment.tzinfo is not None:
        raise ValueError
    return moment


def _timestamp_with_zone(value: object) -> datetime:
    moment = _moment(value)
    if moment.tzinfo is None:
        raise ValueError
    return moment.astimezone(UTC)


def _fits_microseconds(value: object, kind: ColumnType) -> bool:
    """Whether a `datetime` holds a value; raises `ValueError` if its type does not hold it."""
    match = _FRACTION.search(value) if isinstance(value, str) and kind.kind in _MOMENTS else None
    digits = len(match[1].rstrip("0")) if match else 0
    if digits > (_NANOSECONDS if kind.sql.endswith("_NS") else _MICROSECONDS):
        raise ValueError
    return digits <= _MICROSECONDS


def _moment(value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    if not isinstance(value, str):
        raise TypeError
    return datetime.fromisoformat(value)


_COERCIONS: dict[Kind, Callable[[object], Value]] = {
    "text": _text,
    "integer": _integer,
    "decimal": _decimal,
    "float": _float,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _timestamp,
    "timestamptz": _timestamp_with_zone,
}


def python_rows(table: ArrowBatch) -> list[dict[str, Any]]:
    """The rows as Python values; those of a column with nanoseconds are texts.

    Raises:
        QueryError: A date is outside the years that Python has.
    """
    with _within_years():
        rows: list[dict[str, Any]] = _readable(table).to_pylist()
    return rows


def python_columns(batch: ArrowBatch) -> list[list[Any]]:
    """The columns as Python values, also where two have one name; raises as `python_rows`."""
    with _within_years():
        return [column.to_pylist() for column in _readable(batch).columns]


def _readable(table: Any) -> Any:
    """The rows, in which times with nanoseconds are texts, since a `datetime` has none."""
    for index, field in enumerate(table.schema):
        if str(field.type).startswith("timestamp[ns"):
            from pyarrow import compute  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]

            calls: Any = compute
            written = table.column(index).cast("string")
            texts = calls.replace_substring(written, " ", "T", max_replacements=1)
            table = table.set_column(index, field.name, texts)
    return table


@contextmanager
def _within_years() -> Generator[None]:
    try:
        yield
    except (OverflowError, ValueError):
        raise QueryError(
            "the result holds a date outside the years 1 to 9999; declare `type: text` for its"
            " dimension"
        ) from None


class StatementEngine(Protocol):
    """Runs statements and returns their rows in batches."""

    @property
    def dialect(self) -> str:
        """The sqlglot dialect of its statements."""
        ...

    def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and yield its rows in batches."""
        ...


@runtime_checkable
class ReadsPlainRows(Protocol):
    """An engine that returns most rows without loading Arrow."""

    async def plain_rows(
        self, statement: str, parameters: Mapping[str, object]
    ) -> list[dict[str, Any]] | None:
        """All rows of one SELECT in Python values; None if only `stream` has all of them."""
        ...


async def fetch(engine: StatementEngine, statement: Statement) -> list[dict[str, Any]]:
    """Run a statement, without the time limit of a query, and return its few rows."""
    if isinstance(engine, ReadsPlainRows):
        plain = await engine.plain_rows(statement.text, statement.parameters)
        if plain is not None:
            return plain
    rows: list[dict[str, Any]] = []
    async with aclosing(engine.stream(statement.text, statement.parameters)) as batches:
        async for batch in batches:
            rows += python_rows(batch)
    return rows


async def fetch_tree(
    engine: StatementEngine, tree: exp.Expr, values: Mapping[str, object] = MappingProxyType({})
) -> list[dict[str, Any]]:
    """Run the statement of a tree with these values, as `fetch` does."""
    return await fetch(engine, prepare(tree, engine.dialect, values))
