"""Whether two cells differ, also beyond the limits of a rule, as SQL for each pair of types."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from skillian.connectors.dialects import filled
from skillian.data.declare.rules import Rule
from skillian.data.sql import MAX_DIGITS
from skillian.data.tables.cells import (
    CellPair,
    common_number,
    digits_of,
    exact_text,
    form,
    in_one_width,
    moment_form,
)
from skillian.data.tables.changes import changed, width
from skillian.data.tables.types import CellType

_MICROSECONDS, _NANOSECONDS = 1_000_000, 1_000_000_000


def differs(pair: CellPair, a: exp.Expr, b: exp.Expr, dialect: str) -> exp.Expr:
    """The test whether two cells differ; it is never NULL."""
    (after, a), (_, b) = changed(pair, 0, a, dialect), changed(pair, 1, b, dialect)
    pair = after
    if pair.family == "json":
        stored = {pair.a.sql.lower(), pair.b.sql.lower()} == {"jsonb"}
        return filled(
            _JSONB if stored and dialect == "postgres" else _JSON[dialect], dialect, a=a, b=b
        )
    if pair.family == "float" and {pair.a.kind, pair.b.kind} != {"float"}:
        return _mixed(pair, a, b, dialect)
    (wide, a), (_, b) = in_one_width(pair, 0, a), in_one_width(pair, 1, b)
    pair = wide
    if pair.family == "number" and dialect == "duckdb" and common_number(pair) == "wide":
        unequal = _wide(pair, a, b)
    else:
        unequal = exp.NullSafeNEQ(
            this=form(pair, 0, a, dialect), expression=form(pair, 1, b, dialect)
        )
    return _beyond(exp.Paren(this=unequal), pair, a, b, dialect)


def _beyond(unequal: exp.Expr, pair: CellPair, a: exp.Expr, b: exp.Expr, dialect: str) -> exp.Expr:
    """Whether two cells are unequal and not within the limits of the rule, if it has any."""
    limit = _within(pair, a, b, dialect)
    if limit is None:
        return unequal
    return filled(
        "test AND (a IS NULL OR b IS NULL OR NOT COALESCE(near, FALSE))",
        dialect,
        test=unequal,
        a=a,
        b=b,
        near=limit,
    )


def _wide(pair: CellPair, a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """Whether two decimals differ whose types together exceed 38 digits."""
    scale = max(pair.a.scale or 0, pair.b.scale or 0)
    goal = f"DECIMAL({MAX_DIGITS}, {scale})"
    return filled(
        f"TRY_CAST(a AS {goal}) IS DISTINCT FROM TRY_CAST(b AS {goal})"
        f" OR (TRY_CAST(a AS {goal}) IS NULL AND text_a IS DISTINCT FROM text_b)",
        "duckdb",
        a=a,
        b=b,
        text_a=digits_of(pair.a, a),
        text_b=digits_of(pair.b, b),
    )


def _mixed(pair: CellPair, a: exp.Expr, b: exp.Expr, dialect: str) -> exp.Expr:
    """Whether a float and an exact number differ: by the float's shortest decimal."""
    texts = [exact_text(kind, value, dialect) for kind, value in ((pair.a, a), (pair.b, b))]
    if dialect == "postgres":
        test = "CAST(x AS DECIMAL) IS DISTINCT FROM CAST(y AS DECIMAL)"
        return _beyond(filled(test, dialect, x=texts[0], y=texts[1]), pair, a, b, dialect)
    rule = pair.rule if pair.rule.has_limits else Rule(absolute=Decimal(0))
    same = None if pair.rule.has_limits else _same_number(pair, a, b, texts)
    return filled(
        "(a IS NULL) <> (b IS NULL)"
        " OR (a IS NOT NULL AND b IS NOT NULL AND NOT COALESCE(near, FALSE))",
        dialect,
        a=a,
        b=b,
        near=_near(pair, rule, (a, b), texts) if same is None else same,
    )


def _same_number(
    pair: CellPair, a: exp.Expr, b: exp.Expr, texts: list[exp.Expr]
) -> exp.Expr | None:
    """Whether a number is the shortest decimal of a float, in DuckDB's own types.

    It is if it reads back as the float and equals that decimal, rounded to its own scale: a number
    of fewer digits that reads back as the float would itself be the shortest.
    """
    index = 0 if pair.a.kind == "float" else 1
    kinds, values = (pair.a, pair.b), (a, b)
    number = kinds[1 - index]
    if number.digits is None or number.scale is None or number.digits + number.scale > MAX_DIGITS:
        return None
    kind = "FLOAT" if kinds[index].single else "DOUBLE"
    return filled(
        f"CASE WHEN CAST(CAST(n AS TEXT) AS {kind}) IS DISTINCT FROM f THEN FALSE"
        f" ELSE COALESCE(TRY_CAST(text AS DECIMAL({MAX_DIGITS}, {number.scale})) = n, FALSE) END",
        "duckdb",
        f=values[index],
        n=values[1 - index],
        text=texts[index],
    )


def _within(pair: CellPair, a: exp.Expr, b: exp.Expr, dialect: str) -> exp.Expr | None:
    """The test whether two cells that are not NULL are within the limits of the rule."""
    rule = pair.rule
    if rule.seconds is not None and pair.family in {"date", "timestamp"}:
        return _near_times(pair, rule.seconds, a, b, dialect)
    if not rule.has_limits:
        return None
    if dialect == "postgres":
        return _near_postgres(pair, a, b)
    goal = common_number(pair) if pair.family == "number" else ""
    exact = _near_decimals(pair, goal, a, b)
    if exact is not None:
        return exact
    kinds = ((pair.a, a), (pair.b, b))
    texts = [exact_text(kind, value, dialect) for kind, value in kinds]
    return _near(pair, rule, (a, b), texts)


def _near_decimals(pair: CellPair, common: str, a: exp.Expr, b: exp.Expr) -> exp.Expr | None:
    """The test in DuckDB's decimals; None if they have too few digits for it."""
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
        before, after = width(limit)
        number = f"CAST('{limit:f}' AS DECIMAL({before + after}, {after}))"
        if name == "absolute":
            digits = max(whole + 1, before) + max(scale, after)
            tests.append(f"{gap} <= {number}")
        else:
            digits = whole + 1 + scale + before + after
            tests.append(f"{gap} <= ABS(CAST(a AS {goal})) * {number}")
        if digits > MAX_DIGITS:
            return None
    return filled(" AND ".join(tests), "duckdb", a=_plain(pair.a, a), b=_plain(pair.b, b))


def _plain(kind: CellType, value: exp.Expr) -> exp.Expr:
    return filled("CAST(v AS INT)", "duckdb", v=value) if kind.kind == "boolean" else value


def _near(
    pair: CellPair, rule: Rule, values: tuple[exp.Expr, exp.Expr], texts: list[exp.Expr]
) -> exp.Expr:
    """The test in DuckDB by binary floats, and by all digits where these cannot decide."""
    # DuckDB prints some floats of 32 bits as another decimal.
    a, b = (
        text if kind.single else value
        for kind, value, text in zip((pair.a, pair.b), values, texts, strict=True)
    )
    one, other = "TRY_CAST(CAST(a AS TEXT) AS DOUBLE)", "TRY_CAST(CAST(b AS TEXT) AS DOUBLE)"
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
        exact_text(kind, value, "postgres")
        if kind.kind in {"float", "boolean"}
        else exp.Paren(this=value.copy())
        for kind, value in ((pair.a, a), (pair.b, b))
    ]
    return filled(" AND ".join(tests), "postgres", x=values[0], y=values[1])


def _near_times(
    pair: CellPair, seconds: Decimal, a: exp.Expr, b: exp.Expr, dialect: str
) -> exp.Expr:
    if pair.family == "date":
        day = CellType("timestamp", "TIMESTAMP")
        pair = CellPair(CellType("date", pair.a.sql), day, "timestamp", pair.rule)
        values = [moment_form(pair, pair.a, each, dialect) for each in (a, b)]
    else:
        kinds = ((pair.a, a), (pair.b, b))
        values = [moment_form(pair, kind, value, dialect) for kind, value in kinds]
    if dialect == "postgres":
        gap = "ABS(EXTRACT(EPOCH FROM a) - EXTRACT(EPOCH FROM b))"
        return filled(f"{gap} <= {seconds:f}", dialect, a=values[0], b=values[1])
    function, unit = "EPOCH_US", _MICROSECONDS
    if (pair.a.nanos or pair.b.nanos) and pair.rule.precision is None:
        function, unit = "EPOCH_NS" if pair.a.sql == pair.b.sql else "", _NANOSECONDS
    gap = f"ABS(CAST({function}(a) AS HUGEINT) - CAST({function}(b) AS HUGEINT))"
    return filled(f"{gap} <= {int(seconds * unit)}", dialect, a=values[0], b=values[1])


# PostgreSQL reads no `\\u0000`: a mark of characters for private use stands for it.
_READ_JSON = r"CAST(REPLACE(CAST({} AS TEXT), '\u0000', '\uE000\uF8FF\uE000') AS JSONB)"
_JSON = {
    "duckdb": """
CASE WHEN a IS NULL OR b IS NULL THEN (a IS NULL) <> (b IS NULL)
WHEN CAST(a AS TEXT) = CAST(b AS TEXT) THEN FALSE
ELSE SKILLIAN_JSON(CAST(a AS TEXT)) <> SKILLIAN_JSON(CAST(b AS TEXT)) END
""",
    "postgres": f"""
CASE WHEN CAST(a AS TEXT) = CAST(b AS TEXT) THEN FALSE
ELSE {_READ_JSON.format("a")} IS DISTINCT FROM {_READ_JSON.format("b")} END
""",
}
_JSONB = "a IS DISTINCT FROM b"
