"""When two cells are equal, as SQL for each pair of types.

Both cells are brought into a common form that keeps every digit; NULL equals NULL only. A pair of
types without a common form is refused with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from skillian.connectors import floats
from skillian.connectors.dialects import filled
from skillian.data import sql
from skillian.data.declare.rules import EXACT, Family, Precision, Rule
from skillian.data.tables.types import MYSQL_FRACTION, CellKind, CellType

NATIVE = frozenset({"duckdb", "postgres"})
"""The dialects whose databases can compare rows themselves; the others are staged in DuckDB.

MySQL can by its primary keys, for cells that are `exact_in_mysql`.
"""

_MYSQL_MOMENT = (
    "TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(v, '%Y-%m-%d %H:%i:%s.%f')))"
)
_SHOWN_BY_MYSQL: Mapping[CellKind, str] = {
    "timestamp": _MYSQL_MOMENT,
    "timestamptz": f"CONCAT({_MYSQL_MOMENT}, '+00')",
    "time": MYSQL_FRACTION,
}
_MOMENTS = frozenset({"date", "timestamp", "timestamptz"})
_SAME: Mapping[CellKind, Family] = {
    "text": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamp",
    "time": "time",
    "binary": "binary",
    "uuid": "uuid",
    "json": "json",
    "nested": "nested",
    "other": "other",
}
UTC = "UTC"
# Nanoseconds are NULL for NULL and the infinities, and are divided towards zero.
_MICROSECONDS = "MAKE_TIMESTAMP(EPOCH_NS(v) // 1000 - CAST(EPOCH_NS(v) % 1000 < 0 AS BIGINT))"
FLOOR: Mapping[CellKind, str] = {
    "timestamp": "CASE WHEN EPOCH_NS(v) IS NULL THEN CAST(v AS TIMESTAMP)"
    f" ELSE {_MICROSECONDS} END",
    "timestamptz": "CASE WHEN EPOCH_NS(v) IS NULL THEN CAST(v AS TIMESTAMPTZ)"
    f" ELSE {_MICROSECONDS} AT TIME ZONE 'UTC' END",
}
_REST = "COALESCE((EPOCH_NS(v) % 1000 + 1000) % 1000, 0)"
_NANOSECONDS = f"""
CASE WHEN ISFINITE(v) THEN CAST(EPOCH_US(v) AS HUGEINT) * 1000 + rest
WHEN v > CAST('1970-01-01' AS TIMESTAMP) THEN {10**37} WHEN v IS NOT NULL THEN -{10**37} END
"""
_FRACTION = "REPLACE(SPLIT_PART(LTRIM(text, '-'), 'e', 1), '.', '')"
_EXPONENT = "CAST(SPLIT_PART(text, 'e', 2) AS INT)"
_WITHOUT_EXPONENT = f"""
CASE WHEN ISNAN(v) THEN 'NaN' WHEN v = 'inf' THEN 'Infinity' WHEN v = '-inf' THEN '-Infinity'
WHEN v = 0 THEN '0' WHEN NOT CONTAINS(text, 'e') THEN RTRIM(RTRIM(text, '0'), '.')
ELSE CASE WHEN v < 0 THEN '-' ELSE '' END || CASE
    WHEN {_EXPONENT} < 0 THEN '0.' || REPEAT('0', -1 - {_EXPONENT}) || RTRIM({_FRACTION}, '0')
    ELSE RPAD({_FRACTION}, 1 + {_EXPONENT}, '0') END
END
"""
_HOLDS_VARIANTS = re.compile(r"[<,:]variant\b")  # in Spark's names of types
_NO_KEYS = frozenset({"json", "nested"})
# Other types of which equal values have one text: of PostgreSQL, with their lengths.
_ONE_TEXT = re.compile(
    r'inet|cidr|macaddr8?|oid|"char"|bit(?: varying)?(?:\(\d+\))?|pg_lsn|xid8?', re.IGNORECASE
)
_WHITE_SPACE = "' \t\n\r\f\v'"
_SPACES = "'[ \t\n\r\f\v]+'"


class NotComparableError(ValueError):
    """Two types have no common form; the message is the reason."""


@dataclass(frozen=True, slots=True)
class CellPair:
    """Two types that can be compared, and the rule."""

    a: CellType
    b: CellType
    family: Family
    rule: Rule = EXACT


def family_of(a: CellType, b: CellType) -> Family:
    """How two types are compared; raises `NotComparableError`."""
    kinds = {a.kind, b.kind}
    if kinds <= {"integer", "decimal", "boolean"} and kinds != {"boolean"}:
        return "number"
    if "float" in kinds and kinds <= {"integer", "decimal", "float"}:
        return "float"
    if kinds <= _MOMENTS and kinds != {"date"}:
        return "timestamp"
    if kinds == {"uuid", "text"}:
        return "uuid"
    if kinds == {"json", "text"}:
        return "json"
    if any(_HOLDS_VARIANTS.search(each.sql) for each in (a, b)):
        raise NotComparableError("variants inside of other values have no exact text")
    same = len(kinds) == 1 and (a.kind not in {"nested", "other"} or a.sql == b.sql)
    if not same:
        raise NotComparableError(f"{a.sql} and {b.sql} have no common form")
    return _SAME[a.kind]


def check_key(pair: CellPair) -> None:
    """Raise `NotComparableError` for a pair whose values cannot identify a row."""
    is_other = pair.family == "other" and not _ONE_TEXT.fullmatch(pair.a.sql)
    if pair.family in _NO_KEYS or is_other:
        raise NotComparableError(f"rows cannot be matched by values of {pair.a.sql}")


def exact_in_mysql(pair: CellPair, *, is_key: bool) -> bool:
    """Whether MySQL compares and writes a column's cells exactly, and joins it by an index.

    Text options, tolerances, floats, JSON and times of two kinds take functions that it lacks.
    """
    kinds = {pair.a.kind, pair.b.kind}
    if pair.rule != EXACT or "BIT" in f"{pair.a.sql} {pair.b.sql}".upper():
        return False
    if is_key:
        return kinds in ({"integer"}, {"date"})
    return kinds <= {"integer", "decimal"} or (
        len(kinds) == 1 and kinds <= {"text", "date", "timestamp", "timestamptz", "binary", "time"}
    )


def form(pair: CellPair, side: int, value: exp.Expr, dialect: str) -> exp.Expr:
    """The form of a cell of side a (0) or b (1) that is equal where the cells are.

    The dialect is one of `NATIVE`.
    """
    own, other = (pair.a, pair.b) if side == 0 else (pair.b, pair.a)
    if dialect == "mysql":
        # A cast compares the bytes of a text, whatever the collation of its column.
        return sql.as_text(value.copy()) if pair.family == "text" else value.copy()
    match pair.family:
        case "number":
            result = _number(pair, own, value, dialect)
        case "float":
            result = _float(pair, side, value, dialect)
        case "text":
            result = normalised(pair.rule, value, dialect)
        case "timestamp":
            result = moment_form(pair, own, value, dialect)
        case "uuid" if own.kind != other.kind:
            result = filled("LOWER(CAST(v AS TEXT))", dialect, v=value)
        case "json" | "other":
            result = sql.as_text(value.copy())
        case "nested" if "INTERVAL" in own.sql.upper():
            # A month is not 30 days, though the databases find them equal.
            result = filled("ROW(v, CAST(v AS TEXT))", dialect, v=value)
        case _:
            result = value.copy()
    return result


def shown(pair: CellPair, side: int, value: exp.Expr, dialect: str) -> exp.Expr:
    """A cell as text for people: all digits of a number, bytes in hexadecimal."""
    pair, value = in_one_width(pair, side, value)
    kind = (pair.a, pair.b)[side]
    if kind.kind == "float":
        return exact_text(kind, value, dialect)
    if dialect == "mysql" and kind.kind in _SHOWN_BY_MYSQL:
        return filled(_SHOWN_BY_MYSQL[kind.kind], dialect, v=value)
    if kind.kind == "binary" and kind.sql != "VARCHAR":
        hexadecimal = "ENCODE(v, 'hex')" if dialect == "postgres" else "LOWER(HEX(v))"
        return filled(hexadecimal, dialect, v=value)
    if dialect == "duckdb" and kind.kind == "decimal":
        return filled(_decimal(kind), dialect, v=value)
    return sql.as_text(value.copy())


def normalised(rule: Rule, value: exp.Expr, dialect: str) -> exp.Expr:
    """A text after the steps of a rule, in this order: NFC, white space, case, length, empty."""
    # As text, it is compared by its bytes, whatever the collation of its column.
    text: exp.Expr = sql.as_text(value.copy())
    if rule.nfc:
        text = exp.Normalize(this=text)
    if rule.collapse_whitespace:
        text = filled(f"REGEXP_REPLACE(v, {_SPACES}, ' ', 'g')", dialect, v=text)
    if rule.trim:
        text = filled(f"TRIM(v, {_WHITE_SPACE})", dialect, v=text)
    if rule.ignore_case:
        text = sql.uppered(text)
    if rule.length is not None:
        text = filled(f"LEFT(v, {rule.length})", dialect, v=text)
    if rule.empty_is_null:
        text = filled("NULLIF(v, '')", dialect, v=text)
    return text


def common_number(pair: CellPair) -> str:
    """The type of two numbers in DuckDB: `raw`, a decimal, `wide` or `digits` (text)."""
    if pair.a.sql == pair.b.sql and pair.a.digits is not None:
        return "raw"
    digits = [kind.digits for kind in (pair.a, pair.b)]
    scales = [kind.scale for kind in (pair.a, pair.b)]
    if None in digits or None in scales:
        return "digits"
    scale = max(scales, key=lambda each: each or 0) or 0
    whole_numbers = {pair.a.kind, pair.b.kind} <= {"integer", "boolean"}
    if whole_numbers and "UHUGEINT" not in {pair.a.sql, pair.b.sql}:
        return "raw"
    whole = max(digits, key=lambda each: each or 0) or 0
    return f"DECIMAL({whole + scale}, {scale})" if whole + scale <= sql.MAX_DIGITS else "wide"


def _number(pair: CellPair, own: CellType, value: exp.Expr, dialect: str) -> exp.Expr:
    if own.kind == "boolean":
        value = filled("CAST(v AS INT)", dialect, v=value)
    goal = common_number(pair)
    if dialect == "postgres" or goal == "raw":
        return value.copy()
    if goal in {"digits", "wide"}:
        return digits_of(own, value)
    return filled(f"CAST(v AS {goal})", dialect, v=value)


def digits_of(own: CellType, value: exp.Expr) -> exp.Expr:
    """A number as text without superfluous zeros, in DuckDB."""
    if own.digits is None:  # staged in this form
        return value.copy()
    text = _decimal(own)
    return filled(f"RTRIM(RTRIM({text}, '0'), '.')" if own.scale else text, "duckdb", v=value)


def _decimal(own: CellType) -> str:
    """The template of a number as text in DuckDB, which writes a DECIMAL(2, 2) as `.50`."""
    if own.kind != "decimal" or own.digits != 0:
        return "CAST(v AS TEXT)"
    return "CASE WHEN v < 0 THEN '-0' ELSE '0' END || LTRIM(CAST(v AS TEXT), '-')"


def _float_type(kind: CellType) -> exp.DType:
    return exp.DType.FLOAT if kind.single else exp.DType.DOUBLE


def in_one_width(pair: CellPair, side: int, value: exp.Expr) -> tuple[CellPair, exp.Expr]:
    """A pair of floats of 32 and of 64 bits as two of 64, with the cell of a side."""
    own, other = (pair.a, pair.b) if side == 0 else (pair.b, pair.a)
    if own.kind != other.kind or own.single == other.single:
        return pair, value
    wide = replace(pair, a=replace(pair.a, single=False), b=replace(pair.b, single=False))
    return wide, exp.cast(value.copy(), "DOUBLE") if own.single else value


def _float(pair: CellPair, side: int, value: exp.Expr, dialect: str) -> exp.Expr:
    own, other = (pair.a, pair.b) if side == 0 else (pair.b, pair.a)
    if own.kind == other.kind:
        return in_one_width(pair, side, value)[1].copy()
    # A float and an exact number, as keys: the text of the exact number.
    if own.kind != "float":
        if dialect == "postgres":
            return filled("CAST(TRIM_SCALE((v) + 0.0) AS TEXT)", dialect, v=value)
        return digits_of(own, value)
    text = exact_text(own, value, dialect)
    if dialect == "postgres":
        return filled("CAST(CAST(v AS DECIMAL) AS TEXT)", dialect, v=text)
    return filled(_WITHOUT_EXPONENT, dialect, v=value, text=text)


def exact_text(kind: CellType, value: exp.Expr, dialect: str) -> exp.Expr:
    """A number as text with all of its digits; a float as its shortest decimal unless `whole`."""
    if kind.kind == "float":
        written = floats.with_digits if kind.whole else floats.shortest
        return written(value.copy(), _float_type(kind), dialect)
    if kind.kind == "boolean":
        return filled("CAST(CAST(v AS INT) AS TEXT)", dialect, v=value)
    return sql.as_text(value.copy()) if dialect == "postgres" else digits_of(kind, value)


def moment_form(pair: CellPair, own: CellType, value: exp.Expr, dialect: str) -> exp.Expr:
    """A time in the form that both sides have: an instant, a local time, or nanoseconds."""
    nanos = (pair.a.nanos or pair.b.nanos) and pair.rule.precision is None
    if nanos and pair.a.sql == pair.b.sql:
        return value.copy()
    zoned = "timestamptz" in {pair.a.kind, pair.b.kind}
    zone = pair.rule.zone or UTC
    time = moment(own, value, dialect)
    if zoned and own.kind != "timestamptz":
        time = filled(f"v AT TIME ZONE {literal(zone)}", dialect, v=time)
    if nanos:
        rest = filled(_REST, dialect, v=value) if own.nanos else sql.zero()
        return filled(_NANOSECONDS, dialect, v=time, rest=rest)
    if pair.rule.precision is None:
        return time
    template = _cut(pair.rule.precision, zone if zoned else "", dialect)
    return filled(template, dialect, v=time)


def moment(own: CellType, value: exp.Expr, dialect: str) -> exp.Expr:
    """A time with microseconds; DuckDB would round nanoseconds."""
    if own.nanos:
        template = FLOOR[own.kind]
    elif own.kind == "date" and dialect == "postgres":
        template = "v + TIME '00:00:00'"
    elif own.kind == "timestamptz" or dialect == "postgres":
        return value.copy()
    else:
        template = "CAST(v AS TIMESTAMP)"
    return filled(template, dialect, v=value)


def _cut(precision: Precision, zone: str, dialect: str) -> str:
    """The template of a time cut to a unit: of an instant by the clocks of a zone."""
    if zone and dialect == "postgres":
        return f"DATE_TRUNC('{precision}', v, {literal(zone)})"
    if zone in {"", UTC} or precision not in {"day", "hour", "minute"}:
        return f"DATE_TRUNC('{precision}', v)"
    local = f"v AT TIME ZONE {literal(zone)}"
    if precision == "day":
        return f"DATE_TRUNC('day', {local})"
    # Not as a local time: two hours of a year have the same one.
    since = f"({local}) - DATE_TRUNC('{precision}', {local})"
    return f"CASE WHEN ISFINITE(v) THEN v - ({since}) ELSE v END"


def literal(text: str) -> str:
    """A text as it is written in a template."""
    return exp.Literal.string(text).sql()
