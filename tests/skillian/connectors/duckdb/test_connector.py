import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests.skillian.connectors.databases import ENDLESS
from tests.support.waits import SECONDS

from skillian.connectors.base import ArrowBatch
from skillian.connectors.duckdb import engine
from skillian.connectors.duckdb.connector import DuckDBConnector
from skillian.connectors.duckdb.engine import Workspace, stored_type
from skillian.connectors.duckdb.statement import RunningStatement
from skillian.errors import QueryError


@pytest.fixture
async def connector(tmp_path: Path) -> AsyncIterator[DuckDBConnector]:
    path = tmp_path / "secret-folder" / "ledger.duckdb"
    path.parent.mkdir()
    with duckdb.connect(path) as connection:
        connection.execute(
            'CREATE TABLE "a ""b"" table" ("select" DECIMAL(17, 2), "Größe" HUGEINT)'
        )
        connection.execute("""INSERT INTO "a ""b"" table" VALUES (0.10, 170141183460469231)""")
        connection.execute("CREATE SCHEMA other; CREATE VIEW other.v AS SELECT DATE '2024-01-31' d")
    opened = DuckDBConnector(path, "books", timeout=60)
    yield opened
    await opened.aclose()


def test_the_time_zone_of_the_machine_changes_nothing() -> None:
    script = """
import asyncio
from skillian.connectors.duckdb.engine import Workspace
statement = "SELECT CAST(TIMESTAMPTZ '2024-01-31 23:00:00+00' AS VARCHAR) AS x"
print(asyncio.run(Workspace().run(statement, {})).to_pylist()[0]["x"])
"""
    command = [sys.executable, "-W", "ignore", "-c", script]
    zone = {**os.environ, "TZ": "Asia/Tokyo"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=False, env=zone
    )
    assert done.stdout == "2024-01-31 23:00:00+00\n"


async def test_the_database_is_read_only_and_its_spills_go(connector: DuckDBConnector) -> None:
    rows = await connector.run(
        "SELECT name, value FROM duckdb_settings() WHERE name IN ('enable_external_access',"
        " 'lock_configuration', 'autoload_known_extensions', 'temp_directory') UNION ALL SELECT"
        " 'read only',"
        " CAST(readonly AS TEXT) FROM duckdb_databases() WHERE path IS NOT NULL",
        {},
    )
    settings = {row["name"]: row["value"] for row in rows.to_pylist()}
    folder = Path(settings.pop("temp_directory"))
    assert folder.stat().st_mode & 0o077 == 0  # noqa: ASYNC240 - takes no time
    await connector.aclose()
    assert not folder.exists()  # noqa: ASYNC240 - takes no time
    assert settings == {
        "read only": "true",
        "enable_external_access": "false",
        "lock_configuration": "true",
        "autoload_known_extensions": "false",
    }


def test_a_statement_that_has_just_ended_may_be_interrupted() -> None:
    statement = RunningStatement()
    with statement.on(duckdb.connect()):
        pass
    statement.interrupt()


async def test_one_file_may_be_open_twice(connector: DuckDBConnector) -> None:
    other = DuckDBConnector(next(iter(connector._engine._setup.paths)), "again", timeout=3)
    for one in (connector, other, connector):
        assert (await one.run("SELECT current_setting('memory_limit') AS m", {})).num_rows == 1
        assert len(await one.catalog()) == 2
    await other.aclose()
    assert len(await connector.catalog()) == 2


async def test_a_file_that_is_being_written_in_this_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    connector = DuckDBConnector(path, "x")
    with duckdb.connect(path) as writer:
        writer.execute("CREATE TABLE t AS SELECT 1 AS n")
        with pytest.raises(QueryError, match="not being written to") as refused:
            await connector.run("SELECT 1", {})
        assert str(tmp_path) not in str(refused.value)
    assert (await connector.run("SELECT n FROM t", {})).to_pylist() == [{"n": 1}]
    await connector.aclose()


PLAIN = (
    *("42", "42::BIGINT", "-1::HUGEINT", "18::UBIGINT", "'x'", "''", "true", "NULL::INTEGER"),
    *("1.50::DECIMAL(10, 2)", "1.1::FLOAT", "'inf'::DOUBLE", "DATE '2024-02-29'", "NULL::DATE"),
    *("TIMESTAMP '2024-01-01 01:02:03.123456'", "TIMESTAMP_S '2024-01-01 01:02:03'"),
)
NOT_PLAIN = (
    *("DATE 'infinity'", "DATE '10000-01-01'", "DATE '9999-12-31'", "TIMESTAMP '-infinity'"),
    *("TIMESTAMP_NS '2024-01-01 00:00:00'", "TIMESTAMPTZ '2024-01-01 01:02:03+02'"),
    *("TIME '01:02:03'", "[1, 2]", "{'a': 1}", "'ab'::BLOB", "'a'::ENUM('a')", "MAP {'a': 1}"),
    *("INTERVAL '1 day'", "'101'::BIT"),
)


async def test_plain_rows_are_those_of_arrow_or_none(connector: DuckDBConnector) -> None:
    for value in (*PLAIN, *NOT_PLAIN):
        statement = f"SELECT {value} AS v, 1 AS n UNION ALL SELECT NULL, 2 ORDER BY n"
        rows = await connector.plain_rows(statement, {})
        assert (rows is not None) is (value in PLAIN), value
        if rows is not None:
            arrow = (await connector.run(statement, {})).to_pylist()
            assert [[(each, type(each)) for each in row.values()] for row in rows] == [
                [(each, type(each)) for each in row.values()] for row in arrow
            ]


async def test_a_stream_has_more_time_than_a_statement_but_not_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.duckdb"
    duckdb.connect(path).close()
    connector = DuckDBConnector(path, "x", timeout=0.01)
    slow = "SELECT SUM(a.range * b.range) AS s FROM range(20000) AS a, range(20000) AS b"
    assert [batch.num_rows async for batch in connector.stream(slow, {})] == [1]
    monkeypatch.setattr(engine, "STREAM_TIMEOUT_SECONDS", 0.2)
    with pytest.raises(QueryError, match=re.escape("longer than 0.2 s")):
        await anext(connector.stream(ENDLESS, {}))
    await connector.aclose()


COLUMNS = {"key_0": stored_type("text"), "total_0": stored_type("decimal", 2)}


async def batches(*rows: list[dict[str, Any]]) -> AsyncGenerator[ArrowBatch]:
    schema = pa.schema([("key_0", pa.string()), ("total_0", pa.decimal128(38, 2))])
    for batch in rows:
        yield pa.RecordBatch.from_pylist(batch, schema)


@pytest.mark.parametrize("rows", [10, 30_000])
async def test_the_size_of_tables_is_about_their_memory(rows: int) -> None:
    workspace = Workspace()
    made = "SELECT i::TEXT AS t, i::BIGINT AS n, i::DECIMAL(38, 2) AS d FROM range($rows) r (i)"
    names = [await workspace.create(made, {"rows": rows})]
    names.append(await workspace.stage(COLUMNS, batches([{"key_0": "x"}] * rows)))
    used = "SELECT sum(memory_usage_bytes)::BIGINT AS n FROM duckdb_memory()"
    [memory] = (await workspace.run(used, {})).to_pylist()
    assert memory["n"] < 2 * workspace.size(*names) < 4 * memory["n"] + 400_000
    await workspace.aclose()


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_a_failed_or_cancelled_stage_leaves_no_table(*, is_cancelled: bool) -> None:
    waiting, going = asyncio.Event(), asyncio.Event()

    async def broken() -> AsyncGenerator[ArrowBatch]:
        async for batch in batches([{"key_0": "x", "total_0": Decimal(1)}], [{"key_0": "y"}]):
            yield batch
        waiting.set()
        await going.wait()
        raise QueryError("gone")

    workspace = Workspace()
    heard: list[int] = []
    staging = asyncio.create_task(workspace.stage(COLUMNS, broken(), heard.append))
    await waiting.wait()
    assert heard == [1, 2]
    if is_cancelled:
        staging.cancel()
    else:
        going.set()
    with pytest.raises(asyncio.CancelledError if is_cancelled else QueryError):
        await staging
    left = await workspace.run("SELECT COUNT(*) AS n FROM duckdb_tables()", {})
    assert left.to_pylist() == [{"n": 0}]
    await workspace.aclose()
