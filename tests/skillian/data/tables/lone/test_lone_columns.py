"""Rows of one side have the columns that only this side has, wherever they are compared."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.asking import rows_asked

from skillian.data.comparison.cache import Memory
from skillian.data.comparison.page import Page
from skillian.data.declare.sources import Connections
from skillian.data.page_order import PageOrders
from skillian.data.query.binding import Binder
from skillian.data.query.relation import bare_tables
from skillian.data.sql.values import python_rows
from skillian.data.tables.across import segments
from skillian.data.tables.differing import ROW_CLASSES, DifferingRows
from skillian.data.tables.engine import TableEngine
from skillian.data.tables.results import TableResult

Rows = list[dict[str, Any]]
ONE = (
    "CREATE TABLE {name} (id INTEGER{key}, note VARCHAR(20), town VARCHAR(20),"
    " paid DECIMAL(10, 2), ratio DOUBLE{precision})"
)
OTHER = "CREATE TABLE {name} (id INTEGER{key}, note VARCHAR(20), born DATE)"
FILL = (
    """INSERT INTO {a} VALUES (1, 'x', 'Ulm', 1.5, 0.1), (2, 'x', 'Bonn', 2, 0.2),
    (3, 'x', 'Kiel', 3.50, 0.3), (5, 'x', NULL, NULL, NULL)""",
    """INSERT INTO {b} VALUES (1, 'x', '2020-01-01'), (2, 'y', '2020-01-02'),
    (4, 'x', '2020-01-04')""",
)


async def compared(
    a: str, b: str, *, own: list[set[str]] | None = None, **question: Any
) -> tuple[TableResult, Rows]:
    """The result, and all rows that differ.

    Args:
        a: One side.
        b: The other side.
        own: Gets the names of the columns that only the side of each row of a page has.
        **question: How they are compared.
    """
    rows: Rows = []

    async def keep(found: DifferingRows) -> None:
        async for batch in found.batches():
            rows.extend(python_rows(batch))
        if own is not None:
            _, page = await found.page(Page(tuple(ROW_CLASSES)), PageOrders([]))
            own.extend({*row.own} for row in page)

    registry, (one, other) = await bare_tables([a, b])
    async with Connections(registry) as connections:
        memory = Memory()
        engine = TableEngine(Binder(registry, connections), memory)
        try:
            asked = rows_asked(one, other, **question)
            return await engine.compare(asked, keep=keep), rows
        finally:
            await memory.aclose()


def statements(
    key: str = "", precision: str = "", names: tuple[str, str] = ("a", "b")
) -> list[str]:
    parts = (ONE, OTHER, *FILL)
    return [
        part.format(name=names[number % 2], key=key, precision=precision, a=names[0], b=names[1])
        for number, part in enumerate(parts)
    ]


def in_duckdb(_: pytest.FixtureRequest, folder: Path) -> tuple[str, str]:
    path = folder / "shop.duckdb"
    with duckdb.connect(path) as connection:
        for statement in statements():
            connection.execute(statement)
    return f"duckdb:///{path}#a", f"duckdb:///{path}#b"


def in_postgres(request: pytest.FixtureRequest, _: Path) -> tuple[str, str]:
    database = request.getfixturevalue("postgres_database")
    for statement in statements(precision=" PRECISION"):
        database.execute(statement)
    return f"{database.url}#a", f"{database.url}#b"


def staged_from_mysql(request: pytest.FixtureRequest, _: Path) -> tuple[str, str]:
    database = request.getfixturevalue("mysql_database")
    for statement in statements():
        database.execute(statement)
    return f"{database.url}#a", f"{database.url}#b"


def across(request: pytest.FixtureRequest, folder: Path) -> tuple[str, str]:
    patch = request.getfixturevalue("monkeypatch")
    for name, value in {"SMALL": 1000, "FEW_ROWS": 16, "RANGES": 256, "WORTH": 1}.items():
        patch.setattr(segments, name, value)
    a, b = in_postgres(request, folder)[0], in_duckdb(request, folder)[1]
    database = request.getfixturevalue("postgres_database")
    same = "FROM generate_series(100, 3099) AS s(n)"
    database.execute(f"INSERT INTO a SELECT n, 'x', 'same', 1, 1 {same}")
    with duckdb.connect(folder / "shop.duckdb") as connection:
        connection.execute(f"INSERT INTO b SELECT n, 'x', NULL {same}")
    return a, b


@pytest.mark.parametrize("place", [in_duckdb, in_postgres, staged_from_mysql, across])
async def test_rows_of_one_side_have_all_their_columns(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    place: Callable[[pytest.FixtureRequest, Path], tuple[str, str]],
) -> None:
    own = list[set[str]]()
    result, rows = await compared(*place(request, tmp_path), own=own, key=("id",))
    assert own == [set(), {"town", "paid", "ratio"}, {"town", "paid", "ratio"}, {"born"}]
    assert result.rows.matched == (3001 if place is across else 1)
    assert any("checksums" in note for note in result.notes) == (place is across)
    names = ("class", "id", "town a", "paid a", "ratio a", "born b")
    found = [tuple(str(row[name]) for name in names) for row in rows]
    assert found == [
        ("differs", "2", *["None"] * 4),
        ("only in a", "3", "Kiel", "3.50", "0.3", "None"),
        ("only in a", "5", *["None"] * 4),
        ("only in b", "4", "None", "None", "None", "2020-01-04"),
    ]
    assert result.proof.place == ("database" if place in {in_duckdb, in_postgres} else "workspace")


def files(folder: Path, a: str, b: str) -> tuple[str, str]:
    (folder / "a.csv").write_text(a)
    (folder / "b.csv").write_text(b)
    return str(folder / "a.csv"), str(folder / "b.csv")


async def test_names_that_are_taken_get_a_number(tmp_path: Path) -> None:
    pair = files(tmp_path, "id,v,v A\n1,x,y\n", "id,v\n2,z\n")
    _, rows = await compared(*pair, key=("id",))
    assert [row["v A a"] for row in rows] == ["y", None]
    pair = files(tmp_path, "id,t,t a,t a a\n1,x,y,z\n", "id,t\n2,z\n")
    _, [row, _] = await compared(*pair, key=("id",), map={"t a": "t"}, columns=None)
    assert [row[name] for name in list(row)[5:]] == ["y", None, "x", "z"]
    assert len({name.casefold() for name in row}) == len(row)


async def test_columns_that_are_not_asked_for_and_rows_without_a_key_have_none(
    tmp_path: Path,
) -> None:
    pair = files(tmp_path, "id,v,town,zip\n1,x,Ulm,9\n", "id,v\n2,x\n")
    for question, expected in (
        ({"key": ("id",), "columns": ("v",)}, set[str]()),
        ({"key": ("id",), "ignore": ("town",)}, {"zip a"}),
        ({"multiset": True}, set[str]()),
    ):
        _, rows = await compared(*pair, **question)
        assert {"town a", "zip a"} & {*rows[0]} == expected


async def test_a_key_that_is_repeated_has_no_cells(tmp_path: Path) -> None:
    pair = files(tmp_path, "id,v,town\n1,x,Ulm\n1,x,Bonn\n,x,Kiel\n", "id,v\n2,x\n")
    _, rows = await compared(*pair, key=("id",))
    found = [(row["class"], row["id"], row["town a"]) for row in rows]
    assert found == [
        ("only in a", None, "Kiel"),
        ("only in b", 2, None),
        ("duplicate key", 1, None),
    ]


async def test_a_column_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "bad.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "CREATE TABLE t (id INTEGER, v TEXT, bad INTEGER, good INTEGER);"
            "INSERT INTO t VALUES (1, 'x', 'abc', 7)"
        )
    (tmp_path / "b.csv").write_text("id,v\n2,x\n")
    result, rows = await compared(f"sqlite:///{path}#t", str(tmp_path / "b.csv"), key=("id",))
    assert (result.rows.only_in_a, result.rows.only_in_b) == (1, 1)
    assert rows[0]["good a"] == 7
    assert "bad a" not in rows[0]
