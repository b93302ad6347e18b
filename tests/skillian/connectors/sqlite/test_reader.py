import pytest

from skillian.connectors.base import ColumnType, Table
from skillian.connectors.sqlite.reader import used_columns

TEXT = ColumnType("text", "VARCHAR")
TABLES = (
    Table("main", "t", {"a": TEXT, "b": TEXT, "C": TEXT}),
    Table("main", "other", {"a": TEXT, "x y": TEXT}),
)


@pytest.mark.parametrize(
    ("statement", "used"),
    [
        ("SELECT a FROM t", {"t": ("a",)}),
        ('SELECT "T"."c", SUM(B) FROM "main"."T" GROUP BY 1', {"t": ("b", "C")}),
        ("SELECT COUNT(*) FROM t", {"t": ("a",)}),
        ("SELECT * FROM t", {"t": ("a", "b", "C")}),
        ("SELECT u.* FROM t AS u", {"t": ("a", "b", "C")}),
        ("SELECT u FROM t AS u", {"t": ("a", "b", "C")}),
        ("WITH q AS (SELECT b FROM t) SELECT * FROM q", {"t": ("b",)}),
        ("SELECT b FROM t JOIN other USING (a)", {"t": ("a", "b"), "other": ("a",)}),
        ("SELECT b FROM t NATURAL JOIN other", {"t": ("a", "b", "C"), "other": ("a", "x y")}),
        ('SELECT b FROM t WHERE EXISTS (SELECT 1 FROM other WHERE "x y" = t.a)',
         {"t": ("a", "b"), "other": ("a", "x y")}),
        ("SELECT 1", {}),
        ("SELECT (", {}),
    ],
)  # fmt: skip
def test_used_columns(statement: str, used: dict[str, tuple[str, ...]]) -> None:
    assert used_columns(statement, TABLES) == used
