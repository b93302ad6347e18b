"""Data frames as Arrow tables: without a copy where Arrow allows it.

pandas and polars are never imported here; a data frame says itself what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

from skillian.connectors.frames import Frame
from skillian.errors import InvalidInputError

_arrow: Any = pa  # pyarrow carries no types
_STREAM = "__arrow_c_stream__"
_MAX_DIGITS = 38


def is_frame(value: object) -> bool:
    """Whether a value is a data frame: it exports an Arrow stream, or polars will collect it."""
    return hasattr(value, _STREAM) or _is_lazy(value)


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
        rows = _arrow.RecordBatchReader.from_stream(collected).read_all()
        return _readable(rows, name)
    except _arrow.ArrowException as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise InvalidInputError(
            f"{name}: it cannot be read as a table: {reason}; convert the column first"
        ) from None


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
        return _arrow.Table.from_pandas(frame, preserve_index=False)
    except TypeError as error:  # of a sparse column
        raise _arrow.ArrowInvalid(str(error)) from None
    except OverflowError:
        for column, values in frame.items():
            try:
                _arrow.array(values, from_pandas=True)
            except OverflowError as error:
                raise _arrow.ArrowInvalid(f"column {str(column)!r}: {error}") from None
        raise


def _readable(rows: Any, name: str, *, is_guessed: bool = False) -> Frame:
    """The rows in types that DuckDB reads; a column without any value has the type of text."""
    _check_names(rows.column_names, name)
    if not rows.column_names:
        raise InvalidInputError(f"{name}: it has no columns; compare a data frame that has some")
    schema = _arrow.schema([field.with_type(_type_read(field.type)) for field in rows.schema])
    has_untyped = any(_arrow.types.is_null(field.type) for field in rows.schema)
    read = rows if schema.equals(rows.schema) else rows.cast(schema)
    return Frame(read, inferred=is_guessed or has_untyped)


def _type_read(kind: Any) -> Any:
    if _arrow.types.is_null(kind):
        return _arrow.string()
    if _arrow.types.is_float16(kind):
        return _arrow.float32()
    if _arrow.types.is_decimal256(kind):
        return _arrow.decimal128(_MAX_DIGITS, kind.scale)
    return kind


def _check_names(names: Sequence[str], name: str) -> None:
    seen: dict[str, str] = {}
    for each in names:
        other = seen.get(each.casefold())
        if other is not None:
            raise InvalidInputError(
                f"{name}: columns {other!r} and {each!r} have the same name; rename one"
            )
        seen[each.casefold()] = each
