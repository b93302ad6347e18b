import re

import pytest
from tests.support.postgres import FOLDER, PASSWORD, Database, rows_of

from skillian.connectors.base import ColumnType
from skillian.connectors.postgres.connector import PostgresConnector
from skillian.errors import QueryError, UnavailableError


async def test_describe_works_out_the_scale_that_postgresql_forgets(
    postgres_connector: PostgresConnector, postgres_database: Database
) -> None:
    postgres_database.execute("CREATE TABLE ledger (hsl numeric(17, 2), quantity int)")
    described = await postgres_connector.describe(
        "SELECT source.hsl * -1 AS turned, hsl / 3 AS third FROM ledger AS source"
    )
    assert described == {
        "turned": ColumnType("decimal", "numeric(38,2)", 2),
        "third": ColumnType("other", "numeric"),
    }


WRITING = (
    "WITH gone AS (DELETE FROM written RETURNING x) SELECT x FROM gone",
    "SELECT x INTO taken FROM written", "SELECT write()", "SELECT nextval('numbers')",
    "SELECT setval('numbers', 7)", "SELECT x FROM written FOR UPDATE", "SELECT lo_create(0)",
    "SELECT set_config('transaction_read_only', 'off', true), write()",
    "SELECT 1) TO PROGRAM 'true' --", "SELECT 1) TO STDOUT /*", "SELECT dropped()",
)  # fmt: skip


async def test_a_role_that_may_write_cannot(
    postgres_connector: PostgresConnector, postgres_database: Database
) -> None:
    postgres_database.execute("""
    CREATE TABLE written (x int); INSERT INTO written VALUES (1); CREATE SEQUENCE numbers;
    CREATE FUNCTION write() RETURNS int LANGUAGE sql AS
        'INSERT INTO written VALUES (2) RETURNING x';
    CREATE FUNCTION dropped() RETURNS int LANGUAGE plpgsql AS
        $$ BEGIN EXECUTE 'DROP TABLE written'; RETURN 1; END $$;
    """)
    for statement in WRITING:
        with pytest.raises(QueryError):
            await postgres_connector.run(statement, {})
        with pytest.raises(QueryError):
            await anext(aiter(postgres_connector.stream(statement, {})))
    assert postgres_database.value("SELECT array_agg(x) FROM written") == [1]
    assert postgres_database.value("SELECT to_regclass('taken')") is None
    assert postgres_database.value("SELECT last_value FROM numbers") == 1
    assert await rows_of(postgres_connector, "SELECT 1 AS x") == [{"x": 1}]


async def test_each_statement_has_the_settings_it_needs(
    postgres_connector: PostgresConnector,
) -> None:
    names = "transaction_isolation transaction_read_only TimeZone DateStyle statement_timeout"
    columns = ", ".join(f"current_setting('{name}') AS \"{name}\"" for name in names.split())
    [row] = await rows_of(postgres_connector, f"SELECT {columns}")
    assert [*row.values()] == ["repeatable read", "on", "UTC", "ISO, YMD", "30s"]


async def test_any_password_can_be_part_of_the_url(
    postgres_reader: str, postgres_database: Database
) -> None:
    plain = postgres_database.server.url(postgres_database.name, f"reader:{PASSWORD}")
    for written in (postgres_reader, plain):
        connector = PostgresConnector.from_url("books", written, FOLDER)
        assert await rows_of(connector, "SELECT current_user::text AS x") == [{"x": "reader"}]
        await connector.aclose()


NO_URLS = (
    "postgres://scott:tiger@host/db?nonsense=1",
    "postgresql:scott:tiger@host",
    "postgresql://scott:tiger@host/db?host=a@b&%zz",
)


def test_a_url_that_is_none_is_refused_without_telling_it() -> None:
    for url in NO_URLS:
        with pytest.raises(UnavailableError, match="connection 'books': its URL") as refused:
            PostgresConnector.from_url("books", url, FOLDER)
        assert not re.search("tiger|scott|nonsense|zz", str(refused.value))
