"""Tables of ClickHouse from which merges remove rows are read as if they were merged."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.skillian.data.tables.comparing import compare
from tests.support.clickhouse import in_clickhouse, needs_clickhouse

pytestmark = needs_clickhouse

# The columns, the engine, rows that are inserted one after the other, and those that stay.
TABLES = {
    "ReplacingMergeTree": (
        "v Int32, n Int32",
        "ReplacingMergeTree(n)",
        ("(1, 10, 1), (2, 20, 1)", "(1, 11, 2)"),
        "1,11,2\n2,20,1\n",
    ),
    "deleted": (
        "v Int32, n Int32, gone UInt8",
        "ReplacingMergeTree(n, gone)",
        ("(1, 10, 1, 0), (2, 20, 1, 0)", "(1, 10, 2, 1)"),
        "2,20,1,0\n",
    ),
    "CollapsingMergeTree": (
        "v Int32, n Int8",
        "CollapsingMergeTree(n)",
        ("(1, 10, 1), (2, 20, 1)", "(1, 10, -1), (1, 11, 1)"),
        "1,11,1\n2,20,1\n",
    ),
    "SummingMergeTree": (
        "v Int32, n Int32",
        "SummingMergeTree",
        ("(1, 10, 1), (2, 20, 1)", "(1, 5, 1)"),
        "1,15,2\n2,20,1\n",
    ),
    "AggregatingMergeTree": (
        "v SimpleAggregateFunction(max, Int32), n SimpleAggregateFunction(min, Int32)",
        "AggregatingMergeTree",
        ("(1, 10, 1), (2, 20, 1)", "(1, 15, 0)"),
        "1,15,0\n2,20,1\n",
    ),
}


def table(name: str) -> str:
    """A table whose parts have not been merged; returns its URL."""
    columns, engine, inserts, _ = TABLES[name]
    return in_clickhouse(
        f"CREATE TABLE t (id Int32, {columns}) ENGINE = {engine} ORDER BY id",
        "SYSTEM STOP MERGES t",
        *(f"INSERT INTO t VALUES {rows}" for rows in inserts),  # noqa: S608 - ours
        "CREATE VIEW w AS SELECT * FROM t",
    )


@pytest.mark.parametrize("name", TABLES)
async def test_rows_that_a_merge_removes_are_not_read(tmp_path: Path, name: str) -> None:
    columns, engine, _, rows = TABLES[name]
    names = ",".join(each.split()[0] for each in columns.split(", ") if " " in each)
    names = {"AggregatingMergeTree": "v,n"}.get(name, names)
    file = tmp_path / "b.csv"
    file.write_text(f"id,{names}\n{rows}")
    url = table(name)
    for each in ("t", "w"):
        result = await compare(f"{url}#{each}", str(file), key=("id",))
        assert result.rows.are_equal, (each, result.sentences)
        remarks = [note for note in result.notes if "FINAL" in note]
        assert len(remarks) == (each == "t")
        assert all(engine.partition("(")[0] in remark for remark in remarks)


async def test_a_table_that_keeps_all_rows_is_read_as_it_is(tmp_path: Path) -> None:
    url = in_clickhouse(
        "CREATE TABLE t (id Int32, v Int32) ENGINE = MergeTree ORDER BY id",
        "INSERT INTO t VALUES (1, 10)",
        "INSERT INTO t VALUES (1, 10)",
    )
    (tmp_path / "b.csv").write_text("id,v\n1,10\n")
    result = await compare(f"{url}#t", str(tmp_path / "b.csv"), key=("id",))
    assert (result.rows.duplicate_rows_a, result.notes) == (2, ())
