"""The vendors' connectors without a vendor: their statements, and their use of a driver.

`GOLDEN=write` writes the statements of a vendor to `golden/`; look at each change.
"""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
import sqlglot
from tests.support.asking import comparing, measures_asked, two_sources

from skillian.connectors import UNTRIED, connect, dialect_of, engine_of
from skillian.connectors.base import ColumnType
from skillian.connectors.dbapi.connector import DBAPIConnector
from skillian.connectors.dbapi.rows import batches
from skillian.connectors.dbapi.sqlserver import SQLServerConnector
from skillian.data.declare.check import check_sources
from skillian.data.declare.sources import SourceRegistry, read_definitions
from skillian.data.services import DataServices
from skillian.errors import QueryError, UnavailableError

GOLDEN = Path(__file__).parent / "golden"
URLS = {
    "sqlserver": "mssql://ann:p%40ss@db.example:1433/books",
    "oracle": "oracle://ann:p%40ss@db.example:1521/books",
    "snowflake": "snowflake://ann:p%40ss@account/books/public?warehouse=small",
    "bigquery": "bigquery://project/books",
    "databricks": "databricks://token:p%40ss@db.example/sql/1.0/warehouses/7?catalog=main",
}
# Type names as the vendor's catalogue writes them: text, decimal with its scale, date, timestamp.
TYPES = {
    "sqlserver": ("nvarchar", ("decimal", 2), "date", "datetime2"),
    "oracle": ("VARCHAR2", ("NUMBER", 2), "DATE", "TIMESTAMP(6)"),
    "snowflake": ("TEXT", ("NUMBER", 2), "DATE", "TIMESTAMP_NTZ"),
    "bigquery": ("STRING", ("NUMERIC(18, 2)", None), "DATE", "DATETIME"),
    "databricks": ("string", ("decimal(18,2)", 2), "date", "timestamp_ntz"),
}


class Driver:
    """A driver's module whose server knows its catalogue and refuses everything else."""

    def __init__(self, vendor: str) -> None:
        self.vendor = vendor
        text, (number, scale), day, moment = TYPES[vendor]
        self.catalogue = [
            ("dbo", table, column, kind, digits, "YES")
            for table in ("old", "new")
            for column, kind, digits in (
                ("company", text, None),
                ("day", day, None),
                ("moment", moment, None),
                ("amount", number, scale),
            )
        ]
        self.statements: list[str] = []
        self.logins: list[dict[str, Any]] = []
        self.answer: tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]] | None = None
        self.blocked: Event | None = None
        self.cancelled = 0
        self.QueryJobConfig = self.Client = lambda **values: values

    def connect(self, *values: Any, **named: Any) -> Any:
        self.logins.append(named or values[0])
        return SimpleNamespace(cursor=lambda: Cursor(self), close=lambda: None, cancel=self.cancel)

    def cancel(self, *_: Any) -> None:
        self.cancelled += 1
        if self.blocked is not None:
            self.blocked.set()


class Cursor:
    sfqid = "7"
    description: Any = ()

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._rows: list[tuple[Any, ...]] = []
        self.cancel = self.abort_query = driver.cancel
        self.query_job = driver

    def execute(self, statement: str, _: Any = None) -> None:
        if "is_nullable" in statement.lower() or "all_tab_columns" in statement.lower():
            self._rows = list(self._driver.catalogue)
            return
        if statement.startswith(("SET", "ALTER SESSION")):
            return
        if "described WHERE 1 = 0" in statement and self._driver.answer is None:
            self.description = described(statement, self._driver)
            return
        self._driver.statements.append(statement)
        if self._driver.blocked is not None:
            self._driver.blocked.wait(20)
            raise RuntimeError("cancelled")
        if self._driver.answer is None:
            raise RuntimeError("no such server at db.example.com\nmore")
        self.description, self._rows = self._driver.answer

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.fetchmany(1000)

    def fetchmany(self, _: int) -> list[tuple[Any, ...]]:
        rows, self._rows = self._rows, []
        return rows


def dialect(vendor: str) -> str | None:
    return dialect_of(URLS[vendor].partition(":")[0])


def described(statement: str, driver: Driver) -> list[tuple[Any, ...]]:
    """Return the description of a statement's columns, which are texts or amounts."""
    inner = sqlglot.parse_one(statement, dialect=dialect(driver.vendor)).find(sqlglot.exp.Subquery)
    assert inner is not None
    text, number = ANSWERS[driver.vendor]
    return [
        (column.alias, *(number if "amount" in column.sql() else text)[1:])
        for column in inner.this.selects
    ]


MODULES = {
    "sqlserver": ("mssql_python",),
    "oracle": ("oracledb",),
    "snowflake": ("snowflake", "snowflake.connector"),
    "bigquery": ("google.cloud.bigquery", "google.cloud.bigquery.dbapi"),
    "databricks": ("databricks", "databricks.sql"),
}


@pytest.fixture(params=sorted(URLS))
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver(request.param)
    for name in MODULES[made.vendor]:
        monkeypatch.setitem(sys.modules, name, made)
    return made


@pytest.fixture
async def connector(driver: Driver) -> AsyncIterator[Any]:
    opened: Any = connect("c", URLS[driver.vendor], Path())
    yield opened
    await opened.aclose()


DIMENSIONS = (
    "company: {column: company, normalise: [trim, upper]}, moment: {column: moment, type: text},"
    " month: {column: day, type: text, format: '%Y-%m'}"
)
MEASURES = (
    "amount: {column: amount, aggregation: sum}, average: {column: amount, aggregation: avg},"
    " rows: {column: company, aggregation: count}"
)


def registry(url: str, other: str = "c") -> SourceRegistry:
    """The sources a and b, of which b is reached by the connection `other`."""
    tables = "connection: c, table: old", f"connection: {other}, table: new"
    connections = f"c: '{url}', d: '{url}&role=other'"
    text = two_sources(DIMENSIONS, MEASURES, tables=tables, connections=connections)
    return SourceRegistry(read_definitions(text, "sources.yaml"), Path("/"))


async def test_statements_are_as_reviewed(driver: Driver) -> None:
    async with DataServices(registry(URLS[driver.vendor])) as services:
        filters = {"company": ["a", None], "moment": {"gte": "2024-01-01"}}
        measures, keys = ["amount", "average", "rows"], ["company", "month", "moment"]
        with pytest.raises(QueryError, match="no such server at …"):
            await comparing(services.engine)(
                *("a", "b", measures, keys, filters), thresholds={"match": {"percentage": 1}}
            )
    text = ";\n\n".join(sorted(set(driver.statements))) + ";\n"
    path = GOLDEN / f"{driver.vendor}_one_connection.sql"
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
    plain = re.sub(r"%\((p\d+)\)s", r"@\1", text)
    assert any(sqlglot.parse(plain, dialect=dialect(driver.vendor)))


ANSWERS: dict[str, list[tuple[Any, ...]]] = {
    "sqlserver": [("t", str, None, None, 9, None, True), ("n", Decimal, None, None, 18, 2, True)],
    "oracle": [
        ("t", SimpleNamespace(name="DB_TYPE_VARCHAR"), None, None, None, None, True),
        ("n", SimpleNamespace(name="DB_TYPE_NUMBER"), None, None, 18, 2, True),
    ],
    "snowflake": [("t", 2, None, None, None, None, True), ("n", 0, None, None, 18, 2, True)],
    "bigquery": [("t", "STRING", None, None, None, None, True),
                 ("n", "NUMERIC", None, None, None, None, True)],
    "databricks": [("t", "string", None, None, None, None, True),
                   ("n", "decimal", None, None, 18, 2, True)],
}  # fmt: skip


async def test_rows_are_exact_and_typed(driver: Driver, connector: Any) -> None:
    rows = [("a ", Decimal("1.50")), (None, None)]
    driver.answer = (ANSWERS[driver.vendor], rows)
    table = await connector.run("SELECT t, n FROM old", {})
    described = await connector.describe("SELECT t, n FROM old")
    streamed = [batch async for batch in connector.stream("SELECT t, n FROM old", {})]
    assert table.to_pylist() == streamed[0].to_pylist() == [{"t": t, "n": n} for t, n in rows]
    scale = 9 if driver.vendor == "bigquery" else 2
    assert [(each.kind, each.scale) for each in described.values()] == [
        *(("text", 0), ("decimal", scale))
    ]


async def test_a_cancelled_statement_is_stopped_in_the_server(
    driver: Driver, connector: Any
) -> None:
    driver.blocked = Event()
    task = asyncio.create_task(connector.run("SELECT t FROM old", {}))
    while not driver.statements:  # noqa: ASYNC110 - a thread fills it
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert driver.cancelled


# An option that the driver gets from the URL.
LOGINS: dict[str, tuple[str, object]] = {
    "sqlserver": (
        "connection_str",
        (
            "Server={db.example,1433};Database={books};UID={ann};PWD={p@ss};Encrypt={yes}"
            ";TrustServerCertificate={no};ApplicationIntent={ReadOnly}"
        ),
    ),
    "oracle": ("dsn", "db.example:1521/books"),
    "snowflake": ("warehouse", "small"),
    "bigquery": ("default_query_job_config", {"default_dataset": "project.books"}),
    "databricks": ("http_path", "/sql/1.0/warehouses/7"),
}


async def test_the_login_comes_from_the_url(driver: Driver, connector: Any) -> None:
    tables = await connector.catalog()
    assert [table.name for table in tables] == ["old", "new"]
    day = "timestamp" if driver.vendor == "oracle" else "date"
    kinds = [kind.kind for kind in tables[0].columns.values()]
    assert kinds == ["text", day, "timestamp", "decimal"]
    [login] = driver.logins
    assert LOGINS[driver.vendor] in login.items()


@pytest.mark.parametrize("vendor", URLS)
def test_a_missing_driver_says_how_to_install_it(
    vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_of(URLS[vendor].partition(":")[0])
    assert engine is not None
    monkeypatch.setitem(sys.modules, engine.drivers[0], None)
    with pytest.raises(UnavailableError, match=rf"not installed; .*{engine.extra}"):
        connect("c", URLS[vendor], Path())


BOUND: dict[str, tuple[str, object]] = {
    "qmark": ("SELECT '%:p0', ? , [:p1], ?", ("x", "y")),
    "named": ("SELECT '%:p0', :p1 , [:p1], :p0", {"p1": "x", "p0": "y"}),
    "pyformat": ("SELECT '%%:p0', %(p1)s , [:p1], %(p0)s", {"p1": "x", "p0": "y"}),
}


def test_values_are_bound_as_the_driver_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for paramstyle, expected in BOUND.items():
        monkeypatch.setattr(SQLServerConnector, "paramstyle", paramstyle)
        connector: DBAPIConnector = SQLServerConnector(lambda: None, "c")
        bound = connector.bound("SELECT '%:p0', :p1 , [:p1], :p0", {"p0": "y", "p1": "x"})
        assert bound == expected


def test_a_kind_of_each_value_becomes_arrow() -> None:
    moment = datetime(2024, 1, 31, 10, tzinfo=UTC)
    kinds: dict[str, tuple[Any, ...]] = {
        "i": ("integer", "INT", 0, True), "f": ("float", "FLOAT"), "d": ("date", "DATE"),
        "t": ("timestamp", "DATETIME"), "z": ("timestamptz", "TIMESTAMP"), "o": ("other", "BINARY"),
    }  # fmt: skip
    columns = [(name, ColumnType(*kind)) for name, kind in kinds.items()]
    row = (2**70, 0.1, datetime(2024, 1, 31), datetime(2024, 1, 31, 10), moment, b"\xff")  # noqa: DTZ001
    cursor: Any = Cursor(Driver("oracle"))
    cursor._rows = [row]
    [batch] = batches(cursor, columns)
    [read] = batch.to_pylist()
    assert [*read.values()] == [Decimal(2**70), 0.1, date(2024, 1, 31), row[3], moment, "ff"]
    cursor._rows = [("x",)]
    with pytest.raises(QueryError, match="column 'i' holds a value that is not a valid INT"):
        next(iter(batches(cursor, columns[:1])))


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize("driver", ["oracle"], indirect=True)
async def test_the_check_of_sources_says_what_was_never_tried() -> None:
    findings = [each async for each in check_sources(registry(URLS["oracle"]))]
    labels = [each.text for each in findings if each.part == "connection c"]
    assert labels == [f"Oracle ({UNTRIED})"] * 2


TABLES = {
    "OLD": "('a', 1.50, '2024-01-31', '2024-01-31 10:00:00.5'), ('b', 2, '2024-02-01', NULL),"
    " (NULL, 3, NULL, NULL)",
    "NEW": "('a', 1.50, '2024-01-31', '2024-01-31 10:00:00.5'), ('b', 2.25, '2024-02-01', NULL),"
    " ('c', 1, NULL, NULL)",
}


@pytest.fixture
def snowflake() -> Iterator[None]:
    """Snowflake's driver on fakesnow, which answers Snowflake's SQL from a DuckDB.

    fakesnow asks for an older sqlglot than these tests run with: install it in an environment of
    its own, with `snowflake-connector-python<5`.
    """
    fakesnow: Any = pytest.importorskip("fakesnow", reason="there is no fakesnow")
    with fakesnow.patch():
        driver = import_module("snowflake.connector")
        connection: Any = driver.connect(database="books", schema="public", user="u", account="a")
        for table, rows in TABLES.items():
            cursor = connection.cursor()
            cursor.execute(
                f"CREATE TABLE {table} (COMPANY TEXT, AMOUNT NUMBER(18, 2), DAY DATE,"
                " MOMENT TIMESTAMP_NTZ)"
            )
            cursor.execute(f"INSERT INTO {table} VALUES {rows}")  # noqa: S608 - our own
        yield


@pytest.mark.usefixtures("snowflake")
@pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")
@pytest.mark.parametrize("other", ["c", "d"])
async def test_a_comparison_on_fakesnow(other: str) -> None:
    names, keys = ["amount", "average"], ["company", "month", "moment"]
    asked = measures_asked("a", "b", names, keys, {"company": ["A", "B", "C", None]})
    async with DataServices(registry(URLS["snowflake"], other)) as data:
        classes = (await data.engine.compare(asked)).summary.classes
    assert [*classes.to_dict().values()] == [1, 0, 1, 1, 1]
