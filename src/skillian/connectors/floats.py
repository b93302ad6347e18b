"""The shortest decimal that reads back as a binary float, for databases that print another one.

All databases have to give the same decimal for one float: of those that read back as it in its own
width, 32 or 64 bits, one with the fewest digits, of these the nearest, of two that are equally near
the even one. That is what Python, JavaScript, and Java from version 19 on print. The others:

- DuckDB prints some 32-bit floats with more digits (429870.125 for 429870.12), and two powers of
  two, 2^81 and 2^91, as twice what they are.
- PostgreSQL takes no decimal that lies halfway between two floats, although it reads back as one of
  them. Only whole numbers above 2^24 (32 bits) or 2^53 (64 bits) have such a decimal.
- Java before version 19 prints some with superfluous digits, or not the nearest decimal
  (JDK-4511638).

Proved by `tests/skillian/connectors/test_floats.py` for all floats that a decimal of 38 digits
can hold.
"""

from sqlglot import exp

from skillian.connectors.dialects import filled

FLOAT = exp.DType.FLOAT

EXACT = frozenset({"clickhouse", "duckdb", "postgres", "spark"})
"""Dialects whose statements print a float so that it reads back as the same float."""

# From here on a float is a whole number.
_LIMITS = {FLOAT: "16777216", exp.DType.DOUBLE: "9007199254740992"}

# The value to so many digits is exact there. At a power of two, where the floats below are closer
# together than those above, the nearest decimal of 8 digits may be too low and the next one fit.
_DUCKDB_DIGITS = "WHEN CAST({text} AS FLOAT) = v THEN {text}"
_DUCKDB_TEXTS = [
    *(f"FORMAT('{{:.{digits - 1}e}}', CAST(v AS DOUBLE))" for digits in (6, 7, 8)),
    "FORMAT('{:.7e}', CAST(v AS DOUBLE) * 1.00000003e0)",
]
# As a float of 64 bits, few digits have a plain text.
_DUCKDB = (
    f"CAST(CAST(CASE {' '.join(_DUCKDB_DIGITS.format(text=text) for text in _DUCKDB_TEXTS)}"
    " ELSE FORMAT('{:.8e}', CAST(v AS DOUBLE)) END AS DOUBLE) AS TEXT)"
)
_DUCKDB_WIDE = """
CASE WHEN TRY_CAST(CAST(v AS TEXT) AS DOUBLE) = v THEN CAST(v AS TEXT) ELSE FORMAT('{:.16e}', v) END
"""

# Between the limits the texts of fewer digits than PostgreSQL prints are tried.
_POSTGRES = """
CASE WHEN ABS(v) BETWEEN {limit} AND 1e38 THEN COALESCE({shorter}, CAST(v AS TEXT))
ELSE CAST(v AS TEXT) END
"""
_POSTGRES_NUMBER = "CAST(CAST(CAST(v AS DOUBLE PRECISION) AS TEXT) AS DECIMAL)"
_POSTGRES_ROUNDED = (
    f"ROUND({_POSTGRES_NUMBER}, {{digits}} - LENGTH(CAST(TRUNC(ABS({_POSTGRES_NUMBER})) AS TEXT)))"
)
_POSTGRES_DIGITS = (
    f"CASE WHEN CAST({_POSTGRES_ROUNDED} AS {{kind}}) = v"
    f" THEN CAST({_POSTGRES_ROUNDED} AS TEXT) END"
)

# Below the limit: few digits always fit if they read back. Of two texts that are equally near and
# short, Java prints the even one, and `%e` the upper one.
_SPARK = """
CASE
    WHEN v IS NULL THEN NULL
    WHEN ABS(v) >= {limit} AND ABS(v) < POWER(2, 126) THEN {whole}
    {few}
    WHEN LENGTH(REGEXP_REPLACE(SPLIT_PART(CAST(v AS STRING), 'E', 1), '[^0-9]', '')) <= {many}
        THEN CAST(v AS STRING)
    {last}
    ELSE CAST(v AS STRING)
END
"""
_SPARK_DIGITS = "WHEN CAST({text} AS {kind}) = v THEN {text}"
# Above it the exact whole number is made of two halves of 63 bits, and rounded to an even digit.
# `count_` is twice the number of digits, and one more for the next decimal above (see DuckDB).
_SPARK_WHOLE = """
CASE WHEN v < 0 THEN '-' ELSE '' END || FILTER(
    FLATTEN(TRANSFORM(
        TRANSFORM(
            ARRAY(CAST(ABS(v) AS DOUBLE)),
            size_ -> CAST(FLOOR(size_ / POWER(2, 63)) AS DECIMAL(19, 0)) * 9223372036854775808
                + CAST(size_ - FLOOR(size_ / POWER(2, 63)) * POWER(2, 63) AS BIGINT)
        ),
        whole_ -> TRANSFORM(
            TRANSFORM(
                ARRAY({counts}),
                count_ -> STRUCT(
                    CAST(
                        RPAD('1', GREATEST(LENGTH(STRING(whole_)) - count_ DIV 2 + 1, 1), '0')
                        AS DECIMAL(37, 0)
                    ) AS unit,
                    count_ % 2 AS above)
            ),
            to_ -> CAST(
                whole_ - whole_ % to_.unit + to_.unit * CASE
                    WHEN 2 * (whole_ % to_.unit) > to_.unit THEN 1 + to_.above
                    WHEN 2 * (whole_ % to_.unit) = to_.unit AND whole_ % (2 * to_.unit) >= to_.unit
                        THEN 1 + to_.above
                    ELSE to_.above
                END AS STRING)
        )
    )),
    text_ -> CAST(text_ AS {kind}) = ABS(v)
)[0]
"""


# In PostgreSQL, whole numbers of columns have no more than 64 bits.
_ALL_DIGITS = {
    "duckdb": """
CASE WHEN ABS(v) < {limit} THEN text
ELSE COALESCE(CAST(TRY_CAST(v AS BIGNUM) AS TEXT) || '.0', text) END
""",
    "postgres": """
CASE WHEN ABS(v) >= {limit} AND v >= -9223372036854775808 AND v < 9223372036854775808
THEN CAST(CAST(v AS BIGINT) AS TEXT) ELSE text END
""",
}


def with_digits(value: exp.Expr, kind: exp.DType, dialect: str) -> exp.Expr:
    """The number that a float is, if that is a whole number of many digits; otherwise `shortest`.

    The dialect is `duckdb` or `postgres`.
    """
    text = shortest(value, kind, dialect)
    return filled(_ALL_DIGITS[dialect].format(limit=_LIMITS[kind]), dialect, v=value, text=text)


def shortest(value: exp.Expr, kind: exp.DType, dialect: str) -> exp.Expr:
    """The text of the shortest decimal that reads back as `value`, which `kind` describes.

    NaN and the infinities have the text that the database prints.
    """
    if dialect == "duckdb":
        text = _DUCKDB if kind == FLOAT else _DUCKDB_WIDE
    else:
        text = _postgres(kind) if dialect == "postgres" else _spark(kind)
    return filled(text, dialect, v=value)


def _postgres(kind: exp.DType) -> str:
    name, digits = ("REAL", (6, 7, 8)) if kind == FLOAT else ("DOUBLE PRECISION", (15, 16))
    shorter = ", ".join(_POSTGRES_DIGITS.format(digits=count, kind=name) for count in digits)
    return _POSTGRES.format(limit=_LIMITS[kind], shorter=shorter)


def _spark(kind: exp.DType) -> str:
    few, many = ((6, 7), 8) if kind == FLOAT else ((15,), 16)
    tries = [
        _SPARK_DIGITS.format(text=f"FORMAT_STRING('%.{digits - 1}e', v)", kind=kind.value)
        for digits in (*few, many)
    ]
    if kind == FLOAT:
        text = "FORMAT_STRING('%.7e', v * 1.00000003D)"
        tries.append(_SPARK_DIGITS.format(text=text, kind=kind.value))
    counts = ", ".join(f"{2 * digits}" for digits in (*few, many))
    whole = _SPARK_WHOLE.format(counts=f"{counts}, {2 * many + 1}, {2 * many + 2}", kind=kind.value)
    return _SPARK.format(
        limit=_LIMITS[kind],
        whole=whole,
        few=" ".join(tries[: len(few)]),
        many=many,
        last=" ".join(tries[len(few) :]),
    )
