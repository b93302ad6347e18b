"""More comparisons at the same time than a database has connections."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import yaml
from tests.skillian.api.conftest import Serve

if TYPE_CHECKING:
    from tests.support.mysql import Database as MySQLDatabase
    from tests.support.postgres import Database

AT_ONCE = 16
# A value that is not of the type of the other side is looked up while the state is held.
ROWS = "INSERT INTO t VALUES (1, 'a', '1'), (2, 'b', 'x'), (3, 'c', '3')"
TABLE = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9), size VARCHAR(9))"


def sources(folder: Path, **urls: str) -> Path:
    """Write a `sources.yaml` with the table of each connection as a source."""
    (folder / "files").mkdir()
    rows = "(VALUES (1, 'a', 1.5), (2, 'B', 2.5), (4, 'd', 4.5)) AS rows_ (id, name, size)"
    duckdb.execute(f"COPY (FROM {rows}) TO '{folder / 'files' / 't.parquet'}'")
    urls["files"] = f"files:///{folder / 'files'}"
    tables = {name: "t.parquet" if name == "files" else "t" for name in urls}
    declared = {
        name: {"connection": name, "table": table, "dimensions": {"id": {"column": "id"}}}
        for name, table in tables.items()
    }
    path = folder / "sources.yaml"
    path.write_text(yaml.safe_dump({"connections": urls, "sources": declared}))
    return path


async def compared(serve: Serve, path: Path, pairs: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Compare all pairs at the same time, each with a question of its own."""
    async with serve(sources=path, requests_per_minute=0) as client:

        async def one(number: int, a: str, b: str) -> dict[str, Any]:
            absolute = {"types": {"number": {"absolute": str(number)}}}
            body = {"source_a": a, "source_b": b, "key": ["id"], "rules": absolute}
            async with client.post("/compare", json=body) as answer:
                result: dict[str, Any] = await answer.json()
                assert answer.status == 200, result
                return result

        async with asyncio.timeout(25):  # a statement waits 30 s for a connection
            return await asyncio.gather(*(one(n, *pair) for n, pair in enumerate(pairs)))


def check(result: dict[str, Any]) -> None:
    counts = {name: result["rows"][name] for name in ("a", "b", "matched", "differing")}
    assert counts == {"a": 3, "b": 3, "matched": 1, "differing": 1}
    assert [each["column"] for each in result["not_compared"]] == ["size"]


async def test_more_comparisons_than_connections_over_one_source(
    serve: Serve, tmp_path: Path, postgres_database: Database
) -> None:
    postgres_database.execute(f"{TABLE}; {ROWS}")
    path = sources(tmp_path, shop=postgres_database.url)
    for result in await compared(serve, path, [("shop", "files")] * AT_ONCE):
        check(result)


async def test_two_databases_in_both_directions(
    serve: Serve, tmp_path: Path, postgres_database: Database, mysql_database: MySQLDatabase
) -> None:
    postgres_database.execute(f"{TABLE}; {ROWS}")
    mysql_database.execute(f"{TABLE}; {ROWS}")
    path = sources(tmp_path, shop=postgres_database.url, till=mysql_database.url)
    both = [("shop", "till"), ("till", "shop")]
    for result in await compared(serve, path, both * AT_ONCE):
        assert result["rows"]["matched"] == 3
    for result in await compared(serve, path, [("till", "files")] * AT_ONCE):
        check(result)
