"""Data frames as Arrow tables: without a copy where Arrow allows it.

pandas and polars are never imported here; a data frame says itself what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skillian.connectors.arrow import arrow
from skillian.connectors.base import MAX_DIGITS
from skillian.connectors.frames import Frame
from skillian.errors import InvalidInputError

_STREAM = "__arrow_c_stream__"
_FAULTS = (arrow.ArrowException, TypeError, OverflowError, UnicodeEncodeError)


def is_frame(value: object) -> bool:
    """Whether a value is a data frame: it exports an Arrow stream, or polars will collect it."""
    is_series = _room(value) in {"pandas", "polars"} and not hasattr(type(value), "columns")
    return (hasattr(value, _STREAM) and not is_series) or _is_lazy(value)


def frame_of(value: Any, name: str) -> Frame:
    """A data frame for a comparison; its rows are not copied if they are Arrow data already.

    Args:
        value: The data frame, for which `is_frame` is true.
        name: What messages call it.

    Raises:
        InvalidInputError: It holds values or names that a table cannot have.
    """
    try:
        if _room(value) == "pandas":
            return _of_pandas(value, name)
        collected = value.collect() if _is_lazy(value) else value
        _check_types(collected)
        rows = arrow.RecordBatchReader.from_stream(collected).read_all()
        return _readable(rows, name)
    except arrow.ArrowException as error:
        raise InvalidInputError(
            f"{name}: it cannot be read as a table: {_reason(error)}; convert the column first"
        ) from None
    except InvalidInputError:
        raise
    except Exception as error:  # of the library that makes its rows
        raise InvalidInputError(f"{name}: it cannot be read: {_reason(error)}") from error


def _room(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _is_lazy(value: object) -> bool:
    return _room(value) == "polars" and hasattr(value, "collect")


def _of_pandas(frame: Any, name: str) -> Frame:
    """A pandas data frame; the named levels of its index are columns, and NaN is NULL."""
    levels = [level for level in frame.index.names if level is not None]
    columns = [str(column) for column in frame.columns]
    _check_names([*map(str, levels), *columns], name)
    is_guessed = any(str(kind) == "object" for kind in frame.dtypes)
    whole = frame.reset_index(level=levels) if levels else frame
    for column, kind in whole.dtypes.items():
        if str(kind).startswith(("period[", "interval[")):
            raise InvalidInputError(
                f"{name}: column {str(column)!r} is {kind}, whose unit or closed side would be"
                " lost; convert it to text or times first"
            )
    return _readable(_arrow_of(whole), name, is_guessed=is_guessed)


def _arrow_of(frame: Any) -> Any:
    """A pandas data frame as an Arrow table; raises `ArrowInvalid` with the column."""
    try:
        rows = arrow.Table.from_pandas(frame, preserve_index=False)
    except _FAULTS as error:
        for column in frame.columns:
            try:
                arrow.Table.from_pandas(frame[[column]], preserve_index=False)
            except _FAULTS as fault:
                raise arrow.ArrowInvalid(f"column {str(column)!r}: {_reason(fault)}") from None
        raise arrow.ArrowInvalid(_reason(error)) from None
    for column, kind, read in zip(frame.columns, frame.dtypes, rows.columns, strict=True):
        if _is_object(kind) and not _holds(read, frame[column]):
            raise arrow.ArrowInvalid(
                f"column {str(column)!r}: not all values are exactly of type {read.type}"
            )
    return rows


def _is_object(kind: Any) -> bool:
    categories = getattr(kind, "categories", None)
    return str(kind if categories is None else categories.dtype) == "object"


def _holds(read: Any, values: Any) -> bool:
    """Whether Arrow data has exactly the Python objects that it was made of."""
    if arrow.types.is_string(read.type):
        return True  # Arrow makes texts of texts only
    has_value = read.is_valid().to_numpy()
    after, before = read.drop_null().to_pylist(), values[has_value].tolist()
    if not arrow.types.is_nested(read.type):
        return bool(after == before)
    return all(map(_is_same, after, before))


def _is_same(after: Any, before: Any) -> bool:
    kind = type(after).__name__
    if kind == "list":
        return len(after) == len(before) and all(map(_is_same, after, before))
    if kind == "dict":
        return all(_is_same(part, before.get(name)) for name, part in after.items())
    return after is None or bool(after == before or after != after)  # noqa: PLR0124 - NaN


def _reason(error: Exception) -> str:
    is_arrow = isinstance(error, arrow.ArrowException) and error.args
    text, _, _ = str(error.args[0] if is_arrow else error).partition("\n")
    return text.partition(". Detail: Python")[0].rstrip(".")


def _check_types(frame: Any) -> None:
    """Refuse types of polars that Arrow does not have; of objects, polars exports the addresses."""
    if _room(frame) == "polars":
        for column, kind in frame.schema.items():
            if str(kind) == "Object":
                raise arrow.ArrowInvalid(f"column {column!r} holds Python objects")
            if str(kind) in {"Int128", "UInt128"}:
                raise arrow.ArrowInvalid(f"column {column!r} is {kind}, which Arrow does not have")


def _readable(rows: Any, name: str, *, is_guessed: bool = False) -> Frame:
    """The rows in types that DuckDB reads; a column without any value has the type of text."""
    _check_names(rows.column_names, name)
    if not rows.column_names:
        raise InvalidInputError(f"{name}: it has no columns; compare a data frame that has some")
    has_untyped = any(arrow.types.is_null(field.type) for field in rows.schema)
    for position, field in enumerate(rows.schema):
        kind = _type_read(field.type)
        if kind != field.type:
            try:
                read = rows.column(position).cast(kind)
            except arrow.ArrowException as error:
                reason = f"column {field.name!r}: {_reason(error)}"
                raise arrow.ArrowInvalid(reason) from None
            rows = rows.set_column(position, field.with_type(kind), read)
        elif _has_nanoseconds(rows.column(position)):
            raise arrow.ArrowInvalid(f"column {field.name!r}: durations have nanoseconds")
    return Frame(rows, inferred=is_guessed or has_untyped)


def _type_read(kind: Any) -> Any:
    types = arrow.types
    if types.is_null(kind):
        return arrow.string()
    if types.is_float16(kind):
        return arrow.float32()
    if types.is_decimal256(kind) or (types.is_decimal(kind) and kind.scale < 0):
        return arrow.decimal128(MAX_DIGITS, max(kind.scale, 0))
    if types.is_duration(kind):
        return arrow.duration("us")  # all that an interval of DuckDB holds
    return kind


def _has_nanoseconds(column: Any) -> bool:
    """Whether it has durations of nanoseconds, which DuckDB would cut."""
    kind = str(column.type)
    if kind == "month_day_nano_interval":
        return any(each.nanoseconds % 1000 for each in column.drop_null().to_pylist())
    return "duration[ns]" in kind


def _check_names(names: Sequence[str], name: str) -> None:
    seen: dict[str, str] = {}
    for each in names:
        other = seen.get(each.casefold())
        if other is not None:
            raise InvalidInputError(
                f"{name}: columns {other!r} and {each!r} have the same name; rename one"
            )
        seen[each.casefold()] = each
