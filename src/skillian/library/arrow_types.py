"""The types of Arrow data: which DuckDB reads as others, and which would lose their meaning."""

from __future__ import annotations

from typing import Any

from skillian.connectors.arrow import arrow
from skillian.connectors.arrow_fields import extension_of, fields_of, parts_of
from skillian.connectors.base import MAX_DIGITS
from skillian.errors import quoted
from skillian.library.objects import reason_of


def check_field(field: Any) -> None:
    """Refuse a column with names or types that DuckDB would change.

    Raises:
        ArrowInvalid: With the name of the column.
    """
    for part in parts_of(field):
        if "\0" in part.name:
            raise arrow.ArrowInvalid(f"the name {quoted(part.name)} holds a NUL")
        extension = extension_of(part)
        if extension:
            raise arrow.ArrowInvalid(
                f"column {field.name!r} is {extension}, of which only the values would be compared"
            )
        if arrow.types.is_struct(part.type):
            names = [each.name for each in fields_of(part)]
            if len({*map(str.casefold, names)}) < len(names):
                raise arrow.ArrowInvalid(
                    f"column {field.name!r}: its fields {', '.join(names)} differ only in case"
                )


def with_type_read(field: Any, column: Any) -> Any:
    """A column in a type that DuckDB reads; None if it is.

    Raises:
        ArrowInvalid: Not all values are valid, or have this type; with the name of the column.
    """
    kind = _type_read(field.type)
    try:
        column.validate(full=True)
        if kind != field.type:
            return column.cast(kind)
    except arrow.ArrowException as error:
        raise arrow.ArrowInvalid(f"column {field.name!r}: {reason_of(error)}") from None
    if _has_nanoseconds(column):
        raise arrow.ArrowInvalid(f"column {field.name!r}: durations have nanoseconds")
    return None


def _type_read(kind: Any) -> Any:
    types = arrow.types
    if types.is_null(kind):
        return arrow.string()
    if types.is_float16(kind):
        return arrow.float32()
    if types.is_decimal256(kind) or (
        types.is_decimal(kind) and not 0 <= kind.scale <= kind.precision
    ):
        return arrow.decimal128(MAX_DIGITS, min(max(kind.scale, 0), MAX_DIGITS))
    if types.is_timestamp(kind) and kind.unit in {"s", "ms"}:
        return arrow.timestamp("us", kind.tz)  # an error names the column, unlike one of DuckDB
    if types.is_duration(kind):
        return arrow.duration("us")  # all that an interval of DuckDB holds
    return kind


def _has_nanoseconds(column: Any) -> bool:
    """Whether it has durations of nanoseconds, which DuckDB would cut."""
    kind = str(column.type)
    if kind == "month_day_nano_interval":
        return any(each.nanoseconds % 1000 for each in column.drop_null().to_pylist())
    return "duration[ns]" in kind
