"""The key that is proposed for tables without a stated one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import duckdb
import pytest

from skillian.data.declare.sources import Connections
from skillian.data.query.binding import Binder
from skillian.data.tables.engine import TableEngine, TableQuestion
from skillian.data.tables.relation import bare_tables
from skillian.data.tables.results import TableKey
from skillian.errors import InvalidInputError


def key_of(folder: Path, a: str, b: str | None = None) -> TableKey:
    """Return the key of two tables, each the result of a SELECT or made by a CREATE TABLE t."""
    names: list[str] = []
    for side, script in (("a", a), ("b", b or a)):
        path = folder / f"{side}.duckdb"
        with duckdb.connect(path) as connection:
            made = script if script.startswith("CREATE") else f"CREATE TABLE t AS {script}"
            connection.execute(made)
        names.append(f"duckdb:///{path}#t")

    async def run() -> TableKey:
        registry, (one, other) = await bare_tables(names)
        async with Connections(registry) as connections:
            engine = TableEngine(Binder(registry, connections))
            try:
                return (await engine.compare(TableQuestion(one, other))).key
            finally:
                await engine.aclose()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ("SELECT i AS amount, i AS order_id FROM range(50) t (i)", ("order_id",)),
        ("SELECT i % 3 AS company, i // 3 AS period, i * 7 AS amount FROM range(60) t (i)", ()),
        (
            "SELECT i % 3 AS company, i // 3 AS period, 5 AS amount FROM range(60) t (i)",
            ("company", "period"),
        ),
        (
            "SELECT i % 2 AS a, i // 2 % 3 AS b, i // 6 AS c, 1.5 AS v FROM range(30) t (i)",
            ("a", "b", "c"),
        ),
        ("SELECT i + 0.5 AS v, 'name ' || i AS name FROM range(50) t (i)", ("name",)),
    ],
)
def test_the_likeliest_unique_columns(
    tmp_path: Path, select: str, columns: tuple[str, ...]
) -> None:
    key = key_of(tmp_path, select)
    assert key.columns == (columns or ("amount",))
    assert key.origin == "profile"
    assert "No key was given" in key.reason


def test_the_primary_key_precedes_other_unique_columns(tmp_path: Path) -> None:
    key = key_of(
        tmp_path,
        "CREATE TABLE t (id INTEGER, code VARCHAR PRIMARY KEY, n INTEGER);"
        " INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 1)",
    )
    assert (key.columns, key.origin) == (("code",), "catalogue")


def test_a_key_that_is_repeated_on_one_side_is_used_and_named(tmp_path: Path) -> None:
    rows = "SELECT i AS id, 1 AS v FROM range(20) t (i)"
    key = key_of(tmp_path, rows, f"{rows} UNION ALL SELECT 3, 1")
    assert key.columns == ("id",)
    assert "no two rows of a#t have the same value" in key.reason


@pytest.mark.parametrize(
    "select",
    ["SELECT 1 AS a, 2 AS b FROM range(5)", "SELECT i % 2 + 0.5 AS v FROM range(5) t (i)"],
)
def test_without_unique_columns_it_refuses(tmp_path: Path, select: str) -> None:
    with pytest.raises(InvalidInputError, match=r"no column or combination .* --multiset"):
        key_of(tmp_path, select)
