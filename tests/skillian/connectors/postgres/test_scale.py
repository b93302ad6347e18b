import pytest

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


# Expressions by the scale that follows from exact arithmetic.
SCALES: dict[int | None, tuple[str, ...]] = {
    0: ("COUNT(*)", "ROUND(rate)", "DIV(hsl, rate)", "CAST(hsl AS integer)"),
    2: (
        *("hsl", "hsl * -1", "-hsl + quantity", "SUM(hsl)", "COALESCE(hsl, 0)"),
        *("CASE WHEN quantity > 0 THEN hsl END", "NULLIF(hsl, 0)", "ABS(hsl)"),
        "CAST(hsl AS numeric)",
    ),
    3: ("hsl - 0.125", "ROUND(rate, 3)"),
    4: ("CAST(note AS numeric(9, 4))",),
    5: (
        *("MIN(rate)", "GREATEST(hsl, rate)", "CASE WHEN quantity > 0 THEN hsl ELSE -rate END"),
        "hsl % rate",
    ),
    7: ("hsl * rate",),
    None: (
        *("hsl * 1e-3", "AVG(hsl)", "hsl / 3", "COALESCE(hsl, '0.001')"),
        *("CASE WHEN quantity > 0 THEN hsl ELSE free END", "ROUND(rate, quantity)"),
        *("CAST(note AS numeric)", "CAST(hsl AS double precision)", "free * 2", "ratio + hsl"),
        *('(SELECT MAX(hsl) FROM "Ledger")', "missing"),
    ),
}
# Columns are followed to where they come from.
STATEMENTS: dict[str, list[int | None]] = {
    'SELECT source.hsl, x.hsl FROM "Ledger" source JOIN other."Ledger" x ON true': [2, 4],
    'SELECT * FROM other."Ledger"': [4],
    'SELECT s FROM (SELECT SUM(hsl * 2) AS s FROM "Ledger") AS inside': [2],
    'WITH c AS (SELECT -rate AS r FROM "Ledger") SELECT r, r * r FROM c': [5, 10],
    'WITH "Ledger" AS (SELECT 1.5 AS hsl) SELECT hsl FROM "Ledger"': [1],
    'SELECT hsl, 1 FROM "Ledger" UNION ALL SELECT rate, NULL FROM "Ledger"': [5, 0],
    'SELECT hsl FROM "Ledger" UNION ALL SELECT free FROM "Ledger"': [None],
    "SELECT n FROM generate_series(1, 2) AS n": [None],
    "SELECT nothing that parses (": [],
}


@pytest.mark.parametrize(
    ("statement", "scales"),
    [
        *((select(each), [scale]) for scale, some in SCALES.items() for each in some),
        *STATEMENTS.items(),
    ],
)
def test_the_scale_follows_from_exact_arithmetic(statement: str, scales: list[int | None]) -> None:
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
