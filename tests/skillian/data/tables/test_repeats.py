"""Rows with unique and with repeated keys, on both sides: held against plain Python."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from pathlib import Path

import duckdb
import pytest
from tests.skillian.data.tables.comparing import compare
from tests.support.mysql import Database as MySQLDatabase
from tests.support.postgres import Database

Row = tuple[int | None, str | None, int | None]
KEYS = tuple(product((None, 1, 2, 3, 4), (None, "", "x", "é")))
# How often a key may occur on each side.
PATTERNS = (
    ((1,), (1,)),
    ((0, 1, 1, 1, 1, 2), (1,)),
    ((1,), (0, 1, 1, 1, 1, 3)),
    ((0, 2), (0, 2)),
    ((0, 1, 2, 3), (0, 1, 2, 3)),
    ((0,), (0, 1, 2)),
)


def drawn(chance: random.Random, counts: tuple[int, ...]) -> list[Row]:
    rows = [
        (k, text, chance.choice((None, 5, 6)))
        for k, text in KEYS
        for _ in range(chance.choice(counts))
    ]
    chance.shuffle(rows)
    return rows


def expected(a: list[Row], b: list[Row]) -> dict[str, int]:
    """The counts, by the definition of each class."""
    counts = [Counter(row[:2] for row in rows) for rows in (a, b)]
    repeated = {key for each in counts for key, count in each.items() if count > 1}
    values = [{row[:2]: row[2] for row in rows if row[:2] not in repeated} for rows in (a, b)]
    common = values[0].keys() & values[1].keys()
    differing = sum(values[0][key] != values[1][key] for key in common)
    classes = {"a": len(a), "b": len(b), "matched": len(common) - differing}
    classes["differing"] = differing
    for side, rows, count, other in (("a", a, 0, 1), ("b", b, 1, 0)):
        classes[f"only_in_{side}"] = len(values[count].keys() - values[other].keys())
        classes[f"duplicate_keys_{side}"] = sum(each > 1 for each in counts[count].values())
        classes[f"duplicate_rows_{side}"] = sum(row[:2] in repeated for row in rows)
    return classes


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


async def test_any_mixture_of_unique_and_repeated_keys(
    request: pytest.FixtureRequest, names: list[str]
) -> None:
    chance = random.Random(1)  # noqa: S311 - the same rows in every run
    for pattern in PATTERNS:
        sides = [drawn(chance, counts) for counts in pattern]
        fill(request, names, sides)
        result = await compare(*names, key=("k", "t"))
        assert result.rows.to_dict() == expected(*sides)
        repeated = {tuple(each.key.values()) for each in result.samples.duplicates}
        assert len(repeated) == len(result.samples.duplicates)


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
