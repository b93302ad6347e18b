from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from tests.support.clickhouse import Server, clickhouse_server, needs_clickhouse
from tests.support.clickhouse_server import PASSWORD, USER
from tests.support.postgres import rows_of

from skillian.connectors import connect
from skillian.connectors.clickhouse.connector import ClickHouseConnector
from skillian.connectors.clickhouse.errors import LOST, StatementError, explained
from skillian.connectors.clickhouse.session import Answer
from skillian.connectors.clickhouse.statement import without_materialized
from skillian.errors import QueryError

pytestmark = [needs_clickhouse, pytest.mark.timeout(120)]


STATEMENTS = (
    """CREATE TABLE "a ""b"" table" ("select" Nullable(Decimal(17, 2)),
        code LowCardinality(Nullable(String)), moment DateTime64(6), second DateTime,
        instant DateTime64(3, 'Europe/Berlin'), tags Array(Nullable(String)))
        ENGINE = MergeTree ORDER BY tuple()""",
    """INSERT INTO "a ""b"" table" VALUES (1, 'x', '2024-01-31 10:00:00.000001',
        '2024-01-31 10:00:00', '2024-01-31 10:00:00.25', [])""",
    "CREATE VIEW v AS SELECT toDate32('2024-01-31') AS d",
    "CREATE DATABASE other",
    "CREATE TABLE other.t (x Nullable(String)) ENGINE = MergeTree ORDER BY tuple()",
    "CREATE TABLE other.m AS other.t ENGINE = Merge('other', '^t$')",
    "INSERT INTO other.t VALUES (NULL), ('7'), ('-8')",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with clickhouse_server(tmp_path_factory.mktemp("clickhouse") / "data") as running:
        for statement in STATEMENTS:
            running.run(statement)
        yield running


@pytest.fixture
async def connector(server: Server) -> AsyncIterator[Any]:
    opened: Any = connect("books", f"clickhouse://{server.address}", Path())
    yield opened
    await opened.aclose()


async def test_the_catalogue_has_tables_and_views_with_their_types(connector: Any) -> None:
    tables = await connector.catalog()
    names = [f"{table.schema} {table.name}" for table in tables]
    assert names == ['default a "b" table', "default v", "other m", "other t"]
    assert [table.name for table in tables if "without FINAL" in table.remark] == ["m"]
    assert tables[0].columns["select"].scale == 2
    nullable = [name for name, each in tables[0].declared.items() if each.nullable]
    assert nullable == ["select", "code"]
    assert tables[0].primary_key == ()


async def test_a_date_and_time_is_read_in_the_zone_of_the_url(server: Server) -> None:
    url = f"clickhouse://{server.address}?timezone=Europe/Berlin"
    zoned: Any = connect("books", url, Path())
    [first] = await rows_of(zoned, 'SELECT "moment", "second", "instant" FROM "a ""b"" table"')
    await zoned.aclose()
    assert first == {
        "moment": datetime(2024, 1, 31, 11, 0, 0, 1),  # noqa: DTZ001
        "second": datetime(2024, 1, 31, 11),  # noqa: DTZ001
        "instant": datetime(2024, 1, 31, 9, 0, 0, 250000, UTC),
    }


async def test_a_login_is_that_of_the_url(server: Server) -> None:
    login = f"{USER}:{quote(PASSWORD, safe='')}"
    opened: Any = connect("books", f"clickhouse://{login}@{server.address}/other", Path())
    assert await rows_of(opened, "SELECT currentUser() <> '' AS x, count() AS n FROM t") == [
        {"x": True, "n": 3}
    ]
    assert (await opened.catalog())[0].schema == "other"
    await opened.aclose()


# What the server or the connection says, and what is said of it.
EXPLAINED = {
    "Code: 76. DB::Exception: Cannot lock /a/b/c (CANNOT_OPEN_FILE) (version 26.1.1.1)": "lock …",
    "Code: 407. DB::Exception: Can't compare decimal number due to overflow": "DateTime64(9)",
    LOST: "the server ended the connection",
}


def test_an_error_says_what_helps_and_no_path() -> None:
    for raw, words in EXPLAINED.items():
        said = explained(StatementError(raw)) or ""
        assert words in said
        assert not [each for each in ("/a/b", "(version", "DB::") if each in said]


def test_tls_and_its_certificate_are_options_of_the_url(tmp_path: Path) -> None:
    url = "clickhouse://u:p%40@h/d%20b?secure=true&ca_cert=ca.pem"
    assert ClickHouseConnector.login_of("x", url, tmp_path) == {
        "host": "h", "port": 8443, "username": "u", "password": "p@", "database": "d b",
        "secure": True, "timezone": "UTC", "ca_cert": str(tmp_path / "ca.pem"),
    }  # fmt: skip
    assert ClickHouseConnector.login_of("x", "clickhouse://h", tmp_path) == {
        "host": "h", "port": 8123, "username": "default", "password": "", "database": None,
        "secure": False, "timezone": "UTC",
    }  # fmt: skip


async def test_a_user_without_the_right_to_settings_is_refused(connector: Any) -> None:
    await rows_of(connector, "SELECT 1 AS x")
    known = connector._server.client.server_settings
    known["join_use_nulls"] = known["join_use_nulls"]._replace(value="0", readonly=1)
    with pytest.raises(QueryError, match=r"'books': the user may not .* join_use_nulls; .* = 2"):
        await connector.run("SELECT 1 AS x", {})


async def test_a_user_that_may_only_read_keeps_that(connector: Any) -> None:
    await rows_of(connector, "SELECT 1 AS x")
    known = connector._server.client.server_settings
    known["readonly"] = known["readonly"]._replace(value="2", readonly=1)
    assert "readonly" not in connector._server.settings(1)
    [row] = await rows_of(connector, "SELECT getSetting('readonly') AS x")
    assert row == {"x": 0}


async def test_an_older_server_computes_a_relation_for_each_use(connector: Any) -> None:
    text = "WITH a AS MATERIALIZED (SELECT 'AS MATERIALIZED (' AS x) SELECT x FROM a"
    assert await rows_of(connector, text) == [{"x": "AS MATERIALIZED ("}]
    connector._server.client.server_settings.pop("enable_materialized_cte")
    assert await rows_of(connector, text) == [{"x": "AS MATERIALIZED ("}]
    assert without_materialized(text) == text.replace("MATERIALIZED ", "", 1)


@pytest.mark.parametrize("lost", [1, 8, 20, 200])
def test_an_answer_without_its_end_is_an_error(lost: int) -> None:
    sink = BytesIO()
    batch = pa.record_batch({"x": [1, 2, 3]})
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    content = sink.getvalue()
    complete = Answer(SimpleNamespace(stream=lambda _: iter([content]), close=lambda: None))
    assert [complete.batch().num_rows, complete.batch()] == [3, None]
    cut = Answer(SimpleNamespace(stream=lambda _: iter([content[:-lost]]), close=lambda: None))
    with pytest.raises(StatementError):
        list(iter(cut.batch, None))
