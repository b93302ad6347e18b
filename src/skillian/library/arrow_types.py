"""The types of Arrow data: which DuckDB reads as others, and which would lose their meaning."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from skillian.connectors.arrow import arrow
from skillian.connectors.base import MAX_DIGITS
from skillian.errors import quoted
from skillian.library.objects import reason_of

# DuckDB has them itself, or they name a type of a database, whose values say all.
_KNOWN = frozenset({"arrow.json", "arrow.uuid", "arrow.bool8", "arrow.opaque"})


def check_field(field: Any) -> None:
    """Refuse a column with names or types that DuckDB would change.

    Raises:
        ArrowInvalid: With the name of the column.
    """
    for part in _parts(field):
        if "\0" in part.name:
            raise arrow.ArrowInvalid(f"the name {quoted(part.name)} holds a NUL")
        extension = _extension(part)
        if extension:
            raise arrow.ArrowInvalid(
                f"column {field.name!r} is {extension}, of which only the values would be compared"
            )
        if arrow.types.is_struct(part.type):
            names = [each.name for each in _children(part)]
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


def _parts(field: Any) -> Generator[Any]:
    """A field and all that its type is made of."""
    yield field
    for each in _children(field):
        yield from _parts(each)


def _children(field: Any) -> list[Any]:
    kind = field.type
    if arrow.types.is_struct(kind) or arrow.types.is_union(kind):
        return [kind.field(position) for position in range(kind.num_fields)]
    names = ("key_field", "item_field") if arrow.types.is_map(kind) else ("value_field",)
    fields = [getattr(kind, name) for name in names if hasattr(kind, name)]
    if not fields and hasattr(kind, "value_type"):  # of categories, of runs
        return [arrow.field(field.name, kind.value_type)]
    return fields


def _extension(field: Any) -> str:
    """An extension type with parameters, such as the unit of a period; empty for another."""
    if isinstance(field.type, arrow.BaseExtensionType):
        return "" if field.type.extension_name in _KNOWN else str(field.type)
    metadata: Mapping[bytes, bytes] = field.metadata or {}
    name = metadata.get(b"ARROW:extension:name", b"").decode()
    has_parameters = metadata.get(b"ARROW:extension:metadata") or name == "arrow.parquet.variant"
    return name if has_parameters and name not in _KNOWN else ""


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
