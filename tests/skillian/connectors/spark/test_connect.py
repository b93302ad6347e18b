"""Spark by a real Spark Connect server."""

import asyncio
import shutil
import time
from pathlib import Path

import pytest

from skillian.connectors import connect
from skillian.errors import QueryError, UnavailableError

pytest.importorskip("grpc", reason="Spark Connect is not installed: pip install 'pyspark[connect]'")

from tests.skillian.connectors.spark import promises as spark
from tests.support.spark_connect import spark_tables

from skillian.connectors import limits
from skillian.connectors.spark import connect as connect_module
from skillian.connectors.spark.connect import SparkConnectConnector

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17 or later"),
    # Nothing here goes through pandas.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    # Reported before the error is raised.
    pytest.mark.filterwarnings("ignore:.RETRIES_EXCEEDED:UserWarning"),
]


async def test_it_reads_a_database_elsewhere(
    spark_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.write_tables(tmp_path / "tables")
    url = spark_tables(spark_server, "finance", tmp_path / "tables")
    connector = connect("lake", url, tmp_path)
    assert isinstance(connector, SparkConnectConnector)
    try:
        assert [table.schema for table in await connector.catalog()] == ["finance", "finance"]
        await spark.tables_have_types(connector)
        await spark.values_come_out_exact(connector)
        await spark.parameters_are_values(connector)
        await spark.errors_name_values_and_no_path(connector, tmp_path)
        await spark.nothing_but_a_select_runs(connector)
        await spark.a_stream_gives_its_rows(connector)
        await spark.time_is_limited(connector)
        await _cancelling_stops_the_statement(connector)
        monkeypatch.setattr(limits, "ROW_BUDGET", 10)
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


async def _cancelling_stops_the_statement(connector: SparkConnectConnector) -> None:
    task = asyncio.create_task(connector.run(spark.ENDLESS, {}))
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
    monkeypatch.setattr(connect_module, "_TRIES", 1)
    nowhere = connect("lake", "sc://127.0.0.1:1/;token=s3cret-token", tmp_path)
    with pytest.raises(QueryError, match="'lake': the server does not answer") as refused:
        await nowhere.run("SELECT 1", {})
    assert "s3cret" not in str(refused.value)
    await nowhere.aclose()


@pytest.mark.parametrize("url", ["sc://", "sc://host/database", "sc://host:1/;database"])
def test_a_url_that_cannot_be_meant_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="'lake': its URL is not sc://host"):
        connect("lake", url, tmp_path)
