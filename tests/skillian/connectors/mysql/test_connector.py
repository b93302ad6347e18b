import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import trustme
from tests.support.mysql import DIGITS, MANY, Database, running_mariadb
from tests.support.ports import own_port
from tests.support.waits import soon

from skillian.connectors import connect
from skillian.connectors.mysql.connector import MAX_CONNECTIONS, MySQLConnector, login_of
from skillian.connectors.mysql.session import for_driver
from skillian.errors import QueryError

pytestmark = pytest.mark.mysql

# Written as it is, or percent-encoded, into a URL.
PASSWORD = "p@ss/w:rd#?&=ä€ 100%"  # noqa: S105 - of the test's own server
FOLDER = Path()

SCHEMA = """
CREATE TABLE `a ``b`` table` (
    `select` DECIMAL(17, 2), `Größe` BIGINT UNSIGNED, code CHAR(4), name VARCHAR(10), note TEXT,
    side ENUM('debit', 'credit'), flag BOOLEAN, small SMALLINT, fiscal YEAR, ratio FLOAT, day DATE,
    moment DATETIME(6), instant TIMESTAMP(3) NULL, length TIME, picture BLOB, bits BIT(3)
);
CREATE TABLE u (
    a INT UNSIGNED, b VARCHAR(5) NOT NULL COLLATE latin1_bin, c DATETIME(3), `a``b` JSON,
    plain LONGTEXT COLLATE utf8mb4_bin, PRIMARY KEY (b, a)
);
CREATE VIEW v AS SELECT DATE'2024-01-31' AS d;
CREATE TABLE gone (x INT);
CREATE VIEW broken AS SELECT x FROM gone;
DROP TABLE gone;
"""


@pytest.fixture
async def connector(mysql_database: Database) -> AsyncIterator[MySQLConnector]:
    mysql_database.execute(DIGITS)
    opened = MySQLConnector.from_url("books", mysql_database.url, FOLDER)
    yield opened
    await opened.aclose()


async def test_the_catalogue_has_tables_and_views_with_their_types(
    connector: MySQLConnector, mysql_database: Database
) -> None:
    mysql_database.execute(SCHEMA)
    with mysql_database.server.database() as other:
        other.execute("CREATE TABLE elsewhere (x INT)")
        tables = await connector.catalog()
        names = [(table.schema, table.name) for table in tables]
        assert names.index((other.name, "elsewhere")) > 3
    own = mysql_database.name
    assert names[:4] == [(own, name) for name in ("a `b` table", "digits", "u", "v")]
    types = [(kind.kind, kind.scale) for kind in tables[0].columns.values()]
    assert types[0] == ("decimal", 2)
    assert {scale for _, scale in types[1:]} == {0}
    assert [kind for kind, _ in types[1:]] == [
        *("integer", "text", "text", "text", "text", "integer", "integer", "integer", "float"),
        *("date", "timestamp", "timestamptz", "other", "other", "other"),
    ]
    assert tables[0].columns["select"].sql == "decimal(17,2)"
    assert tables[3].columns["d"].kind == "date"
    keyed = tables[2]
    assert (keyed.engine, keyed.primary_key) == ("mysql", ("b", "a"))
    assert [each.nullable for each in keyed.declared.values()] == [False, False, True, True, True]
    assert keyed.declared["b"].collation == "latin1_bin"
    assert [(keyed.columns[name].kind, keyed.columns[name].sql) for name in keyed.columns][1:] == [
        *(("text", "varchar(5)"), ("timestamp", "datetime(3)"), ("text", "json")),
        ("text", "longtext"),
    ]


async def test_values_are_exact_and_typed(
    connector: MySQLConnector, mysql_database: Database
) -> None:
    mysql_database.execute(SCHEMA)
    mysql_database.execute(
        """
        INSERT INTO `a ``b`` table` VALUES (
            -0.10, 18446744073709551615, 'ab', 'Größe ', '日本😀', 'credit', 2, -7, 2024, 1.5,
            '2024-01-31', '2024-01-31 10:00:00.000001', '2024-01-31 10:00:00.25', '10:00:00',
            'x', b'101'
        );
        INSERT INTO `a ``b`` table` () VALUES ();
        """
    )
    table: Any = await connector.run("SELECT * FROM `a ``b`` table`", {})
    rows = table.to_pylist()
    assert list(rows[0].values()) == [
        Decimal("-0.10"), 2**64 - 1, "ab", "Größe ", "日本😀", "credit", 2, -7, 2024, 1.5,
        date(2024, 1, 31), datetime(2024, 1, 31, 10, 0, 0, 1),  # noqa: DTZ001
        datetime(2024, 1, 31, 10, 0, 0, 250000, UTC), "10:00:00", "78", "05",
    ]  # fmt: skip
    assert set(rows[1].values()) == {None}
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    assert types["select"] == pa.decimal128(38, 2)
    assert types["Größe"] == pa.decimal128(38, 0)
    assert types["small"] == pa.int64()
    assert types["instant"] == pa.timestamp("us", tz="UTC")


async def test_decimals_past_38_digits_are_refused(connector: MySQLConnector) -> None:
    fits = await connector.run(f"SELECT CAST('-{'9' * 36}.99' AS DECIMAL(65, 2)) AS n", {})
    assert fits.to_pylist() == [{"n": Decimal("-" + "9" * 36 + ".99")}]
    with pytest.raises(QueryError, match="'n' holds a value that is not a valid decimal"):
        await connector.run(f"SELECT CAST('{'9' * 37}.99' AS DECIMAL(65, 2)) AS n", {})


async def test_a_date_without_a_day_is_refused_and_can_be_read_as_text(
    connector: MySQLConnector, mysql_database: Database
) -> None:
    mysql_database.execute(
        "CREATE TABLE t (d DATE); SET sql_mode = ''; INSERT INTO t VALUES ('0000-00-00')"
    )
    with pytest.raises(QueryError, match=r"'0000-00-00'.*declare `type: text`"):
        await connector.run("SELECT d FROM t", {})
    text = await connector.run("SELECT CAST(d AS CHAR) AS d FROM t", {})
    assert text.to_pylist() == [{"d": "0000-00-00"}]


def test_what_is_quoted_is_left_as_it_is() -> None:
    statement = "SELECT ';:p0\\' %' AS `:p0`, \"--\" /* it's :p0 */ WHERE x = :p1 % 2"
    expected = "SELECT ';:p0\\' %%' AS `:p0`, \"--\" /* it's :p0 */ WHERE x = %(p1)s %% 2"
    assert for_driver(statement) == expected


async def test_a_user_who_may_write_cannot(
    connector: MySQLConnector, mysql_database: Database
) -> None:
    mysql_database.execute("""
        CREATE FUNCTION wipe() RETURNS INT BEGIN DELETE FROM digits; RETURN 1; END
    """)
    with pytest.raises(QueryError, match="READ ONLY"):
        await connector.run("SELECT wipe()", {})
    assert mysql_database.execute("SELECT COUNT(*) FROM digits") == ((8,),)


MADE_UP = {
    "CAST('12x' AS DECIMAL(18, 2))": "12x",
    "CAST('abc is not BIGINT' AS SIGNED)": "abc is not BIGINT",
    "CAST('2024-02-31' AS DATE)": "2024-02-31",
    "STR_TO_DATE('soon', '%Y')": "soon",
    "CAST(99999 AS DECIMAL(5, 2))": "Out of range",
    "1 DIV 0": "Division by 0",
}


async def test_what_the_server_would_make_up_is_an_error(connector: MySQLConnector) -> None:
    for expression, named in MADE_UP.items():
        with pytest.raises(QueryError, match=named):
            await connector.run(f"SELECT {expression} AS x", {})
        with pytest.raises(QueryError, match=named):
            await anext(aiter(connector.stream(f"SELECT {expression} AS x", {})))
    assert (await connector.run("SELECT 1 AS x", {})).to_pylist() == [{"x": 1}]


async def test_settings_of_the_server_change_nothing(mysql_database: Database) -> None:
    mysql_database.execute("SET GLOBAL sql_select_limit = 2, GLOBAL max_error_count = 0")
    connector = MySQLConnector.from_url("books", mysql_database.url, FOLDER)
    try:
        # The tests' server has ANSI_QUOTES, another zone, another language.
        statement = """
            SELECT "x" AS quoted, '\\\\' AS slash, 1 || 1 AS either, FROM_UNIXTIME(0) AS epoch,
                DATE_FORMAT('2024-05-01', '%b') AS month
        """
        rows = await connector.run(" UNION ALL ".join([statement] * 3), {})
        with pytest.raises(QueryError, match="12x"):
            await connector.run("SELECT CAST('12x' AS SIGNED)", {})
    finally:
        mysql_database.execute(
            "SET GLOBAL sql_select_limit = DEFAULT, GLOBAL max_error_count = DEFAULT"
        )
        await connector.aclose()
    epoch = datetime(1970, 1, 1)  # noqa: DTZ001
    expected = {"quoted": "x", "slash": "\\", "either": 1, "epoch": epoch, "month": "May"}
    assert rows.to_pylist() == [expected] * 3


async def test_long_texts_that_begin_alike_stay_apart(
    connector: MySQLConnector, mysql_database: Database
) -> None:
    mysql_database.execute("CREATE TABLE t AS SELECT REPEAT('x', 60000) AS k, a.d FROM digits AS a")
    statement = """
        SELECT RIGHT(k, 1) AS last, n FROM (
            SELECT CAST(CONCAT(t.k, t.d) AS CHAR) AS k, COUNT(DISTINCT b.d) AS n
            FROM t, digits AS b GROUP BY 1, CONCAT('', t.k), CONCAT(t.k, ''), CONCAT(t.k, t.d)
        ) AS grouped ORDER BY k DESC
    """
    rows = (await connector.run(statement, {})).to_pylist()
    assert rows == [{"last": str(digit), "n": 8} for digit in reversed(range(8))]


async def test_errors_hold_no_account_and_say_what_to_check(mysql_database: Database) -> None:
    quoted = PASSWORD.replace("'", "''")
    user = f"reader_{mysql_database.name}"
    mysql_database.execute(f"""
        CREATE TABLE hidden (x INT); CREATE TABLE open (x INT);
        CREATE USER '{user}'@'%' IDENTIFIED BY '{quoted}';
        CREATE USER '{user}'@'localhost' IDENTIFIED BY '{quoted}';
        GRANT SELECT ON {mysql_database.name}.open TO '{user}'@'%';
        GRANT SELECT ON {mysql_database.name}.open TO '{user}'@'localhost';
    """)
    server = mysql_database.server
    login = mysql_database.url_for(user, PASSWORD)
    cases = {
        "SELECT x FROM hidden": (login, "may not read what the statement names"),
        "SELECT y FROM open": (login, "Unknown column 'y'"),
        "SELECT 1": (mysql_database.url_for(user, "wrong"), "check user and password"),
        "SELECT 2": (server.url("nowhere"), "there is no such database"),
        "SELECT 3": (f"mysql://{user}@127.0.0.1:1/x", "the server cannot be reached"),
        "SELECT 4": ("mysql://x@/x?unix_socket=secret.sock", "the server cannot be reached"),
    }
    try:
        for statement, (url, message) in cases.items():
            connector = MySQLConnector.from_url("books", url, FOLDER)
            with pytest.raises(QueryError, match=message) as refused:
                await connector.run(statement, {})
            assert str(refused.value).startswith("connection 'books': ")
            for secret in (user, PASSWORD, "wrong", "localhost", "127.0.0.1", "secret.sock"):
                assert secret not in str(refused.value)
            assert refused.value.__cause__ is None
            await connector.aclose()
        reader = MySQLConnector.from_url("books", login, FOLDER)
        tables = [table.name for table in await reader.catalog()]
        await reader.aclose()
        assert tables == ["open"]
    finally:
        mysql_database.execute(f"DROP USER '{user}'@'%', '{user}'@'localhost'")


def test_a_url_is_read_with_its_encoded_parts() -> None:
    login = login_of("mariadb://a%40b:p%C3%A4%2Fx@db.example:3307/b%20c?ssl_ca=ca.pem", Path("/f"))
    tls = {"ssl_ca": "/f/ca.pem", "ssl_verify_cert": True, "ssl_verify_identity": True}
    user = {"user": "a@b", "password": "pä/x".encode()}
    assert login == {"host": "db.example", "port": 3307, "database": "b c", **user, **tls}
    assert isinstance(connect("x", "mariadb://host/db", FOLDER), MySQLConnector)


async def test_a_certificate_is_checked_against_ssl_ca() -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    files = {
        "ca.pem": authority.cert_pem,
        "other.pem": trustme.CA().cert_pem,
        "cert.pem": issued.cert_chain_pems[0],
        "key.pem": issued.private_key_pem,
    }
    with running_mariadb() as server:
        for name, blob in files.items():
            blob.write_to_path(server.folder / name)
            (server.folder / name).chmod(0o644)
        server.stop()
        port = own_port()
        tls = [f"--ssl-{part}={server.folder / part}.pem" for part in ("cert", "key")]
        server.start(*tls, "--skip-networking=0", "--bind-address=127.0.0.1", f"--port={port}")
        statement = """
            SELECT variable_value <> '' AS encrypted FROM information_schema.session_status
            WHERE variable_name = 'ssl_cipher'
        """
        for options, works in (("", True), ("?ssl_ca=ca.pem", True), ("?ssl_ca=other.pem", False)):
            url = f"mysql://root@localhost:{port}/{options}"
            connector = MySQLConnector.from_url("books", url, server.folder)
            if works:
                rows = await connector.run(statement, {})
                assert rows.to_pylist() == [{"encrypted": 1}]
            else:
                with pytest.raises(QueryError, match="check that it runs, and host, port"):
                    await connector.run(statement, {})
            await connector.aclose()


ENDLESS = f"{MANY} WHERE {' + '.join(f'd{n}.d' for n in range(12))} < 0"


async def test_connections_are_few_and_used_again(
    connector: MySQLConnector, mysql_database: Database
) -> None:
    statement = "SELECT CONNECTION_ID() AS id, :p0 AS n"
    tables = await asyncio.gather(*(connector.run(statement, {"p0": n}) for n in range(50)))
    rows = [table.to_pylist()[0] for table in tables]
    assert [row["n"] for row in rows] == list(range(50))
    assert len({row["id"] for row in rows}) <= MAX_CONNECTIONS
    mysql_database.execute(f"KILL {rows[-1]['id']}")
    assert (await connector.run("SELECT 1 AS x", {})).num_rows == 1


async def test_a_server_that_dies_is_an_error_and_the_next_call_works() -> None:
    with running_mariadb() as server:
        server.execute("CREATE DATABASE books")
        server.execute(DIGITS, "books")
        connector = MySQLConnector.from_url("books", server.url("books"), FOLDER)
        await connector.run("SELECT 1", {})
        task = asyncio.create_task(connector.run(ENDLESS, {}))
        await soon(lambda: _running(Database(server, "books")))
        server.kill()
        with pytest.raises(QueryError, match="'books': the server ended the connection"):
            await task
        with pytest.raises(QueryError, match="'books': the server cannot be reached") as gone:
            await connector.run("SELECT 1", {})
        assert str(server.folder) not in str(gone.value)
        server.start()
        assert (await connector.run("SELECT 1 AS x", {})).to_pylist() == [{"x": 1}]
        await connector.aclose()


PROCESSES = "SELECT id FROM information_schema.processlist"


def _running(database: Database) -> tuple[tuple[Any, ...], ...]:
    """Return the statements of this database that run, but this one and those that end others."""
    return database.execute(
        f"{PROCESSES} WHERE db = '{database.name}' AND id <> CONNECTION_ID() AND info IS NOT NULL"
        " AND info NOT LIKE 'KILL%'"
    )
