"""ClickHouse's types, their Arrow types, and what a statement has to convert before reading."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyarrow import compute as pa_compute  # pyright: ignore[reportMissingTypeStubs]
from sqlglot import exp

from skillian.connectors.arrow import arrow, batch_of, result_type
from skillian.connectors.base import MAX_DIGITS, ArrowBatch, Column, ColumnType, Kind

compute: Any = pa_compute  # pyarrow carries no types

# Of an aggregate function, the type that its values have between merges.
_AROUND = r"(?:(?:Nullable|LowCardinality)\(|SimpleAggregateFunction\([^,(]+(?:\([^)]*\))?, )"
_WRAPPER = re.compile(rf"{_AROUND}(?P<inner>.*)\)", re.DOTALL)
_NULLABLE = re.compile(rf"{_AROUND}*?Nullable\(")
_TYPE = re.compile(r"(?P<name>\w+)(?:\((?P<arguments>.*)\))?", re.DOTALL)
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("String", "FixedString", "Enum8", "Enum16", "IPv4", "IPv6"), "text"),
    **{f"{sign}Int{bits}": "integer" for sign in ("", "U") for bits in (8, 16, 32, 64, 128, 256)},
    "Decimal": "decimal",
    "Float32": "float",
    "Float64": "float",
    "Bool": "boolean",
    "Date": "date",
    "Date32": "date",
    "DateTime": "timestamp",
    "DateTime64": "timestamp",
}
_NARROW = re.compile(r"U?Int(8|16|32)|Int64")
# Types whose values Arrow does not show as what they are: an Enum as a number, a wide integer as
# bytes, a DateTime as seconds, seven digits of a second as nanoseconds, which end in 2262.
_CONVERTED = re.compile(r"Enum|FixedString|IPv|U?Int(128|256)|DateTime(?!64)|DateTime64\([78]")


def column_type(written: str) -> ColumnType:
    """The type of a column by ClickHouse's name for it.

    A DateTime with a time zone of its own is an instant; without one it is a date and a time.
    """
    while wrapper := _WRAPPER.fullmatch(written):
        written = wrapper["inner"]
    match = _TYPE.fullmatch(written)
    kind = _KINDS.get(match["name"], "other") if match else "other"
    if match is None or kind not in {"decimal", "timestamp"}:
        wide = kind == "integer" and not _NARROW.fullmatch(written)
        return ColumnType(kind, written, wide=wide)
    arguments = match["arguments"] or ""
    if kind == "decimal":
        return ColumnType(kind, written, int(arguments.partition(",")[2]))
    return ColumnType("timestamptz" if "'" in arguments else kind, written)


def is_nullable(written: str) -> bool:
    """Whether a column of this type may hold NULL."""
    return _NULLABLE.match(written) is not None


def needs_conversion(kind: ColumnType) -> bool:
    """Whether the values of a column have to be converted by the statement that reads them."""
    return kind.kind == "other" or _CONVERTED.match(kind.sql) is not None


def readable(statement: str, columns: Mapping[str, ColumnType]) -> str:
    """A SELECT of the same rows in types that Arrow holds; kind `other` as text."""
    inner = "rows"
    values = [
        f"{_converted(name, kind)} AS {_quoted(name)}" if needs_conversion(kind) else _quoted(name)
        for name, kind in columns.items()
    ]
    return f"SELECT {', '.join(values)} FROM ({statement}) AS {inner}"  # noqa: S608 - names are quoted


def typed(batch: Any, columns: Sequence[Column], timezone: str) -> ArrowBatch:
    """Rows in the types of a result; a time without a zone is one of `timezone`.

    Raises `UnreadableColumnError` for a value that they do not hold: text that is not UTF-8, a
    number of more than 38 digits, a time finer than microseconds.
    """

    def array(values: Any, kind: ColumnType) -> Any:
        goal = result_type(kind)
        if arrow.types.is_binary(values.type):
            values = values.cast(arrow.string())
        elif kind.kind == "timestamp" and values.type.tz is not None:
            instants = values.cast(arrow.timestamp(values.type.unit, tz=timezone))
            values = compute.local_timestamp(instants)
        cast = values.cast(goal)
        if arrow.types.is_decimal(goal):
            # 128 bits hold some numbers of 39 digits; a cast to 256 bits checks them.
            cast.cast(arrow.decimal256(MAX_DIGITS, goal.scale))
        return cast

    return batch_of(columns, batch.columns, array, "exactly a {type} ({sql})")


def _converted(name: str, kind: ColumnType) -> str:
    column = _quoted(name)
    if kind.sql.startswith("DateTime"):
        zone, end = (", 'UTC'", "'Z'") if kind.kind == "timestamptz" else ("", "''")
        if not kind.sql.startswith("DateTime64"):
            return f"CAST({column} AS DateTime64(0{zone}))"
        # One that is finer than microseconds keeps its digits, with which its text is not read.
        cut, same = (f"CAST({column} AS DateTime64({n}{zone}))" for n in (6, kind.sql[11]))
        return f"concat(if({column} = {cut}, toString({cut}), toString({same})), {end})"
    if kind.kind == "integer":
        # Without `assumeNotNull` a text that does not fit would be NULL.
        text = f"assumeNotNull(toString({column}))"
        return f"if(isNull({column}), NULL, CAST({text} AS Decimal({2 * MAX_DIGITS}, 0)))"
    return f"toString({column})"


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("clickhouse")
