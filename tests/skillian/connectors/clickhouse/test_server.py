from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from tests.skillian.connectors.clickhouse.reading import rows
from tests.support.clickhouse import Server, needs_clickhouse
from tests.support.clickhouse_server import PASSWORD, USER

from skillian.connectors import connect
from skillian.connectors.clickhouse.connector import login_of
from skillian.connectors.clickhouse.errors import LOST, StatementError, explained
from skillian.connectors.clickhouse.session import Answer
from skillian.connectors.clickhouse.statement import without_materialized
from skillian.errors import QueryError, UnavailableError

pytestmark = [needs_clickhouse, pytest.mark.timeout(120)]


NO_SELECTS = (
    "INSERT INTO other.t VALUES ('x')", "DROP TABLE other.t", "SELECT 1; SELECT 2",
    "SELECT 1 INTO OUTFILE 'written.csv'", "SELECT 1 FORMAT CSV",
    "SELECT * FROM file('/etc/passwd', 'LineAsString')",
    "SELECT * FROM url('http://127.0.0.1:9/', 'CSV', 'a String')",
    "SELECT file('/etc/passwd')", "SELECT FILE('/etc/passwd')",
    "SELECT * FROM executable('x', 'CSV', 'a Int8')", "SYSTEM SHUTDOWN", "SET readonly = 0", "",
)  # fmt: skip


async def test_nothing_but_a_single_select_of_tables_runs(connector: Any) -> None:
    for statement in NO_SELECTS:
        with pytest.raises(QueryError, match="only a single SELECT of tables"):
            await connector.run(statement, {})


async def test_errors_hold_no_path_no_address_and_no_statement(
    connector: Any, server: Server
) -> None:
    with pytest.raises(QueryError, match=r"connection 'books': .*nothing_like_it") as refused:
        await connector.run("SELECT nothing_like_it FROM other.t", {})
    assert "In scope" not in str(refused.value)
    assert server.address not in str(refused.value)
    assert "version" not in str(refused.value)
    file = "Code: 76. DB::Exception: Cannot lock /a/b/c (CANNOT_OPEN_FILE) (version 26.1.1.1)"
    assert str(explained("b", StatementError(file), 1)) == "connection 'b': Cannot lock …"


async def test_a_login_is_that_of_the_url(server: Server) -> None:
    login = f"{USER}:{quote(PASSWORD, safe='')}"
    opened: Any = connect("books", f"clickhouse://{login}@{server.address}/other", Path())
    assert await rows(opened, "SELECT currentUser() <> '' AS x, count() AS n FROM t") == [
        {"x": True, "n": 3}
    ]
    assert (await opened.catalog())[0].schema == "other"
    await opened.aclose()
    refused: Any = connect("books", f"clickhouse://{USER}:wrong@{server.address}", Path())
    with pytest.raises(QueryError) as error:
        await refused.catalog()
    assert str(error.value) == "connection 'books': check user and password of its URL"


async def test_what_cannot_be_reached_is_an_error_without_an_address(
    server: Server, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    assert server.address
    absent: Any = connect("books", "clickhouse://u:p4ss@127.0.0.1:9/db", Path())
    with pytest.raises(QueryError, match="'books': the server cannot be reached") as error:
        await absent.catalog()
    assert "127.0.0.1" not in str(error.value)
    assert "p4ss" not in caplog.text
    assert capfd.readouterr().err == ""
    other: Any = connect("books", f"clickhouse://{server.address}/nothing", Path())
    with pytest.raises(QueryError, match="there is no such database"):
        await other.catalog()


def test_a_malformed_url_is_refused() -> None:
    for end in ("?timezone=Nowhere/City", "?zone=UTC", "?secure=1", ":port/db", "?secure"):
        with pytest.raises(UnavailableError, match=r"'books': its URL is not clickhouse://user"):
            connect("books", f"clickhouse://h{end}", Path())


def test_tls_and_its_certificate_are_options_of_the_url(tmp_path: Path) -> None:
    login, zone = login_of("clickhouse://u:p%40@h/d%20b?secure=true&ca_cert=ca.pem", tmp_path)
    assert zone == "UTC"
    assert login == {
        "host": "h", "port": 8443, "username": "u", "password": "p@", "database": "d b",
        "secure": True, "ca_cert": str(tmp_path / "ca.pem"),
    }  # fmt: skip
    assert login_of("clickhouse://h", tmp_path)[0] == {
        "host": "h", "port": 8123, "username": "default", "password": "", "database": None,
        "secure": False,
    }  # fmt: skip


async def test_a_user_without_the_right_to_settings_is_refused(connector: Any) -> None:
    await rows(connector, "SELECT 1 AS x")
    known = connector._server.client.server_settings
    known["join_use_nulls"] = known["join_use_nulls"]._replace(value="0", readonly=1)
    with pytest.raises(QueryError, match=r"'books': the user may not .* join_use_nulls; .* = 2"):
        await connector.run("SELECT 1 AS x", {})


async def test_a_user_that_may_only_read_keeps_that(connector: Any) -> None:
    await rows(connector, "SELECT 1 AS x")
    known = connector._server.client.server_settings
    known["readonly"] = known["readonly"]._replace(value="2", readonly=1)
    assert "readonly" not in connector._server.settings(1)
    [row] = await rows(connector, "SELECT getSetting('readonly') AS x")
    assert row == {"x": 0}


async def test_an_older_server_computes_a_relation_for_each_use(connector: Any) -> None:
    text = "WITH a AS MATERIALIZED (SELECT 'AS MATERIALIZED (' AS x) SELECT x FROM a"
    assert await rows(connector, text) == [{"x": "AS MATERIALIZED ("}]
    connector._server.client.server_settings.pop("enable_materialized_cte")
    assert await rows(connector, text) == [{"x": "AS MATERIALIZED ("}]
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
    assert "the server ended the connection" in str(explained("b", StatementError(LOST), 1))
