"""MySQL's types, in its catalogue and in a result, and the Arrow types for them."""

from collections.abc import Sequence
from typing import Any, Protocol

from pymysql.constants import FIELD_TYPE, FLAG

from skillian.connectors.arrow import arrow, unreadable
from skillian.connectors.arrow import arrow_schema as schema_of
from skillian.connectors.arrow import arrow_type as type_of
from skillian.connectors.base import MAX_DIGITS, ArrowBatch, ColumnType, Kind

Column = tuple[str, ColumnType]
Text = str | bytes | None

_BINARY = 63  # the character set of binary columns
_WIDEST_READ = 76
_UNSIGNED_BIGINT = "bigint unsigned"
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(
        ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"), "text"
    ),
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "year"), "integer"),
    "decimal": "decimal",
    "float": "float",
    "double": "float",
    "date": "date",
    "datetime": "timestamp",
    "timestamp": "timestamptz",
}
_NAMES = {
    FIELD_TYPE.TINY: "tinyint",
    FIELD_TYPE.SHORT: "smallint",
    FIELD_TYPE.INT24: "mediumint",
    FIELD_TYPE.LONG: "int",
    FIELD_TYPE.LONGLONG: "bigint",
    FIELD_TYPE.YEAR: "year",
    FIELD_TYPE.NEWDECIMAL: "decimal",
    FIELD_TYPE.FLOAT: "float",
    FIELD_TYPE.DOUBLE: "double",
    FIELD_TYPE.DATE: "date",
    FIELD_TYPE.DATETIME: "datetime",
    FIELD_TYPE.TIMESTAMP: "timestamp",
    FIELD_TYPE.STRING: "char",
    FIELD_TYPE.VAR_STRING: "varchar",
    FIELD_TYPE.BLOB: "text",
}


class Field(Protocol):
    """The part of the driver's description of a result's column that is used here."""

    name: str
    type_code: int
    flags: int
    scale: int
    charsetnr: int


def column_type(name: str, written: str, scale: object) -> ColumnType:
    """The kind of a column by `data_type`, `column_type` and `numeric_scale`.

    A tinyint(1) is an integer, since it may be 2: reading it as a boolean takes a declaration.
    """
    kind = _KINDS.get(name, "other")
    return ColumnType(kind, written, int(str(scale)) if kind == "decimal" else 0)


def field_type(field: Field) -> ColumnType:
    """The kind of a column of a result."""
    name = _NAMES.get(field.type_code, "")
    kind = _KINDS.get(name, "other")
    if kind == "text" and field.charsetnr == _BINARY:
        return ColumnType("other", "blob")
    if kind == "decimal":
        return ColumnType(kind, f"decimal(65,{field.scale})", field.scale)
    unsigned = " unsigned" if kind == "integer" and field.flags & FLAG.UNSIGNED else ""
    return ColumnType(kind, (name or "unknown") + unsigned)


def arrow_batch(columns: Sequence[Column], rows: Sequence[Sequence[Text]]) -> ArrowBatch:
    """Rows of text, as the server sends them, as an Arrow batch.

    A value of kind `other` stays text; bytes are written in hexadecimal. Raises
    `UnreadableColumnError` for a value that Arrow cannot hold, such as the date 0000-00-00.
    """
    named = zip(columns, zip(*rows, strict=True), strict=True)
    arrays = [_array(name, values, kind) for (name, kind), values in named]
    batch: ArrowBatch = arrow.record_batch(arrays, schema=arrow_schema(columns))
    return batch


def arrow_schema(columns: Sequence[Column]) -> Any:
    """The `pyarrow.Schema` of a result."""
    return schema_of(columns, _arrow_type)


def _array(name: str, values: Sequence[Text], kind: ColumnType) -> Any:
    texts = [value.hex() if isinstance(value, bytes) else value for value in values]
    try:
        return _converted(arrow.array(texts, arrow.string()), kind)
    except arrow.ArrowInvalid as error:
        raise unreadable(name, f"a valid {kind.sql}", error) from None


def _converted(texts: Any, kind: ColumnType) -> Any:
    goal = _arrow_type(kind)
    if arrow.types.is_decimal(goal):
        # A cast to decimal128 would silently change a number of more than 38 digits.
        texts = texts.cast(arrow.decimal256(_WIDEST_READ, kind.scale))
    elif kind.kind == "timestamptz":
        texts = texts.cast(arrow.timestamp("us"))
    return texts.cast(goal)


def _arrow_type(kind: ColumnType) -> Any:
    is_wide = kind.sql == _UNSIGNED_BIGINT
    return arrow.decimal128(MAX_DIGITS, kind.scale) if is_wide else type_of(kind)
