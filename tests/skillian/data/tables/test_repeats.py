"""Rows with unique and with repeated keys, on both sides: held against plain Python."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from tests.skillian.data.tables.comparing import compare
from tests.support.mysql import Database as MySQLDatabase
from tests.support.postgres import Database

Row = tuple[int | None, str | None, int | None]


@pytest.fixture(params=["duckdb", "postgres", "mysql"])
def names(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """The names of two empty tables."""
    if request.param == "duckdb":
        return [f"duckdb:///{tmp_path}/{name}.duckdb#{name}" for name in "ab"]
    database: MySQLDatabase | Database = request.getfixturevalue(f"{request.param}_database")
    return [f"{database.url}#{name}" for name in "ab"]


def fill(request: pytest.FixtureRequest, names: list[str], sides: list[list[Row]]) -> None:
    for name, rows in zip(names, sides, strict=True):
        table = name[-1]
        script = [f"DROP TABLE IF EXISTS {table}", f"CREATE TABLE {table} (k INT, t TEXT, v INT)"]
        values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
        script += [f"INSERT INTO {table} VALUES {values}"] * bool(rows)  # noqa: S608 - ours
        if name.startswith("duckdb"):
            with duckdb.connect(name.removeprefix("duckdb:///").partition("#")[0]) as connection:
                for statement in script:
                    connection.execute(statement)
            continue
        kind = "mysql" if name.startswith("mysql") else "postgres"
        database: MySQLDatabase | Database = request.getfixturevalue(f"{kind}_database")
        for statement in script:
            database.execute(statement)


def _literal(value: object) -> str:
    return "NULL" if value is None else repr(value)


@pytest.mark.parametrize("names", ["duckdb"], indirect=True)
async def test_only_the_keys_are_read_to_find_those_that_are_repeated(
    request: pytest.FixtureRequest, names: list[str]
) -> None:
    rows: list[Row] = [(k, "x", 5) for k in range(50)]
    fill(request, names, [rows, [*rows, (7, "x", 6)]])
    result = await compare(*names, key=("k", "t"))
    assert (result.rows.matched, result.rows.duplicate_keys_b) == (49, 1)
    repeated = result.proof.statement.partition("repeated_keys")[2].partition("UNION ALL")[0]
    assert "GROUP BY" in repeated
    assert '"v"' not in repeated
