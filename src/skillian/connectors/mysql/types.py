"""MySQL's types, in its catalogue and in a result, and the Arrow types for them."""

from collections.abc import Sequence
from typing import Any, Protocol

from pymysql.constants import FIELD_TYPE, FLAG

from skillian.connectors.arrow import arrow, result_type
from skillian.connectors.base import ColumnType, Kind

Text = str | bytes | None

_BINARY = 63  # the character set of binary columns
_WIDEST_READ = 76
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
    unsigned = kind == "integer" and field.flags & FLAG.UNSIGNED
    written = f"{name} unsigned" if unsigned else name or "unknown"
    return ColumnType(kind, written, wide=written == "bigint unsigned")


def array_of(values: Sequence[Text], kind: ColumnType) -> Any:
    """The texts that the server sends as an Arrow array.

    A value of kind `other` stays text; bytes are written in hexadecimal. Raises `ValueError` for a
    value that Arrow cannot hold, such as the date 0000-00-00.
    """
    goal = result_type(kind)
    texts = [each.hex() if isinstance(each, bytes) else each for each in values]
    read = arrow.array(texts, arrow.string())
    if arrow.types.is_decimal(goal):
        # A cast to decimal128 would silently change a number of more than 38 digits.
        read = read.cast(arrow.decimal256(_WIDEST_READ, kind.scale))
    elif kind.kind == "timestamptz":
        read = read.cast(arrow.timestamp("us"))
    return read.cast(goal)
