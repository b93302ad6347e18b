import pytest
from sqlglot import exp
from tests.support.postgres import FOLDER, PASSWORD, Database, rows_of

from skillian.connectors.base import ColumnType
from skillian.connectors.dialects import compile_sql
from skillian.connectors.postgres.connector import PostgresConnector
from skillian.data import sql
from skillian.errors import QueryError


async def test_describe_works_out_the_scale_that_postgresql_forgets(
    postgres_connector: PostgresConnector, postgres_database: Database
) -> None:
    postgres_database.execute("CREATE TABLE ledger (hsl numeric(17, 2), quantity int)")
    described = await postgres_connector.describe(
        "SELECT source.hsl * -1 AS turned, hsl / 3 AS third, quantity + 2147483648 AS large,"
        " CAST(1.5 AS numeric(3, 1)) AS written FROM ledger AS source"
    )
    assert described == {
        "turned": ColumnType("decimal", "numeric(38,2)", 2),
        "third": ColumnType("other", "numeric"),
        "large": ColumnType("integer", "bigint"),
        "written": ColumnType("decimal", "numeric(3,1)", 1),
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


async def test_a_list_of_texts_can_be_looked_up_in_an_index(
    postgres_connector: PostgresConnector, postgres_database: Database
) -> None:
    postgres_database.execute(
        "CREATE TABLE t AS SELECT n::varchar AS v FROM generate_series(1, 20000) AS n;"
        " CREATE INDEX looked_up ON t (v); ANALYZE t"
    )
    value = exp.cast(sql.column("v", "source"), "TEXT")
    wanted = [exp.cast(sql.text("7"), "TEXT"), exp.cast(sql.text("8"), "TEXT")]
    test = compile_sql(exp.In(this=value, expressions=wanted), "postgres")
    statement = f'SELECT v FROM t AS "source" WHERE {test}'  # noqa: S608 - written here
    assert len(await rows_of(postgres_connector, statement)) == 2
    plan = postgres_database.value(f"EXPLAIN (FORMAT JSON) {statement}")
    assert "looked_up" in str(plan)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://scott:tiger@/{database}?{host}", "check user and password"),
        ("postgresql://scott@/{database}?{host}", "needs a password"),
        ("postgresql://postgres@/tiger_db?{host}", "no such database"),
        ("postgresql://scott:tiger@/db?host=/tiger/run", "check that it runs"),
        ("postgresql://scott:tiger@127.0.0.1:1/db", "check that it runs"),
        ("postgresql://scott:tiger@nowhere.invalid/db", "no such host"),
    ],
)
async def test_a_refused_connection_says_what_to_check_and_no_secret(
    postgres_database: Database, url: str, message: str
) -> None:
    host = postgres_database.server.url().partition("?")[2]
    given = url.format(database=postgres_database.name, host=host)
    connector = PostgresConnector.from_url("books", given, FOLDER)
    for call in (connector.catalog(), connector.run("SELECT 1", {})):
        with pytest.raises(QueryError, match=message) as refused:
            await call
        assert str(refused.value).startswith("connection 'books': ")
        secrets = ("scott", "tiger", "127.0.0.1", "nowhere", str(postgres_database.server.folder))
        assert not any(secret in str(refused.value) for secret in secrets)
        assert refused.value.__cause__ is None
    await connector.aclose()


async def test_errors_of_a_statement_name_the_connection_in_one_line(
    postgres_connector: PostgresConnector,
) -> None:
    with pytest.raises(QueryError) as refused:
        await postgres_connector.run("SELECT nothing FROM missing", {})
    assert str(refused.value) == "connection 'books': relation \"missing\" does not exist"
    with pytest.raises(QueryError, match=r"connection 'books': .*NUL"):
        await postgres_connector.run("SELECT %(p0)s AS x", {"p0": "\0"})
