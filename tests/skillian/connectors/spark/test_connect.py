"""Spark by a real Spark Connect server."""

import asyncio
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.asking import measures_asked, two_sources
from tests.support.spark_connect import SPARK, spark_tables

from skillian import compare_async, sql
from skillian.connectors import Connector, connect
from skillian.data.declare.sources import SourceRegistry, read_definitions
from skillian.data.services import DataServices
from skillian.errors import QueryError

pytest.importorskip("grpc", reason="Spark Connect is not installed: pip install 'pyspark[connect]'")

from tests.skillian.connectors.test_contract import GIVEN

from skillian.connectors import base
from skillian.connectors.spark import connect as connect_module
from skillian.connectors.spark.rows import BATCH_ROWS

pytestmark = SPARK

ENDLESS = """
SELECT SUM(a.id * b.id % 7) AS n FROM RANGE(1000000000000) AS a, RANGE(1000) AS b
WHERE a.id * b.id % 11 = 3
"""
TABLE = """
SELECT * FROM (VALUES
    ('it''s ', -0.10::DECIMAL(17, 2), 9007199254740993, DATE '2024-01-31', true,
        TIMESTAMP '2024-01-31 10:00:00.000001', TIMESTAMPTZ '2024-07-31 10:00:00+00', 1.5::DOUBLE),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
) AS t (name, amount, "number `n`", day, flag, moment, instant, ratio)
"""


def write_tables(path: Path) -> None:
    path.mkdir()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"COPY ({TABLE}) TO '{path / 'a table.parquet'}' (FORMAT parquet)")
        (path / "parts").mkdir()
        for part in range(2):
            target = path / "parts" / f"{part}.parquet"
            connection.execute(f"COPY (FROM range(10000) AS t (n)) TO '{target}' (FORMAT parquet)")


async def errors_name_values_and_no_path(connector: Connector, folder: Path) -> None:
    for statement, message in {
        "SELECT CAST('12x' AS BIGINT)": "The value '12x' of the type",
        "SELECT CAST(name AS INT) FROM a_table": "The value 'it",
        "SELECT nothing FROM a_table": "nothing",
        "SELECT 1 FROM missing": "missing",
        "SELECT SUM(n) FROM (SELECT CAST(REPEAT('9', 38) AS DECIMAL(38, 0)) AS n FROM parts)": "",
    }.items():
        with pytest.raises(QueryError, match="connection 'lake': ") as refused:
            await connector.run(statement, {})
        assert message in str(refused.value)
        assert str(folder) not in str(refused.value)
        assert refused.value.__cause__ is None
        assert "\n" not in str(refused.value)


async def nothing_but_a_select_runs(connector: Connector) -> None:
    for statement in (
        "DROP TABLE parts",
        "SELECT 1; SELECT 2",
        "SET spark.sql.ansi.enabled = false",
        "INSERT INTO parts SELECT 1",
        "SELECT reflect('java.lang.System', 'exit', 1)",
        "SELECT `java_method`('java.lang.System', 'exit', 1)",
        "",
    ):
        with pytest.raises(QueryError, match="only a single SELECT"):
            await connector.run(statement, {})
    with pytest.raises(QueryError, match="cannot be found"):
        await connector.run("SELECT * FROM text.`/etc/passwd`", {})


async def test_it_reads_a_database_elsewhere(
    spark_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables(tmp_path / "tables")
    url = spark_tables(spark_server, "finance", tmp_path / "tables")
    connector: Any = connect("lake", url, tmp_path)
    try:
        first, parts = await connector.catalog()
        assert first.schema == parts.schema == "finance"
        assert (first.columns["amount"].scale, [*parts.columns]) == (2, ["n"])
        assert [kind.kind for kind in first.columns.values()] == [
            *("text", "decimal", "integer", "date", "boolean", "timestamp", "timestamptz", "float")
        ]
        described = await connector.describe("SELECT SUM(amount * -1) AS s FROM a_table")
        assert (described["s"].kind, described["s"].scale) == ("decimal", 2)
        columns = ", ".join(f":{name} AS {name}" for name in GIVEN)
        assert (await connector.run(f"SELECT {columns}", GIVEN)).to_pylist() == [GIVEN]
        await errors_name_values_and_no_path(connector, tmp_path)
        await nothing_but_a_select_runs(connector)
        stream = connector.stream("SELECT n FROM parts WHERE n >= :p0", {"p0": 5})
        batches = [batch.column("n").to_pylist() async for batch in stream]
        assert sorted(n for batch in batches for n in batch) == sorted([*range(5, 10000)] * 2)
        assert max(map(len, batches)) <= BATCH_ROWS
        await _cancelling_stops_the_statement(connector)
        with monkeypatch.context() as impatient:
            impatient.setattr(connector, "_timeout", 1.0)
            with pytest.raises(QueryError, match="longer than 1 s"):
                await connector.run(ENDLESS, {})
        monkeypatch.setattr(base, "ROW_BUDGET", 10)
        with pytest.raises(QueryError, match="larger than 10 rows"):
            await connector.run("SELECT * FROM parts", {})
    finally:
        await connector.aclose()
    assert len(await connector.catalog()) == 2  # it is opened again
    await connector.aclose()
    await connector.aclose()
    missing = connect("lake", f"{spark_server}/;database=nothing", tmp_path)
    with pytest.raises(QueryError, match="nothing"):
        await missing.run("SELECT 1", {})
    await missing.aclose()


async def _cancelling_stops_the_statement(connector: Connector) -> None:
    task = asyncio.create_task(connector.run(ENDLESS, {}))
    await asyncio.wait([task], timeout=3)  # it never ends: before or after it begins, it stops
    assert not task.done()
    start = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - start < 60
    assert (await connector.run("SELECT 1 AS x", {})).to_pylist() == [{"x": 1}]


async def test_a_server_that_is_not_there_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.connect.client import SparkConnectClient

    closed: list[SparkConnectClient] = []
    close = SparkConnectClient.close

    def noted(client: SparkConnectClient) -> None:
        closed.append(client)
        close(client)

    monkeypatch.setattr(SparkConnectClient, "close", noted)
    monkeypatch.setattr(connect_module, "_TRIES", 1)
    nowhere = connect("lake", "sc://127.0.0.1:1/;token=s3cret-token", tmp_path)
    with pytest.raises(QueryError, match="'lake': the server does not answer") as refused:
        await nowhere.run("SELECT 1", {})
    assert "s3cret" not in str(refused.value)
    assert closed  # an open client asks the server again, for a minute, when the program ends
    await nowhere.aclose()


# Values that differ, by the name of their column.
_VALUES = {
    "nested": ("array(timestamp'2024-01-01')", "array(timestamp'2024-01-01 00:00:00.000001')"),
    "field": (
        "struct(timestamp_ntz'2024-01-01 00:00')",
        "struct(timestamp_ntz'2024-01-01 00:00:00.0001')",
    ),
    "variant": ("CAST(date'2024-01-01' AS variant)", "CAST('2024-01-01' AS variant)"),
    "collated": ("'a' COLLATE UTF8_LCASE", "'A' COLLATE UTF8_LCASE"),
}


async def test_values_are_exact_whatever_the_settings_of_the_server(spark_server: str) -> None:
    from pyspark.sql.connect.session import SparkSession

    builder: Any = SparkSession.builder
    session = builder.remote(spark_server).create()
    one, other = (
        ", ".join(f"{pair[side]} AS {name}" for name, pair in _VALUES.items()) for side in (0, 1)
    )
    text = '"it\'s" AS text, 9223372036854775807L AS large'
    for statement in (
        "CREATE DATABASE views",
        "USE views",
        f"CREATE VIEW one AS SELECT 1 AS id, {one}, {text}",
        f"CREATE VIEW other AS SELECT 1 AS id, {other}, {text}",
        "CREATE VIEW gone AS SELECT 1 AS id",
        "CREATE VIEW broken AS SELECT * FROM gone",
        "DROP VIEW gone",
    ):
        session.sql(statement).collect()
    session.stop()
    url = f"{spark_server}/;x-header=s3cret;database=views"
    where = {"text": "it's"}
    same = await compare_async(f"{url}#one", f"{url}#one", key="id", where=where)
    assert same.equal, same.summary
    found = await compare_async(f"{url}#one", f"{url}#other", key="id", where=where)
    differing = {column.a: column.mismatches for column in found.columns}
    assert differing == dict.fromkeys(_VALUES, 1) | {"text": 0, "large": 0}
    assert "s3cret" not in found.summary
    twice = sql("SELECT id, large FROM one UNION ALL SELECT id, large FROM other", url)
    sums = await compare_async(twice, twice, measures="large", by="id")
    assert sums.measures[0].total_a == 2**64 - 2
    with pytest.raises(QueryError, match=r"'broken' cannot be read: The table or view .*gone"):
        await compare_async(f"{url}#broken", f"{url}#one", key="id")


_ROWS = """
CREATE TABLE a AS SELECT * FROM (VALUES
    ('A', '202401', DATE '2024-01-31', TIMESTAMP '2024-01-31 10:00:00.5', '001', 5, 1.10, 'd1'),
    ('a', '202401', DATE '2024-01-31', TIMESTAMP '2024-01-31 10:00:00', '1', 6, -1.10, 'D1'),
    ('A ', '202401', NULL, NULL, '-7', NULL, 9999999999999990.99, 'd1 '),
    (NULL, '202402', DATE '2024-02-29', NULL, NULL, 1, NULL, NULL),
    (NULL, NULL, DATE '2024-02-29', NULL, NULL, 2, 3.33, 'é'),
    ('ß😀日', 'x', DATE '2024-02-29', NULL, '12', 7, -3.33, 'e'),
    ('O''Hara \\ "q"', 'x', DATE '2024-02-29', NULL, '12', 7, 3.33, 'e'),
    ('  7 ', 'x', DATE '2024-02-29', NULL, '12', 8, 2.50, 'e')
) AS t (company, period, day, moment, number, n, amount, document);
ALTER TABLE a ALTER amount TYPE DECIMAL(18, 2);
ALTER TABLE a ADD ratio DOUBLE; ALTER TABLE a ADD single FLOAT;
UPDATE a SET ratio = CASE n WHEN 5 THEN 'nan'::DOUBLE WHEN 7 THEN '-inf' WHEN 8 THEN 'inf'
    ELSE n / 10.0 END, single = n * 1e14 + 0.1;
CREATE TABLE b AS SELECT * REPLACE (CAST(amount + n / 100 AS DECIMAL(18, 2)) AS amount)
FROM a WHERE company IS DISTINCT FROM 'a' UNION ALL SELECT * FROM a WHERE n = 8;
"""
_DECLARED = (
    (
        "company: {column: company}, period: {column: period}, day: {column: day},"
        " written: {column: moment, type: text}, number: {column: number, type: integer},"
        """ tidy: {column: company, normalise: [trim, upper, "lpad(6,'0')"]},"""
        ' month: {column: day, type: text, format: "%Y-M%m"}'
    ),
    (
        "amount: {column: amount, aggregation: sum}, mean: {column: amount, aggregation: avg},"
        " low: {column: amount, aggregation: min}, mean_n: {expression: n * 1, aggregation: avg},"
        " documents: {column: document, aggregation: count_distinct},"
        " ratio: {column: ratio, aggregation: sum}, single: {column: single, aggregation: sum}"
    ),
)
_LIMITS = {"match": {"absolute": 0.01}, "minor_diff": {"absolute": 5, "percentage": 10}}


async def test_comparisons_are_those_of_duckdb(spark_server: str, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    with duckdb.connect(tmp_path / "ledger.duckdb") as connection:
        connection.execute(_ROWS)
        for table in "ab":
            target = tmp_path / "tables" / f"{table}.parquet"
            connection.execute(f"COPY {table} TO '{target}' (FORMAT parquet)")
    urls = "duckdb:///ledger.duckdb", spark_tables(spark_server, "ledger", tmp_path / "tables")
    declared = (two_sources(*_DECLARED, connections=f"c: '{url}'") for url in urls)
    one, other = (
        DataServices(SourceRegistry(read_definitions(text, "x.yaml"), tmp_path))
        for text in declared
    )
    async with one, other:
        for measures, align_on, filters in (
            (["amount", "mean", "documents"], ["company", "period"], None),
            (["ratio", "single"], ["company"], None),
            (["ratio"], ["period"], None),
            (
                ["low", "mean_n"],
                ["tidy", "number", "month", "written"],
                {"company": ['O\'Hara \\ "q"', None, "A"], "day": {"gte": "2024-01-31"}},
            ),
        ):
            asked = measures_asked("a", "b", measures, align_on, filters, thresholds=_LIMITS)
            expected, found = [
                (await services.engine.compare(asked)).to_dict() for services in (one, other)
            ]
            own = ["interpretation"] if "ratio" in measures else []  # which names the types
            for name in ("cache_key", "proof", "schema", *own):
                del expected[name], found[name]
            assert found == expected
            assert isinstance(expected["summary"], dict)
            assert expected["summary"]["groups"]
