from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.postgres import Database

from skillian.connectors.base import ColumnType, Table
from skillian.connectors.postgres.scale import output_scales, with_scales

LEDGER = Table(
    "public",
    "Ledger",
    {
        "hsl": ColumnType("decimal", "numeric(17,2)", 2),
        "rate": ColumnType("decimal", "numeric(9,5)", 5),
        "quantity": ColumnType("integer", "integer"),
        "free": ColumnType("other", "numeric"),
        "ratio": ColumnType("float", "real"),
        "note": ColumnType("text", "text"),
    },
)


def select(expression: str) -> str:
    return f'SELECT {expression} FROM "Ledger"'  # noqa: S608 - written in the tests


OTHER = Table("other", "Ledger", {"hsl": ColumnType("decimal", "numeric(17,4)", 4)})


@pytest.mark.parametrize(
    ("expression", "scale"),
    [
        ("hsl", 2),
        ("hsl * -1", 2),
        ("-hsl + quantity", 2),
        ("hsl * rate", 7),
        ("hsl - 0.125", 3),
        ("hsl * 1e-3", None),
        ("SUM(hsl)", 2),
        ("MIN(rate)", 5),
        ("AVG(hsl)", None),
        ("hsl / 3", None),
        ("COUNT(*)", 0),
        ("COALESCE(hsl, 0)", 2),
        ("COALESCE(hsl, '0.001')", None),
        ("GREATEST(hsl, rate)", 5),
        ("CASE WHEN quantity > 0 THEN hsl ELSE -rate END", 5),
        ("CASE WHEN quantity > 0 THEN hsl END", 2),
        ("CASE WHEN quantity > 0 THEN hsl ELSE free END", None),
        ("NULLIF(hsl, 0)", 2),
        ("ROUND(rate, 3)", 3),
        ("ROUND(rate)", 0),
        ("ROUND(rate, quantity)", None),
        ("DIV(hsl, rate)", 0),
        ("hsl % rate", 5),
        ("ABS(hsl)", 2),
        ("CAST(note AS numeric(9, 4))", 4),
        ("CAST(note AS numeric)", None),
        ("CAST(hsl AS numeric)", 2),
        ("CAST(hsl AS integer)", 0),
        ("CAST(hsl AS double precision)", None),
        ("free * 2", None),
        ("ratio + hsl", None),
        ('(SELECT MAX(hsl) FROM "Ledger")', None),
        ("missing", None),
    ],
)
def test_the_scale_follows_from_exact_arithmetic(expression: str, scale: int | None) -> None:
    assert output_scales(select(expression), [LEDGER, OTHER]) == [scale]


@pytest.mark.parametrize(
    ("statement", "scales"),
    [
        ('SELECT source.hsl, x.hsl FROM "Ledger" source JOIN other."Ledger" x ON true', [2, 4]),
        ('SELECT * FROM other."Ledger"', [4]),
        ('SELECT s FROM (SELECT SUM(hsl * 2) AS s FROM "Ledger") AS inside', [2]),
        ('WITH c AS (SELECT -rate AS r FROM "Ledger") SELECT r, r * r FROM c', [5, 10]),
        ('WITH "Ledger" AS (SELECT 1.5 AS hsl) SELECT hsl FROM "Ledger"', [1]),
        ('SELECT hsl, 1 FROM "Ledger" UNION ALL SELECT rate, NULL FROM "Ledger"', [5, 0]),
        ('SELECT hsl FROM "Ledger" UNION ALL SELECT free FROM "Ledger"', [None]),
        ("SELECT n FROM generate_series(1, 2) AS n", [None]),
        ("SELECT nothing that parses (", []),
    ],
)
def test_columns_are_followed_to_where_they_come_from(
    statement: str, scales: list[int | None]
) -> None:
    assert output_scales(statement, [LEDGER, OTHER]) == scales


def test_only_a_numeric_without_a_scale_gets_one() -> None:
    text, numeric = ColumnType("text", "text"), ColumnType("other", "numeric")
    columns = [("a", text), ("b", numeric), ("c", numeric), ("d", numeric)]
    assert with_scales(columns, [2, 3, None, 39]) == [
        ("a", text),
        ("b", ColumnType("decimal", "numeric(38,3)", 3)),
        ("c", numeric),
        ("d", numeric),
    ]
    assert with_scales(columns, []) == columns


LEAVES = ["hsl", "rate", "quantity", "7", "(-0.125)", "NULL::numeric"]


def deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    calls = st.sampled_from(["ABS", "CEIL", "COALESCE", "GREATEST", "ROUND", "-"])
    remainder = "(CAST({} AS numeric) % NULLIF(CAST({} AS numeric), 0))"  # there is none of floats
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
        st.builds(remainder.format, inner, inner),
        st.builds("{}({})".format, calls, inner),
        st.builds("CASE WHEN quantity > 0 THEN {} ELSE {} END".format, inner, inner),
        st.builds("CAST({} AS numeric(30, 4))".format, inner),
    )


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    expression=st.recursive(st.sampled_from(LEAVES), deeper, max_leaves=5),
    values=st.tuples(
        st.decimals(min_value=-(10**6), max_value=10**6, places=2),
        st.decimals(min_value=-99, max_value=99, places=5),
        st.integers(-99, 99),
    ),
)
def test_no_value_has_more_digits_than_the_scale_says(
    postgres_database: Database, expression: str, values: tuple[Decimal, Decimal, int]
) -> None:
    hsl, rate, quantity = values
    row = f"{hsl}::numeric(17, 2) AS hsl, {rate}::numeric(9, 5) AS rate, {quantity} AS quantity"
    ledger = f'WITH "Ledger" AS (SELECT {row})'
    found = postgres_database.value(f"{ledger} {select(f'scale(({expression})::numeric)')}")
    [scale] = output_scales(select(expression), [LEDGER])
    assert scale is not None
    assert found is None or int(str(found)) <= scale
