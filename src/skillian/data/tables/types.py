"""What a column's cells are, whatever its database calls them, and how they travel into DuckDB."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from sqlglot import exp

from skillian.connectors.base import ColumnType
from skillian.connectors.dialects import filled
from skillian.connectors.duckdb.engine import stored_type
from skillian.data import sql

CellKind = Literal[
    "integer",
    "decimal",
    "float",
    "text",
    "boolean",
    "date",
    "timestamp",
    "timestamptz",
    "time",
    "binary",
    "uuid",
    "json",
    "nested",
    "other",
]

_INTEGERS = {
    **dict.fromkeys(("TINYINT", "UTINYINT"), 3),
    "YEAR": 4,
    **dict.fromkeys(("SMALLINT", "USMALLINT"), 5),
    "MEDIUMINT": 8,
    **dict.fromkeys(("INTEGER", "INT", "UINTEGER"), 10),
    **dict.fromkeys(("UBIGINT", "BIGINT UNSIGNED", "UINT64"), 20),
    **dict.fromkeys(("HUGEINT", "UHUGEINT", "INT128", "UINT128"), 39),
    "INT256": 77,
    "UINT256": 78,
}
_BIGINT_DIGITS = 19
_NAMED: dict[str, CellKind] = {
    "BLOB": "binary",
    "BYTEA": "binary",
    "UUID": "uuid",
    "JSON": "json",
    "JSONB": "json",
    "TIME": "time",
    "TIME WITHOUT TIME ZONE": "time",
    "NUMERIC": "decimal",
}
_BINARY = re.compile(r"(?:TINY|MEDIUM|LONG)?BLOB|(?:VAR)?BINARY(?:\(\d+\))?")
_TIME = re.compile(r"TIME(?:_NS|64)?(?:\(\d\))?(?: WITHOUT TIME ZONE)?")
_NUMBER = re.compile(r"(?:DECIMAL|NUMERIC)\((\d+),\s*(-?\d+)\)")
_NESTED = re.compile(r".*\[\d*\]|(?:STRUCT|MAP|UNION|ARRAY|VARIANT)\b.*", re.DOTALL)
# Of ClickHouse only nine digits: others are read as microseconds, or refused.
_NANOS = re.compile(r".*_NS|DATETIME64\(9(?:, '.*')?\)")
_SINGLE = frozenset({"FLOAT", "REAL", "FLOAT4", "FLOAT32"})
# The same in the words of databases whose FLOAT has 64 bits.
_SINGLE_IN: Mapping[str, frozenset[str]] = {
    "bigquery": frozenset(),
    "oracle": frozenset({"BINARY_FLOAT"}),
    "snowflake": frozenset(),
    "tsql": frozenset({"REAL"}),
}
_FLOAT_OPTIONS = re.compile(r"\([\d, ]*+\)| UNSIGNED| ZEROFILL")
_TEXT = "VARCHAR"
_CLICKHOUSE_FRACTION = r"replaceRegexpOne(CAST(v AS TEXT), '[.]0+$|([.][0-9]*[1-9])0+$', '\\1')"
MYSQL_ZEROS = "TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST(v AS CHAR)))"
"""The template of a number as text in MySQL, without superfluous zeros."""
MYSQL_FRACTION = f"CASE WHEN v LIKE '%.%' THEN {MYSQL_ZEROS} ELSE CAST(v AS CHAR) END"
"""The same of a time, which may have no fraction."""
_FINE: Mapping[CellKind, str] = {"timestamp": "TIMESTAMP_NS", "timestamptz": "TIMESTAMPTZ_NS"}
# Types of MySQL whose values are bytes, which it does not write as text.
_BYTES = re.compile(
    r"bit\b|geometry|point|linestring|polygon|multi(?:point|linestring|polygon)"
    r"|geom(?:etry)?collection|vector\b",
    re.IGNORECASE,
)

# In a nested value, ClickHouse writes a time as the clocks of its zone show it, which repeat hours.
_ZONED = re.compile(r"(DateTime\(|DateTime64\(\d, )'[^']*'")
_IN_UTC = "CAST(accurateCast(v, goal) AS TEXT)"
_INSTANT = "concat(CAST(toTimeZone(v, 'UTC') AS TEXT), '+00')"
# Of a type that holds values of several types, which may have one text: with the type, and with a
# hash of the binary form where the name of the type does not say all.
_SEVERAL = re.compile(r"\b(?:Variant|Dynamic)\b")
_HASH = "hex(sipHash64(formatRow('RowBinary', v)))"
_NAME = "if(position(name(v), '(') = 0, name(v), concat(name(v), ' ', hash))"
_WITH_TYPE = "if(isNull(v), NULL, toString(tuple(v, type)))"

_OF_TEXTS: Mapping[CellKind, str] = {"boolean": "BOOLEAN", "time": "TIME"}
WRITTEN: Mapping[CellKind, str] = {
    **dict.fromkeys(("integer", "decimal", "float"), f"REGEXP_FULL_MATCH(v, '{sql.PLAIN_NUMBER}')"),
    "boolean": "LOWER(v) IN ('t', 'f', 'true', 'false')",
    "time": r"REGEXP_FULL_MATCH(v, '([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,6})?')",
}
"""The test in DuckDB that a text of a file is a value of a kind."""
DIGITS = {
    "digits": "MAX(LENGTH(SPLIT_PART(LTRIM(v, '-'), '.', 1)))",
    "scale": "MAX(LENGTH(SPLIT_PART(v, '.', 2)))",
}
"""The digits of texts that are numbers, before and after the point."""

ANY_DECIMAL = ["DECIMAL"]
"""The types of a number without a limit, whose digits are those of its values."""


@dataclass(frozen=True, slots=True)
class CellType:
    """The type of a column's cells.

    Attributes:
        kind: What they are.
        sql: The type's name in the database.
        digits: The digits of a number before the point; None if there is no limit.
        scale: Those after it; None if there is no limit.
        single: Whether a float has 32 bits.
        whole: Whether a float is compared with whole numbers, and so with all of its digits.
        nanos: Whether a time has nanoseconds.
    """

    kind: CellKind
    sql: str
    digits: int | None = 0
    scale: int | None = 0
    single: bool = False
    whole: bool = False
    nanos: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is an exact number."""
        return self.kind in {"integer", "decimal"}


def cell_type(kind: ColumnType, dialect: str) -> CellType:
    """The type of a column's cells; `dialect` is the sqlglot dialect of its name."""
    name = " ".join(kind.sql.upper().split())
    if kind.kind == "integer":
        plain = re.sub(r"\(\d+\)| ZEROFILL", "", name)
        return CellType("integer", kind.sql, _INTEGERS.get(plain, _BIGINT_DIGITS))
    if kind.kind == "decimal":
        number = _NUMBER.fullmatch(name)
        digits = max(int(number[1]) - int(number[2]), 0) if number else None
        return CellType("decimal", kind.sql, digits, kind.scale)
    if kind.kind == "float":
        plain = _FLOAT_OPTIONS.sub("", name)
        return CellType("float", kind.sql, single=plain in _SINGLE_IN.get(dialect, _SINGLE))
    if kind.kind in {"timestamp", "timestamptz"}:
        return CellType(kind.kind, kind.sql, nanos=_NANOS.fullmatch(name) is not None)
    if kind.kind != "other":
        return CellType("json" if name == "JSON" else kind.kind, kind.sql)
    return _other(kind.sql, name)


def type_of_texts(kind: CellKind, digits: int, scale: int) -> str:
    """DuckDB's type for texts of a kind: for numbers, one with these digits; empty without one."""
    if kind in _OF_TEXTS:
        return _OF_TEXTS[kind]
    if not scale and digits < _BIGINT_DIGITS:
        return "BIGINT"
    return f"DECIMAL({sql.MAX_DIGITS},{scale})" if digits + scale <= sql.MAX_DIGITS else ""


def types_of(*cells: CellType) -> Sequence[str]:
    """The types that the texts of these cells may be read as, best first; none for texts."""
    kinds = {each.kind for each in cells}
    if kinds <= {"integer", "decimal"} and "decimal" in kinds:
        scales = [each.scale for each in cells if each.scale is not None]
        return [f"DECIMAL(38, {max(scales)})"] if len(scales) == len(cells) else ANY_DECIMAL
    name = sql.DUCKDB_TYPES.get(next(iter(kinds)), "") if len(kinds) == 1 else ""
    if name == "BIGINT":
        return [name, "DECIMAL(38, 0)"]
    if any(each.nanos for each in cells) and name:
        return [name, f"{name}_NS"]
    return [name] if name else []


def lengths_of(name: str) -> str:
    """The aggregates of DuckDB over a column of texts, which `decimals_of` reads by its name."""
    lengths = (template.replace("(v,", f"({name},") for template in DIGITS.values())
    return ", ".join(f"{each} AS {part}_{name}" for part, each in zip(DIGITS, lengths, strict=True))


def decimals_of(name: str, found: Mapping[str, Any]) -> Sequence[str]:
    """The type that holds the digits of all texts of a number without a limit, or none."""
    digits, scale = found[f"digits_{name}"] or 0, found[f"scale_{name}"] or 0
    return [f"DECIMAL({sql.MAX_DIGITS}, {scale})"] if digits + scale <= sql.MAX_DIGITS else []


def _other(written: str, name: str) -> CellType:
    if name.startswith("NUMERIC"):
        return CellType("decimal", written, None, None)
    if name in _NAMED:
        return CellType(_NAMED[name], written)
    if name.startswith("BIT"):
        return CellType("integer" if name == "BIT(1)" else "other", written, 1)
    if _BINARY.fullmatch(name):
        return CellType("binary", written)
    if _TIME.fullmatch(name):
        return CellType("time", written)
    return CellType("nested" if _NESTED.fullmatch(name) else "other", written)


class Transported(NamedTuple):
    """A column on its way into the workspace.

    Attributes:
        value: The expression that the database computes.
        type: The cells' type in the workspace.
        stored: The type of the workspace's column.
    """

    value: exp.Expr
    type: CellType
    stored: str


def transported(kind: CellType, value: exp.Expr, dialect: str) -> Transported:
    """The expression and the type by which a column's cells travel."""
    plain = _plain(kind, value, dialect)
    if plain is not None:
        return plain
    if kind.is_number:
        return _number(kind, value, dialect)
    if kind.kind == "float":
        return _float(kind, value, dialect)
    if dialect == "mysql" and _BYTES.match(kind.sql):
        value = filled("LOWER(HEX(v))", dialect, v=value)
    if kind.kind in {"nested", "other"} and dialect == "clickhouse":
        return Transported(_clickhouse_text(kind.sql, value), kind, _TEXT)
    name = "variant" if kind.sql == "variant" else kind.kind
    template = _TEXTS.get((name, dialect)) or _TEXTS.get((kind.kind, "")) or "CAST(v AS TEXT)"
    sql_name = kind.sql if kind.kind in {"nested", "other"} else _TEXT
    return Transported(filled(template, dialect, v=value), replace(kind, sql=sql_name), _TEXT)


def _clickhouse_text(name: str, value: exp.Expr) -> exp.Expr:
    """The text of a value of a type of ClickHouse, in which different values differ."""
    several: list[str] = _SEVERAL.findall(name)
    if not several:
        goal = _ZONED.sub(r"\1'UTC'", name)
        template = "CAST(v AS TEXT)" if goal == name else _IN_UTC
        return filled(template, "clickhouse", v=value, goal=exp.Literal.string(goal))
    kind = filled(_HASH, "clickhouse", v=value)
    if len(several) == 1 and name.startswith(several[0]):
        template = _NAME.replace("name(", f"{several[0].lower()}Type(")
        kind = filled(template, "clickhouse", v=value, hash=kind)
    return filled(_WITH_TYPE, "clickhouse", v=value, type=kind)


def _plain(kind: CellType, value: exp.Expr, dialect: str) -> Transported | None:
    if kind.kind in _PLAIN:
        stored = _FINE[kind.kind] if kind.nanos else _PLAIN[kind.kind]
        if kind.nanos and dialect == "clickhouse":
            # Arrow's times have microseconds here.
            is_zoned = kind.kind == "timestamptz"
            value = filled(_INSTANT if is_zoned else "CAST(v AS TEXT)", dialect, v=value)
        return Transported(value.copy(), replace(kind, sql=stored), stored)
    if kind.kind == "text":
        return Transported(sql.as_text(value.copy()), replace(kind, sql=_TEXT), _TEXT)
    return None


def _number(kind: CellType, value: exp.Expr, dialect: str) -> Transported:
    if dialect == "clickhouse" and kind.kind == "decimal" and kind.scale is not None:
        # It may hold more digits than its type says.
        kind = replace(kind, digits=max(kind.digits or 0, sql.MAX_DIGITS - kind.scale))
    if kind.digits is not None and kind.scale is not None:
        width = kind.digits + kind.scale
        if kind.kind == "integer" and kind.digits <= _BIGINT_DIGITS:
            if kind.sql.upper() == "BIT(1)":
                value = filled("v + 0", dialect, v=value)
            return Transported(value.copy(), replace(kind, sql="BIGINT"), "BIGINT")
        if width <= sql.MAX_DIGITS:
            stored = f"DECIMAL({width}, {kind.scale})"
            return Transported(value.copy(), replace(kind, sql=stored), stored)
    text = {
        "postgres": "CAST(TRIM_SCALE(v) AS TEXT)",
        "clickhouse": "CAST(v AS TEXT)",
        "duckdb": "RTRIM(RTRIM(CAST(v AS TEXT), '0'), '.')" if kind.scale else "CAST(v AS TEXT)",
    }.get(dialect)
    if text is None:
        text = MYSQL_ZEROS if kind.scale else "CAST(v AS CHAR)"
    unlimited = replace(kind, sql="digits", digits=None, scale=None)
    return Transported(filled(text, dialect, v=value), unlimited, _TEXT)


def _float(kind: CellType, value: exp.Expr, dialect: str) -> Transported:
    stored = "FLOAT" if kind.single else "DOUBLE"
    if dialect != "duckdb" and kind.single:
        # Its text has fewer digits than the number.
        value = filled("CAST(v AS DOUBLE)", "duckdb", v=value)
    return Transported(value.copy(), replace(kind, sql=stored), stored)


_PLAIN: Mapping[CellKind, str] = {
    "boolean": stored_type("boolean"),
    "date": stored_type("date"),
    "timestamp": stored_type("timestamp"),
    "timestamptz": stored_type("timestamptz"),
}
_TEXTS = {
    ("binary", ""): "LOWER(HEX(v))",
    ("binary", "postgres"): "ENCODE(v, 'hex')",
    ("uuid", ""): "LOWER(CAST(v AS TEXT))",
    ("time", "mysql"): MYSQL_FRACTION,
    ("time", "clickhouse"): _CLICKHOUSE_FRACTION,
    ("json", "mysql"): "CAST(v AS CHAR)",
    # Its text does not tell a date from its text, nor a double from a decimal.
    ("variant", "spark"): """
        CONCAT(TO_JSON(v), CASE WHEN SCHEMA_OF_VARIANT(v) RLIKE 'DATE|TIME|BINARY|FLOAT|DOUBLE'
            THEN CONCAT(' ', SCHEMA_OF_VARIANT(v)) ELSE '' END)
    """,
    ("nested", ""): "CAST(TO_JSON(v) AS TEXT)",
}
