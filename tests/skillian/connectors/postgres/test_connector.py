import asyncio
import os
import signal
from decimal import Decimal
from urllib.parse import quote

import psycopg
import pytest
from sqlglot import exp
from tests.skillian.connectors.databases import NEVER, of_postgres
from tests.support.postgres import FOLDER, PASSWORD, Database, rows_of
from tests.support.waits import soon

from skillian.connectors import servers
from skillian.connectors.dialects import compile_sql
from skillian.connectors.postgres.connector import PostgresConnector
from skillian.data import sql
from skillian.data.declare.definitions import Dimension, Measure, Source
from skillian.data.declare.sources import Connections, registry_of
from skillian.data.query.binding import Binder
from skillian.data.query.engine import QueryEngine
from skillian.errors import QueryError

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


async def test_values_have_one_text_whatever_the_settings_of_a_session(
    postgres_database: Database,
) -> None:
    settings = ("intervalstyle=iso_8601", "bytea_output=escape", "quote_all_identifiers=on")
    url = f"{postgres_database.url}&options={quote(' '.join(f'-c{each}' for each in settings))}"
    connector = PostgresConnector.from_url("books", url, FOLDER)
    statement = """SELECT CAST(INTERVAL '1 day 2 hours' AS TEXT) AS i,
        CAST(TO_JSON(ARRAY[CAST('a' AS BYTEA)]) AS TEXT) AS b, CAST('a' AS BYTEA) AS c"""
    assert await rows_of(connector, statement) == [
        {"i": "1 day 02:00:00", "b": r'["\\x61"]', "c": "\\x61"}
    ]
    types = [kind.sql for kind in (await connector.describe(statement)).values()]
    assert types == ["text", "text", "bytea"]
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


SCHEMA = """
CREATE SCHEMA other;
CREATE DOMAIN cents AS numeric(17, 2) NOT NULL;
CREATE DOMAIN positive_cents AS cents CHECK (VALUE > 0);
CREATE TYPE side AS ENUM ('debit', 'it''s');
CREATE TABLE "a ""b"" table" (
    "select" numeric(17, 2), "Größe" bigint, domain positive_cents, side side, free numeric,
    wide numeric(40, 39), hundreds numeric(5, -2), name varchar(10) COLLATE "C", note text,
    small smallint, numbers int[], dropped int,
    PRIMARY KEY (name, small)
);
ALTER TABLE "a ""b"" table" DROP COLUMN dropped;
CREATE VIEW other.v AS SELECT DATE '2024-01-31' AS d;
CREATE MATERIALIZED VIEW m AS SELECT 1 AS x;
CREATE TABLE parts (period int) PARTITION BY LIST (period);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE other.heirs (id int PRIMARY KEY);
CREATE TABLE other.heir () INHERITS (other.heirs);
"""


async def test_the_catalogue_has_all_relations_with_their_types(
    postgres_connector: PostgresConnector, postgres_database: Database
) -> None:
    postgres_database.execute(SCHEMA)
    tables = await postgres_connector.catalog()
    assert [f"{table.schema} {table.name}" for table in tables] == [
        *('public a "b" table', "public m", "public parts", "public parts_1", "other heir"),
        *("other heirs", "other v"),
    ]
    kinds = {name: (kind.kind, kind.scale) for name, kind in tables[0].columns.items()}
    assert (kinds["domain"], kinds["hundreds"]) == (("decimal", 2), ("decimal", 0))
    assert kinds["free"] == kinds["wide"] == kinds["numbers"] == ("other", 0)
    assert list(tables[0].columns)[:3] == ["select", "Größe", "domain"]
    declared = tables[0].declared
    assert (tables[0].engine, tables[0].primary_key) == ("postgres", ("name", "small"))
    not_null = [name for name, each in declared.items() if each.nullable is False]
    assert not_null == ["domain", "name", "small"]
    assert declared["domain"].type == "numeric(17,2)"
    assert declared["side"].type == "enum('debit', 'it''s')"
    assert [declared[name].collation for name in ("name", "small")] == ["C", ""]
    assert declared["note"].collation
    assert (tables[-1].primary_key, tables[-1].declared["d"].nullable) == ((), None)
    assert tables[-2].primary_key == ()  # which the table that inherits does not keep
    described = await postgres_connector.describe('SELECT * FROM "a ""b"" table"')
    assert [kind.kind for kind in described.values()] == [
        kind.kind for kind in tables[0].columns.values()
    ]


async def test_the_catalogue_says_what_the_role_may_not_read(
    postgres_database: Database, postgres_reader: str
) -> None:
    postgres_database.execute(
        "CREATE TABLE seen (x int, hidden int); CREATE TABLE unseen (x int);"
        " CREATE SCHEMA closed; CREATE TABLE closed.t (x int);"
        " GRANT SELECT (x) ON seen TO reader; GRANT SELECT ON closed.t TO reader;"
        " CREATE SCHEMA mine; CREATE TABLE mine.first (x int); GRANT USAGE ON SCHEMA mine TO"
        " reader; GRANT SELECT ON mine.first TO reader; ALTER ROLE reader SET search_path = mine"
    )
    plain = postgres_database.server.url(postgres_database.name, f"reader:{PASSWORD}")
    assert plain != postgres_reader  # whose password is percent-encoded
    connector = PostgresConnector.from_url("books", plain, FOLDER)
    tables = await connector.catalog()
    readable = [each for each in tables if each.is_readable]
    found = [(each.schema, each.name, [*each.columns], each.forbidden) for each in readable]
    assert found == [("mine", "first", ["x"], ()), ("public", "seen", ["x"], ("hidden",))]
    assert [each.name for each in tables if not each.is_readable] == ["unseen", "t"]
    with pytest.raises(QueryError, match=r"no right to read table 'public\.unseen'"):
        list(tables[2].columns)
    assert await rows_of(connector, "SELECT * FROM first") == []
    await connector.aclose()


async def test_a_sum_of_too_many_digits_says_what_to_do(
    postgres_connector: PostgresConnector,
) -> None:
    statement = "SELECT CAST(SUM(v) AS numeric(38, 30)) AS v FROM (VALUES (6e7), ({})) AS t (v)"
    assert (await postgres_connector.run(statement.format("1e7"), {})).num_rows == 1
    with pytest.raises(QueryError, match=r"more than 38 digits; .* `expression` that rounds"):
        await postgres_connector.run(statement.format("6e7"), {})


async def test_what_a_value_or_a_lock_prevents_says_what_to_do(
    postgres_database: Database,
) -> None:
    postgres_database.execute("CREATE TABLE t (x int); CREATE VIEW v AS SELECT 1 / (x - x) FROM t")
    postgres_database.execute("INSERT INTO t VALUES (1)")
    url = f"{postgres_database.url}&options={quote('-c lock_timeout=1')}"
    connector = PostgresConnector.from_url("books", url, FOLDER)
    with pytest.raises(QueryError, match="division by zero; a value does not fit an expression"):
        await connector.run("SELECT * FROM v", {})
    with psycopg.connect(postgres_database.url) as other:
        other.execute("LOCK TABLE t")
        with pytest.raises(QueryError, match="locked by another session; try again"):
            await connector.run("SELECT x FROM t", {})
    await connector.aclose()


async def test_large_rows_come_in_small_batches(postgres_connector: PostgresConnector) -> None:
    # Whose columns may share a name.
    statement = "SELECT chr(65279) || repeat('x', 1000000) AS x, 1 AS x FROM generate_series(1, 40)"
    batches = [batch async for batch in postgres_connector.stream(statement, {})]
    sizes = [batch.nbytes for batch in batches]
    assert (sum(sizes) > 40_000_000, max(sizes) < 6_000_000) == (True, True)
    # The first text of each keeps its byte order mark, too.
    assert {text[:2] for each in batches for text in each.columns[0].to_pylist()} == {"\ufeffx"}


async def test_a_server_that_has_stopped_answering_is_given_up(
    postgres_connector: PostgresConnector,
    postgres_database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [row] = await rows_of(postgres_connector, "SELECT pg_backend_pid() AS pid")
    os.kill(row["pid"], signal.SIGSTOP)
    try:
        with monkeypatch.context() as impatient:
            impatient.setattr(servers, "_GRACE_SECONDS", -29.9)
            with pytest.raises(QueryError, match="the server does not answer"):
                await postgres_connector.run("SELECT 1", {})
    finally:
        os.kill(row["pid"], signal.SIGCONT)
    assert await rows_of(postgres_connector, "SELECT 1 AS x") == [{"x": 1}]


async def test_cancelling_at_any_moment_leaves_the_connector_working(
    postgres_connector: PostgresConnector, postgres_database: Database
) -> None:
    statement = "SELECT n FROM generate_series(1, 100000) AS n"
    for steps in range(60):
        task = asyncio.create_task(postgres_connector.run(statement, {}))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or task.result().num_rows
    assert await rows_of(postgres_connector, "SELECT 1 AS x") == [{"x": 1}]
    assert postgres_database.active() == 0


async def test_nobody_waits_for_ever_for_a_connection(postgres_database: Database) -> None:
    connector = of_postgres(postgres_database).make(0.5)
    held = [connector.stream(NEVER["postgres"], {}) for _ in range(PostgresConnector.connections)]
    tasks = [asyncio.ensure_future(anext(aiter(stream))) for stream in held]
    await soon(lambda: postgres_database.active() == PostgresConnector.connections)
    with pytest.raises(QueryError, match="all 8 of its connections are busy"):
        await connector.run("SELECT 1", {})
    await connector.aclose()
    await asyncio.wait(tasks)
    assert {type(task.exception()) for task in tasks} == {QueryError}


async def test_who_holds_a_state_still_gets_a_connection(
    postgres_connector: PostgresConnector,
) -> None:
    async def one() -> None:
        async with postgres_connector.one_state() as state:
            await asyncio.sleep(0.05)  # until as many as possible have theirs
            await state.run("SELECT 1", {})

    async with asyncio.timeout(20):  # a statement waits 30 s for a connection
        await asyncio.gather(*(one() for _ in range(2 * PostgresConnector.connections)))


# What is summed, and the sum: PostgreSQL itself knows the scale of none of these.
SUMS = {
    "free": Decimal("100000000000000000003.5625"),
    "hsl * -1": Decimal("-3.55"),
    "hsl * rate": Decimal("3.3125175"),
    "COALESCE(hsl, '0.001')": Decimal("3.551"),
    "CASE WHEN rate > 2 THEN odd END": Decimal("NaN"),
    "CASE WHEN rate < 2 THEN odd END": Decimal("Infinity"),
    "CASE WHEN rate > 9 THEN hsl * 2 END": None,
}


async def test_a_sum_of_numbers_without_a_scale_has_all_of_their_digits(
    postgres_database: Database,
) -> None:
    postgres_database.execute("""
    CREATE TABLE ledger (hsl numeric(17, 2), rate numeric(9, 5), free numeric, odd numeric);
    INSERT INTO ledger VALUES (1.25, 0.25001, 0.0625, 'Infinity'), (2.30, 1.30435, 3.5, 1),
        (NULL, 3, 1e20, 'NaN');
    """)
    measures = {name: Measure(expression=name, aggregation="sum") for name in SUMS}
    dimensions = {
        "exact": Dimension(column="free", type="decimal(38,4)"),
        "whole": Dimension(column="free", type="integer"),
    }
    source = Source(connection="books", table="ledger", dimensions=dimensions, measures=measures)
    registry = registry_of({"books": postgres_database.url}, {"ledger": source}, FOLDER)
    async with Connections(registry) as connections:
        engine = QueryEngine(Binder(registry, connections))
        result = await engine.query("ledger", measures=[*SUMS])
        assert [str(each) for each in result.rows[0]] == [str(each) for each in SUMS.values()]
        keys = await engine.query("ledger", ["exact"])
        assert [str(key) for (key,) in keys.rows] == ["0.0625", "3.5000", f"{10**20}.0000"]
        with pytest.raises(QueryError, match="is not BIGINT"):
            await engine.query("ledger", ["whole"])
