from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest
import trustme
from tests.support.mysql import DIGITS, Database, running_mariadb
from tests.support.ports import own_port

from skillian.connectors.mysql.connector import MySQLConnector
from skillian.connectors.mysql.session import for_driver
from skillian.errors import QueryError

pytestmark = pytest.mark.mysql

# Written as it is, or percent-encoded, into a URL.
PASSWORD = "p@ss/w:rd#?&=ä€ 100%"  # noqa: S105 - of the test's own server
FOLDER = Path()

SCHEMA = """
CREATE TABLE `a ``b`` table` (`select` DECIMAL(17, 2), `Größe` BIGINT UNSIGNED);
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


# What the server would make a value of, and what the error names.
MADE_UP = {
    "CAST('12x' AS SIGNED)": "12x",
    "CAST('abc is not BIGINT' AS SIGNED)": "abc is not BIGINT",
    "1 DIV 0": "Division by 0",
}


async def test_settings_of_the_server_change_nothing(mysql_database: Database) -> None:
    mysql_database.execute("SET GLOBAL sql_select_limit = 2, GLOBAL max_error_count = 0")
    connector = MySQLConnector.from_url("books", mysql_database.url, FOLDER)
    try:
        # The tests' server has ANSI_QUOTES, another zone, another language.
        statement = """
            SELECT "x" AS quoted, '\\\\' AS slash, 1 || 1 AS either, FROM_UNIXTIME(0) AS epoch,
                DATE_FORMAT('2024-05-01', '%b') AS month, TIME'10:00:00' AS t, X'78' AS b
        """
        rows = await connector.run(" UNION ALL ".join([statement] * 3), {})
        for expression, named in MADE_UP.items():
            with pytest.raises(QueryError, match=named):
                await connector.run(f"SELECT {expression} AS x", {})
    finally:
        mysql_database.execute(
            "SET GLOBAL sql_select_limit = DEFAULT, GLOBAL max_error_count = DEFAULT"
        )
        await connector.aclose()
    epoch = datetime(1970, 1, 1)  # noqa: DTZ001
    expected = {"quoted": "x", "slash": "\\", "either": 1, "epoch": epoch, "month": "May"}
    assert rows.to_pylist() == [{**expected, "t": "10:00:00", "b": "78"}] * 3


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


async def test_a_user_sees_what_it_may_read(mysql_database: Database) -> None:
    quoted, name = PASSWORD.replace("'", "''"), mysql_database.name
    mysql_database.execute(
        "CREATE TABLE hidden (x INT); CREATE TABLE open (x INT);"
        " CREATE TABLE partly (x INT, y INT, z INT)"
    )
    accounts = [f"'reader_{name}'@'{host}'" for host in ("%", "localhost")]
    for account in accounts:
        mysql_database.execute(f"CREATE USER {account} IDENTIFIED BY '{quoted}'")
        mysql_database.execute(f"GRANT SELECT ON {name}.open TO {account}")
        mysql_database.execute(f"GRANT SELECT (x), INSERT (y) ON {name}.partly TO {account}")
    url = mysql_database.url_for(f"reader_{name}", PASSWORD)
    connector = MySQLConnector.from_url("books", url, FOLDER)
    cases = {"hidden": "may not read what the statement names", "open": "Unknown column 'y'"}
    try:
        for table, message in cases.items():
            with pytest.raises(QueryError, match=message) as refused:
                await connector.run(f"SELECT y FROM {table}", {})  # noqa: S608 - ours
            assert not [each for each in ("reader_", "localhost") if each in str(refused.value)]
        tables = await connector.catalog()
        assert [(table.name, [*table.columns], table.forbidden) for table in tables] == [
            ("open", ["x"], ()),
            ("partly", ["x"], ("y", "(hidden columns)")),
        ]
    finally:
        await connector.aclose()
        mysql_database.execute(f"DROP USER {', '.join(accounts)}")


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
            url = f"mysql://root@localhost:{port}/mysql{options}"
            connector = MySQLConnector.from_url("books", url, server.folder)
            if works:
                rows = await connector.run(statement, {})
                assert rows.to_pylist() == [{"encrypted": 1}]
            else:
                with pytest.raises(QueryError, match="check that it runs, and host, port"):
                    await connector.run(statement, {})
            await connector.aclose()
