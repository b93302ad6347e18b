"""Rows of one side have the columns that only this side has, wherever they are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.skillian.data.tables.comparing import compare
from tests.skillian.data.tables.conftest import Store

from skillian.data.comparison.page import Page
from skillian.data.page_order import PageOrders
from skillian.data.results.result import ComparisonResult
from skillian.data.sql.values import python_rows
from skillian.data.subjects import ROW_CLASSES
from skillian.data.tables.across import segments
from skillian.data.tables.differing import DifferingRows

Rows = list[dict[str, Any]]
A = (
    """CREATE TABLE a (id INTEGER, note VARCHAR(20), town VARCHAR(20), paid DECIMAL(10, 2),
    ratio DOUBLE PRECISION)""",
    """INSERT INTO a VALUES (1, 'x', 'Ulm', 1.5, 0.1), (2, 'x', 'Bonn', 2, 0.2),
    (3, 'x', 'Kiel', 3.50, 0.3), (5, 'x', NULL, NULL, NULL)""",
)
B = (
    "CREATE TABLE b (id INTEGER, note VARCHAR(20), born DATE)",
    "INSERT INTO b VALUES (1, 'x', '2020-01-01'), (2, 'y', '2020-01-02'), (4, 'x', '2020-01-04')",
)
SAME = "FROM generate_series(100, 3099) AS s(n)"


async def compared(
    a: str, b: str, **question: Any
) -> tuple[ComparisonResult, Rows, list[set[str]]]:
    """The result, all rows that differ, and the columns that only the side of each row has."""
    rows: Rows = []
    own: list[set[str]] = []

    async def keep(found: DifferingRows) -> None:
        async for batch in found.batches():
            rows.extend(python_rows(batch))
        _, page = await found.page(Page(tuple(ROW_CLASSES)), PageOrders([]))
        own.extend({*row.own} for row in page)

    return await compare(a, b, keep=keep, **question), rows, own


@pytest.mark.parametrize("place", ["duckdb", "postgres", "mysql", "across"])
async def test_rows_of_one_side_have_all_their_columns(
    store: Store, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    if place == "across":
        for name, value in {"SMALL": 1000, "FEW_ROWS": 16, "RANGES": 256, "WORTH": 1}.items():
            monkeypatch.setattr(segments, name, value)
        a = store("postgres", *A, f"INSERT INTO a SELECT n, 'x', 'same', 1, 1 {SAME}")
        b = store("duckdb", *B, f"INSERT INTO b SELECT n, 'x', NULL {SAME}")
    else:
        a = b = store(place, *A, *B)
    result, rows, own = await compared(f"{a}#a", f"{b}#b", key=("id",))
    assert own == [set(), {"town", "paid", "ratio"}, {"town", "paid", "ratio"}, {"born"}]
    assert result.rows.matched == (3001 if place == "across" else 1)
    assert any("checksums" in note for note in result.notes) == (place == "across")
    names = ("class", "id", "town a", "paid a", "ratio a", "born b")
    assert [tuple(str(row[name]) for name in names) for row in rows] == [
        ("differs", "2", *["None"] * 4),
        ("only in a", "3", "Kiel", "3.50", "0.3", "None"),
        ("only in a", "5", *["None"] * 4),
        ("only in b", "4", "None", "None", "None", "2020-01-04"),
    ]
    assert result.proof.place == ("database" if place in {"duckdb", "postgres"} else "workspace")


def files(folder: Path, a: str, b: str) -> tuple[str, str]:
    (folder / "a.csv").write_text(a)
    (folder / "b.csv").write_text(b)
    return str(folder / "a.csv"), str(folder / "b.csv")


async def test_names_that_are_taken_get_a_number(tmp_path: Path) -> None:
    pair = files(tmp_path, "id,v,v A\n1,x,y\n", "id,v\n2,z\n")
    _, rows, _ = await compared(*pair, key=("id",))
    assert [row["v A a"] for row in rows] == ["y", None]
    pair = files(tmp_path, "id,t,t a,t a a\n1,x,y,z\n", "id,t\n2,z\n")
    _, [row, _], _ = await compared(*pair, key=("id",), map={"t a": "t"}, columns=None)
    assert [row[name] for name in list(row)[5:]] == ["y", None, "x", "z"]
    assert len({name.casefold() for name in row}) == len(row)


async def test_columns_that_are_not_asked_for_and_rows_without_a_key_have_none(
    tmp_path: Path,
) -> None:
    pair = files(tmp_path, "id,v,town,zip\n1,x,Ulm,9\n", "id,v\n2,x\n")
    questions: tuple[tuple[dict[str, Any], set[str]], ...] = (
        ({"key": ("id",), "columns": ("v",)}, set()),
        ({"key": ("id",), "ignore": ("town",)}, {"zip a"}),
        ({"multiset": True}, set()),
    )
    for question, expected in questions:
        _, rows, _ = await compared(*pair, **question)
        assert {"town a", "zip a"} & {*rows[0]} == expected


async def test_a_key_that_is_repeated_has_no_cells(tmp_path: Path) -> None:
    pair = files(tmp_path, "id,v,town\n1,x,Ulm\n1,x,Bonn\n,x,Kiel\n", "id,v\n2,x\n")
    _, rows, _ = await compared(*pair, key=("id",))
    assert [(row["class"], row["id"], row["town a"]) for row in rows] == [
        ("only in a", None, "Kiel"),
        ("only in b", 2, None),
        ("duplicate key", 1, None),
    ]


async def test_a_column_that_cannot_be_read_is_left_out(store: Store, tmp_path: Path) -> None:
    a = store(
        "sqlite",
        "CREATE TABLE t (id INTEGER, v TEXT, bad INTEGER, good INTEGER)",
        "INSERT INTO t VALUES (1, 'x', 'abc', 7)",
    )
    (tmp_path / "b.csv").write_text("id,v\n2,x\n")
    result, rows, _ = await compared(f"{a}#t", str(tmp_path / "b.csv"), key=("id",))
    assert (result.rows.only_in_a, result.rows.only_in_b) == (1, 1)
    assert rows[0]["good a"] == 7
    assert "bad a" not in rows[0]
