"""When two cells are equal, as SQL for each pair of types.

Both cells are brought into a common form that keeps every digit; NULL equals NULL only. A pair of
types without a common form is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from skillian.connectors import floats
from skillian.data import sql
from skillian.data.declare.rules import EXACT, Family, Rule
from skillian.data.tables.templates import filled
from skillian.data.tables.types import CellKind, CellType

NATIVE = frozenset({"duckdb", "postgres"})
"""The dialects whose databases can compare rows themselves; the others are staged in DuckDB."""

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
_NO_KEYS = frozenset({"json", "nested", "other"})
_WIDEST = 38
_WHITE_SPACE = "' \t\n\r\f\v'"
_SPACES = "'[ \t\n\r\f\v]+'"
_MICROSECONDS, _NANOSECONDS = 1_000_000, 1_000_000_000


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
    """Return how two types are compared; raises `NotComparableError`."""
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
    same = len(kinds) == 1 and (a.kind not in {"nested", "other"} or a.sql == b.sql)
    if not same:
        raise NotComparableError(f"{a.sql} and {b.sql} have no common form")
    return _SAME[a.kind]


def check_key(pair: CellPair) -> None:
    """Raise `NotComparableError` for a pair whose values cannot identify a row."""
    if pair.family in _NO_KEYS:
        raise NotComparableError(f"values of {pair.a.sql} cannot identify a row")


def differs(pair: CellPair, a: exp.Expr, b: exp.Expr, dialect: str) -> exp.Expr:
    """Return the test whether two cells differ; it is never NULL."""
    if pair.family == "json":
        return filled(_JSON[dialect], dialect, a=a, b=b)
    if pair.family == "float" and {pair.a.kind, pair.b.kind} != {"float"}:
        return _mixed(pair, a, b, dialect)
    if pair.family == "number" and dialect == "duckdb" and _goal(pair) == "wide":
        unequal = _wide(pair, a, b)
    else:
        unequal = exp.NullSafeNEQ(
            this=form(pair, 0, a, dialect), expression=form(pair, 1, b, dialect)
        )
    limit = _within(pair, a, b, dialect)
    if limit is None:
        return exp.Paren(this=unequal)
    return filled(
        "test AND (a IS NULL OR b IS NULL OR NOT near)",
        dialect,
        test=exp.Paren(this=unequal),
        a=a,
        b=b,
        near=limit,
    )


def form(pair: CellPair, side: int, value: exp.Expr, dialect: str) -> exp.Expr:
    """Return the form of a cell of side a (0) or b (1) that is equal where the cells are.

    Args:
        pair: The two types and the rule.
        side: The cell's side.
        value: The cell.
        dialect: The sqlglot dialect; one of `NATIVE`.
    """
    own, other = (pair.a, pair.b) if side == 0 else (pair.b, pair.a)
    match pair.family:
        case "number":
            result = _number(pair, own, value, dialect)
        case "float":
            result = _float(own, other, value, dialect)
        case "text":
            result = normalised(pair.rule, value, dialect, enum=own.sql.startswith("ENUM"))
        case "timestamp":
            result = _moment(pair, own, value, dialect)
        case "uuid" if own.kind != other.kind:
            result = filled("LOWER(CAST(v AS TEXT))", dialect, v=value)
        case "json" | "other":
            result = sql.as_text(value.copy())
        case _:
            result = value.copy()
    return result


def shown(kind: CellType, value: exp.Expr, dialect: str) -> exp.Expr:
    """Return a cell as text for people: all digits of a number, bytes in hexadecimal."""
    if kind.kind == "float":
        return floats.shortest(value.copy(), _float_type(kind), dialect)
    if kind.kind == "binary" and kind.sql != "VARCHAR":
        hexadecimal = "ENCODE(v, 'hex')" if dialect == "postgres" else "LOWER(HEX(v))"
        return filled(hexadecimal, dialect, v=value)
    return sql.as_text(value.copy())


def normalised(rule: Rule, value: exp.Expr, dialect: str, *, enum: bool = False) -> exp.Expr:
    """Return a text after the steps of a rule, in this order: NFC, white space, case, empty."""
    text = sql.as_text(value.copy()) if enum or dialect == "postgres" else value.copy()
    if rule.nfc:
        text = exp.Normalize(this=text)
    if rule.collapse_whitespace:
        every = ", 'g'"
        text = filled(f"REGEXP_REPLACE(v, {_SPACES}, ' '{every})", dialect, v=text)
    if rule.trim:
        text = filled(f"TRIM(v, {_WHITE_SPACE})", dialect, v=text)
    if rule.ignore_case:
        text = sql.uppered(text)
    if rule.empty_is_null:
        text = filled("NULLIF(v, '')", dialect, v=text)
    return text


def _goal(pair: CellPair) -> str:
    """Return the type of two numbers in DuckDB: `raw`, a decimal, `wide` or `digits` (text)."""
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
    return f"DECIMAL({whole + scale}, {scale})" if whole + scale <= _WIDEST else "wide"


def _number(pair: CellPair, own: CellType, value: exp.Expr, dialect: str) -> exp.Expr:
    if own.kind == "boolean":
        value = filled("CAST(v AS INT)", dialect, v=value)
    goal = _goal(pair)
    if dialect == "postgres" or goal == "raw":
        return value.copy()
    if goal in {"digits", "wide"}:
        return _digits(own, value)
    return filled(f"CAST(v AS {goal})", dialect, v=value)


def _digits(own: CellType, value: exp.Expr) -> exp.Expr:
    """Return a number as text without superfluous zeros, in DuckDB."""
    if own.digits is None:  # staged in this form
        return value.copy()
    text = "CAST(v AS TEXT)"
    return filled(f"RTRIM(RTRIM({text}, '0'), '.')" if own.scale else text, "duckdb", v=value)


def _wide(pair: CellPair, a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """Return whether two decimals differ whose types together exceed 38 digits."""
    scale = max(pair.a.scale or 0, pair.b.scale or 0)
    goal = f"DECIMAL({_WIDEST}, {scale})"
    return filled(
        f"TRY_CAST(a AS {goal}) IS DISTINCT FROM TRY_CAST(b AS {goal})"
        f" OR (TRY_CAST(a AS {goal}) IS NULL AND text_a IS DISTINCT FROM text_b)",
        "duckdb",
        a=a,
        b=b,
        text_a=_digits(pair.a, a),
        text_b=_digits(pair.b, b),
    )


def _float_type(kind: CellType) -> exp.DType:
    return exp.DType.FLOAT if kind.single else exp.DType.DOUBLE


def _float(own: CellType, other: CellType, value: exp.Expr, dialect: str) -> exp.Expr:
    if own.kind == other.kind:
        same = own.single == other.single or dialect == "postgres"
        return value.copy() if same else filled("CAST(v AS DOUBLE)", dialect, v=value)
    # A float and an exact number, as keys: the text of the shortest decimal.
    if own.kind != "float":
        return _decimal_text(own, value, dialect)
    text = floats.shortest(value.copy(), _float_type(own), dialect)
    if dialect == "postgres":
        return filled("CAST(CAST(v AS DECIMAL) AS TEXT)", dialect, v=text)
    scale = min(other.scale or 0, _WIDEST)
    kind = "FLOAT" if own.single else "DOUBLE"
    fixed = f"TRY_CAST(text AS DECIMAL({_WIDEST}, {scale}))"
    short = f"CAST({fixed} AS TEXT)"
    trimmed = f"RTRIM(RTRIM({short}, '0'), '.')" if scale else short
    return filled(
        f"CASE WHEN CAST({short} AS {kind}) = v THEN {trimmed} ELSE text END",
        dialect,
        v=value,
        text=text,
    )


def _decimal_text(own: CellType, value: exp.Expr, dialect: str) -> exp.Expr:
    if dialect == "postgres":
        return filled("CAST(TRIM_SCALE((v) + 0.0) AS TEXT)", dialect, v=value)
    return _digits(own, value)


def _mixed(pair: CellPair, a: exp.Expr, b: exp.Expr, dialect: str) -> exp.Expr:
    """Return whether a float and an exact number differ: by the float's shortest decimal."""
    texts = [_exact_text(kind, value, dialect) for kind, value in ((pair.a, a), (pair.b, b))]
    if dialect == "postgres":
        test = "CAST(x AS DECIMAL) IS DISTINCT FROM CAST(y AS DECIMAL)"
        unequal = filled(test, dialect, x=texts[0], y=texts[1])
        limit = _within(pair, a, b, dialect)
        if limit is None:
            return unequal
        return filled(
            "test AND (a IS NULL OR b IS NULL OR NOT near)",
            dialect,
            test=unequal,
            a=a,
            b=b,
            near=limit,
        )
    rule = pair.rule if pair.rule.has_limits else Rule(absolute=Decimal(0))
    return filled(
        "(a IS NULL) <> (b IS NULL) OR (a IS NOT NULL AND b IS NOT NULL AND NOT near)",
        dialect,
        a=a,
        b=b,
        near=_near(rule, a, b, texts),
    )


def _exact_text(kind: CellType, value: exp.Expr, dialect: str) -> exp.Expr:
    if kind.kind == "float":
        return floats.shortest(value.copy(), _float_type(kind), dialect)
    if kind.kind == "boolean":
        return filled("CAST(CAST(v AS INT) AS TEXT)", dialect, v=value)
    return sql.as_text(value.copy()) if dialect == "postgres" else _digits(kind, value)


def _within(pair: CellPair, a: exp.Expr, b: exp.Expr, dialect: str) -> exp.Expr | None:
    """Return the test whether two cells that are not NULL are within the limits of the rule."""
    rule = pair.rule
    if rule.seconds is not None and pair.family in {"date", "timestamp"}:
        return _near_times(pair, rule.seconds, a, b, dialect)
    if not rule.has_limits:
        return None
    if dialect == "postgres":
        return _near_postgres(pair, a, b)
    goal = _goal(pair) if pair.family == "number" else ""
    exact = _near_decimals(pair, goal, a, b)
    if exact is not None:
        return exact
    kinds = ((pair.a, a), (pair.b, b))
    return _near(rule, a, b, [_exact_text(kind, value, dialect) for kind, value in kinds])


def _near_decimals(pair: CellPair, common: str, a: exp.Expr, b: exp.Expr) -> exp.Expr | None:
    """Return the test in DuckDB's decimals; None if they have too few digits for it."""
    if common in {"", "digits", "wide"}:
        return None
    scale = max(pair.a.scale or 0, pair.b.scale or 0)
    whole = max(pair.a.digits or 1, pair.b.digits or 1) + 1
    tests: list[str] = []
    goal = f"DECIMAL({whole + scale}, {scale})"
    gap = f"ABS(CAST(a AS {goal}) - CAST(b AS {goal}))"
    for name, limit in (("absolute", pair.rule.absolute), ("relative", pair.rule.relative)):
        if limit is None:
            continue
        before, after = _places(limit)
        number = f"CAST('{limit:f}' AS DECIMAL({before + after}, {after}))"
        if name == "absolute":
            width = max(whole + 1, before) + max(scale, after)
            tests.append(f"{gap} <= {number}")
        else:
            width = whole + 1 + scale + before + after
            tests.append(f"{gap} <= ABS(CAST(a AS {goal})) * {number}")
        if width > _WIDEST:
            return None
    return filled(" AND ".join(tests), "duckdb", a=_plain(pair.a, a), b=_plain(pair.b, b))


def _plain(kind: CellType, value: exp.Expr) -> exp.Expr:
    return filled("CAST(v AS INT)", "duckdb", v=value) if kind.kind == "boolean" else value


def _places(limit: Decimal) -> tuple[int, int]:
    """Return the number of digits before and after the point."""
    whole, _, fraction = f"{limit:f}".partition(".")
    return len(whole), len(fraction)


def _near(rule: Rule, a: exp.Expr, b: exp.Expr, texts: list[exp.Expr]) -> exp.Expr:
    """Return the test in DuckDB by binary floats, and by all digits where these cannot decide."""
    one, other = "CAST(CAST(a AS TEXT) AS DOUBLE)", "CAST(CAST(b AS TEXT) AS DOUBLE)"
    gap = f"ABS({one} - {other})"
    error = f"1e-14 * (ABS({one}) + ABS({other}))"
    limits: dict[str, str] = {}
    if rule.absolute is not None:
        limits["absolute"] = f"CAST('{rule.absolute:f}' AS DOUBLE)"
    if rule.relative is not None:
        limits["relative"] = f"CAST('{rule.relative:f}' AS DOUBLE) * ABS({one})"
    outside = " OR ".join(f"{gap} - {error} > {each} * 1.000001e0" for each in limits.values())
    inside = " AND ".join(f"{gap} + {error} < {each} * 0.999999e0" for each in limits.values())
    stated = [
        f"'{limit:f}'" if limit is not None else "''" for limit in (rule.absolute, rule.relative)
    ]
    exact = f"SKILLIAN_WITHIN(text_a, text_b, {', '.join(stated)})"
    return filled(
        f"CASE WHEN NOT ISFINITE({gap}) THEN {exact} WHEN {outside} THEN FALSE"
        f" WHEN {inside} THEN TRUE ELSE {exact} END",
        "duckdb",
        a=a,
        b=b,
        text_a=texts[0],
        text_b=texts[1],
    )


def _near_postgres(pair: CellPair, a: exp.Expr, b: exp.Expr) -> exp.Expr:
    tests: list[str] = []
    if pair.family == "float":
        odd = "('NaN', 'Infinity', '-Infinity')"
        tests.append(f"CAST(x AS TEXT) NOT IN {odd} AND CAST(y AS TEXT) NOT IN {odd}")
    gap = "ABS(CAST(x AS DECIMAL) - CAST(y AS DECIMAL))"
    if pair.rule.absolute is not None:
        tests.append(f"{gap} <= {pair.rule.absolute:f}")
    if pair.rule.relative is not None:
        tests.append(f"{gap} <= {pair.rule.relative:f} * ABS(CAST(x AS DECIMAL))")
    values = [
        _exact_text(kind, value, "postgres")
        if kind.kind in {"float", "boolean"}
        else exp.Paren(this=value.copy())
        for kind, value in ((pair.a, a), (pair.b, b))
    ]
    return filled(" AND ".join(tests), "postgres", x=values[0], y=values[1])


def _moment(pair: CellPair, own: CellType, value: exp.Expr, dialect: str) -> exp.Expr:
    zoned = "timestamptz" in {pair.a.kind, pair.b.kind}
    nanos = pair.a.nanos or pair.b.nanos
    text = "v"
    if own.kind == "date":
        text = "v + TIME '00:00:00'" if dialect == "postgres" else "CAST(v AS TIMESTAMP)"
    if pair.rule.precision is not None:
        text = f"DATE_TRUNC('{pair.rule.precision}', {text})"
    if zoned and own.kind != "timestamptz":
        zone = exp.Literal.string(pair.rule.zone or "UTC").sql()
        inner = f"CAST({text} AS TIMESTAMP)" if own.nanos else f"({text})"
        text = f"{inner} AT TIME ZONE {zone}"
    if nanos and (pair.a.sql != pair.b.sql or pair.rule.precision is not None):
        exact = own.nanos and not (zoned and own.kind != "timestamptz")
        text = (
            f"CAST(EPOCH_NS({text}) AS HUGEINT)"
            if exact
            else f"CAST(EPOCH_US({text}) AS HUGEINT) * 1000"
        )
    return filled(text, dialect, v=value)


def _near_times(
    pair: CellPair, seconds: Decimal, a: exp.Expr, b: exp.Expr, dialect: str
) -> exp.Expr:
    if pair.family == "date":
        day = CellType("timestamp", "TIMESTAMP")
        pair = CellPair(CellType("date", pair.a.sql), day, "timestamp", pair.rule)
        values = [_moment(pair, pair.a, each, dialect) for each in (a, b)]
    else:
        kinds = ((pair.a, a), (pair.b, b))
        values = [_moment(pair, kind, value, dialect) for kind, value in kinds]
    if dialect == "postgres":
        gap = "ABS(EXTRACT(EPOCH FROM a) - EXTRACT(EPOCH FROM b))"
        return filled(f"{gap} <= {seconds:f}", dialect, a=values[0], b=values[1])
    if pair.a.nanos or pair.b.nanos:
        function, unit = (
            ("" if pair.a.sql != pair.b.sql or pair.rule.precision else "EPOCH_NS"),
            _NANOSECONDS,
        )
    else:
        function, unit = "EPOCH_US", _MICROSECONDS
    gap = f"ABS(CAST({function}(a) AS HUGEINT) - CAST({function}(b) AS HUGEINT))"
    return filled(f"{gap} <= {int(seconds * unit)}", dialect, a=values[0], b=values[1])


_JSON = {
    "duckdb": """
CASE WHEN a IS NULL OR b IS NULL THEN (a IS NULL) <> (b IS NULL)
WHEN CAST(a AS TEXT) = CAST(b AS TEXT) THEN FALSE
ELSE SKILLIAN_JSON(CAST(a AS TEXT)) <> SKILLIAN_JSON(CAST(b AS TEXT)) END
""",
    "postgres": "CAST(a AS JSONB) IS DISTINCT FROM CAST(b AS JSONB)",
}
