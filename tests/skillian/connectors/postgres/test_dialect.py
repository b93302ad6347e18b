from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp
from tests.support.postgres import Database, rows_of

from skillian.connectors.base import Connector
from skillian.connectors.dialects import compile_sql
from skillian.connectors.duckdb.connector import DuckDBConnector
from skillian.connectors.postgres.connector import PostgresConnector
from skillian.data import sql
from skillian.data.declare.definitions import Dimension
from skillian.data.query.dimensions import DimensionBuilder
from skillian.errors import QueryError


class Both:
    """The same column in DuckDB and in PostgreSQL."""

    def __init__(self, path: Path, database: Database, connector: PostgresConnector) -> None:
        self._path = path
        self._database = database
        self._connectors: list[Connector] = [
            DuckDBConnector.from_url("x", f"duckdb:///{path}", path.parent),
            connector,
        ]

    def load(self, kind: str, *values: str) -> None:
        script = f"CREATE TABLE t (v {kind});"
        script += "".join(f"INSERT INTO t VALUES ({value});" for value in values)  # noqa: S608
        with duckdb.connect(self._path) as connection:
            connection.execute(script)
        self._database.execute(script)

    async def values(self, **definition: Any) -> list[list[Any]]:
        """The distinct values of the dimension in order, in DuckDB and in PostgreSQL."""
        return [await _values(connector, definition) for connector in self._connectors]

    async def aclose(self) -> None:
        await self._connectors[0].aclose()


async def _values(connector: Connector, definition: dict[str, Any]) -> list[Any]:
    kinds = await connector.describe('SELECT v FROM t AS "source"')
    parameters = sql.BoundValues()
    builder = DimensionBuilder(Dimension(column="v", **definition), parameters)
    value, _ = builder.build(sql.column("v", "source"), kinds["v"])
    inner = exp.Select(expressions=[sql.named(value, "x")])
    inner.from_(exp.alias_(sql.table("t"), sql.name("source"), table=True), copy=False)
    select = exp.Select(expressions=[sql.bare("x")]).from_(inner.subquery(sql.name("rows")))
    select = select.group_by(sql.bare("x")).order_by(
        exp.Ordered(this=sql.bare("x"), nulls_first=False)
    )
    statement = compile_sql(select, connector.dialect)
    return [row["x"] for row in await rows_of(connector, statement, **parameters.values)]


@pytest.fixture
async def both(
    tmp_path: Path, postgres_database: Database, postgres_connector: PostgresConnector
) -> AsyncIterator[Both]:
    opened = Both(tmp_path / "x.duckdb", postgres_database, postgres_connector)
    yield opened
    await opened.aclose()


PATTERNS = (
    *("%Y-%m-%d", "%d.%m.%y", "%Y%m", "%-d/%-m %H:%M:%S.%f", "%b %B %a %A", "%I %p %-I %-H"),
    *("%j %G-W%V-%u", 'Q "MM" \\ 100%% %Y DD'),
)


async def test_dates_are_written_as_duckdb_writes_them(both: Both) -> None:
    both.load("TIMESTAMP", "'2024-02-05 03:04:05.000678'", "'1999-12-31 23:59:59'", "NULL")
    for pattern in PATTERNS:
        local, server = await both.values(type="text", format=pattern)
        assert server == local, pattern


@pytest.mark.parametrize(
    ("pattern", "values"),
    [
        ("%Y%m%d", ["'20240131'", "'00330102'"]),
        ("%d.%m.%Y", ["'31.01.2024'", "'1.2.2024'"]),
        ("%d.%m.%y", ["'31.01.68'", "'31.01.70'"]),
        ("%d %b %Y", ["'31 Jan 2024'", "'1 feb 2024'"]),
        ("%B %d, %Y", ["'January 31, 2024'", "'May 1, 2024'"]),
        ("on %Y-%m-%d at %I:%M %p", ["'on 2024-01-31 at 12:05 AM'", "'on 2024-01-31 at 1:05 pm'"]),
        ("%Y-%j", ["'2024-366'", "'2024-001'"]),
        ("%H:%M:%S.%f on %Y/%m/%d", ["'23:59:59.000001 on 2024/1/2'", "'1:2:3.5 on 2024/1/2'"]),
    ],
)
async def test_dates_are_read_as_duckdb_reads_them(
    both: Both, pattern: str, values: list[str]
) -> None:
    both.load("VARCHAR", *values, "NULL")
    for target in ("date", "timestamp"):
        local, server = await both.values(type=target, format=pattern)
        assert server == local


UNFIT: tuple[tuple[str, dict[str, str], tuple[str, ...]], ...] = (
    ("integer", {}, ("12a", "1.5")),
    ("decimal(18,2)", {}, ("1.005", "1e3", "12345678901234567.00")),
    ("date", {}, ("2024-1-5", "2024-02-30")),
    ("timestamp", {}, ("today", "2024-01-31 10:00:00+02")),
    ("date", {"format": "%Y%m%d"}, ("20240131 or so", "20241301")),
    ("date", {"format": "%d.%m.%Y"}, ("31.02.2024",)),
    ("date", {"format": "%d%m%Y"}, ("1012024",)),
    ("boolean", {}, ("maybe",)),
)


async def test_a_text_that_does_not_fit_is_named(
    postgres_connector: PostgresConnector, postgres_database: Database
) -> None:
    postgres_database.execute("CREATE TABLE t (v varchar)")
    for kind, pattern, values in UNFIT:
        for value in values:
            postgres_database.execute(f"TRUNCATE t; INSERT INTO t VALUES ('{value}')")  # noqa: S608
            with pytest.raises(QueryError) as refused:
                await _values(postgres_connector, {"type": kind, **pattern})
            assert value in str(refused.value) or "numeric field overflow" in str(refused.value)


async def test_a_code_that_postgresql_does_not_have_is_refused(
    postgres_connector: PostgresConnector, postgres_database: Database
) -> None:
    for kind, goal in (("date", "text"), ("varchar", "date")):
        script = f"DROP TABLE IF EXISTS t; CREATE TABLE t AS SELECT CAST(NULL AS {kind}) AS v"
        postgres_database.execute(script)
        with pytest.raises(QueryError, match="%U"):
            await _values(postgres_connector, {"type": goal, "format": "%Y-%U"})


async def test_a_padded_text_is_its_text(both: Both) -> None:
    both.load("CHAR(4)", "'a'", "'b'")
    local, server = await both.values()
    assert server == local == ["a", "b"]


async def test_an_average_is_exact(postgres_connector: PostgresConnector) -> None:
    whole = exp.IntDiv(this=exp.cast(sql.bare("x"), "INT128"), expression=exp.Literal.number(7))
    select = exp.Select(expressions=[sql.named(sql.decimal(whole, 0), "y")])
    text = (
        compile_sql(select, "postgres")
        + " FROM (SELECT -12345678901234567890123456789.0 AS x) AS t"
    )
    [row] = await rows_of(postgres_connector, text)
    assert int(row["y"]) == -(12345678901234567890123456789 // 7)


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
