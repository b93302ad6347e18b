"""What MySQL answers to the adapted tree, compared with what DuckDB answers to its own."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pymysql
import pytest
from sqlglot import exp
from tests.support.asking import measures_asked
from tests.support.mysql import Database

from skillian.connectors.dialects import compile_sql
from skillian.connectors.duckdb.connector import DuckDBConnector
from skillian.connectors.mysql.connector import MySQLConnector, login_of
from skillian.data import sql
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.errors import QueryError

pytestmark = pytest.mark.mysql

_SOURCE = """
    connection: db
    table: {table}
    freshness: day
    dimensions:
      company: {{column: Company Code}}
      period: {{column: period}}
      day: {{column: day}}
      moment: {{column: moment}}
      written: {{column: moment, type: text}}
      tidy: {{column: Company Code, normalise: [trim, upper, "lpad(6,'0')"]}}
      mapped: {{column: period, values: {{"202401": January, "x": "O'Hara \\"q\\" \\\\ %s"}}}}
      number: {{column: number, type: integer}}
      exact: {{column: number, type: "decimal(18,2)"}}
      month: {{column: day, type: text, format: "%Y%m"}}
      since: {{column: month, type: date, format: "%Y%m"}}
      flag: {{column: flag, type: boolean}}
      n: {{column: n}}
      n_text: {{column: n, type: text}}
    measures:
      amount: {{column: amount, aggregation: sum, unit: EUR}}
      mean: {{column: amount, aggregation: avg}}
      low: {{column: amount, aggregation: min}}
      high: {{column: amount, aggregation: max}}
      documents: {{column: document, aggregation: count_distinct}}
      postings: {{column: document, aggregation: count}}
      flipped: {{expression: "amount * -1", aggregation: sum}}
      mean_n: {{column: n, aggregation: avg}}
"""
_SOURCES = """
connections: {{db: "{url}"}}
sources:
  a:{a}
  b:{b}
comparison:
  default_align_on: [company]
  thresholds: {{match: {{absolute: 0.01}}, minor_diff: {{absolute: 5, percentage: 10}}}}
"""
_TABLE = """
CREATE TABLE {table} (
    {q}Company Code{q} VARCHAR(40), period VARCHAR(10), day DATE, moment {moment},
    number VARCHAR(10), month VARCHAR(6), flag BOOLEAN, n BIGINT, amount DECIMAL(18, 2),
    document VARCHAR(10)
)
"""
_JANUARY, _LEAP = date(2024, 1, 31), date(2024, 2, 29)
_MORNING = datetime(2024, 1, 31, 10)  # noqa: DTZ001
_LATE = datetime(1999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001
_HALF = _MORNING.replace(microsecond=500000)
_LARGE = Decimal("9999999999999990.99")
_Row = tuple[Any, ...]
_ROWS: list[_Row] = [
    ("A", "202401", _JANUARY, _HALF, "001", "202401", True, 5, Decimal("1.10"), "d1"),
    ("a", "202401", _JANUARY, _MORNING, "1", "202401", False, 6, Decimal("-1.10"), "D1"),
    ("A ", "202401", None, None, "-7", None, None, None, _LARGE, "d1 "),
    ("A ", "202402", _LEAP, _LATE, "+7", "199912", True, -3, Decimal("0.01"), "d1"),
    (None, "202402", _LEAP, None, None, "202402", False, 1, None, None),
    (None, None, _LEAP, None, None, "202402", False, 2, Decimal("3.33"), "é"),
    ("é", "x", _LEAP, None, "12", "202402", True, 2**62, Decimal("3.33"), "e"),
    ("e", "x", _LEAP, None, "12", "202402", True, 2**62, Decimal("3.33"), "e"),
    ("ﬁß😀日", "x", _LEAP, None, "12", "202402", True, 7, Decimal("3.33"), "e"),
    ('O\'Hara \\ %s :p0 "q"', "x", _LEAP, None, "12", "202402", True, 7, Decimal("-3.33"), "e"),
    ("", "x", _LEAP, None, "12", "202402", True, 7, Decimal("-3.33"), "e"),
    ("  7 ", "x", _LEAP, None, "12", "202402", True, 8, Decimal("-3.34"), "e"),
    ("twice", "x", _LEAP, None, "12", "202402", True, 8, Decimal("2.50"), "e"),
]


class Pair(NamedTuple):
    """The same data in two databases."""

    duckdb: DataServices
    mysql: DataServices


def _changed(rows: Sequence[_Row]) -> list[_Row]:
    """Return other rows: amounts off by some cents, one NULL, one missing, one new, one twice."""
    changed = [
        (*row[:7], (row[7] or 0) + number, _off(row[8], number), row[9])
        for number, row in enumerate(rows)
    ]
    return [*changed[1:], changed[-1], ("new", *changed[0][1:])]


def _off(amount: Decimal | None, cents: int) -> Decimal | None:
    return None if cents == 3 else (amount or Decimal(0)) + Decimal(cents) / 100


@pytest.fixture
async def pair(mysql_database: Database, tmp_path: Path) -> AsyncIterator[Pair]:
    tables = {"a": _ROWS, "b": _changed(_ROWS)}
    marks = ", ".join(["?"] * 10)
    with duckdb.connect(tmp_path / "ledger.duckdb") as connection:
        for table, rows in tables.items():
            connection.execute(_TABLE.format(table=table, q='"', moment="TIMESTAMP"))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608
    login = login_of(mysql_database.url, tmp_path)
    with pymysql.connect(**login, autocommit=True) as other, other.cursor() as cursor:
        for table, rows in tables.items():
            cursor.execute(_TABLE.format(table=table, q="`", moment="DATETIME(6)"))
            written = f"INSERT INTO {table} VALUES ({marks.replace('?', '%s')})"  # noqa: S608
            cursor.executemany(written, rows)
    sources = [_SOURCE.format(table=table) for table in tables]
    opened: list[DataServices] = []
    for url in ("duckdb:///ledger.duckdb", mysql_database.url):
        path = tmp_path / f"{len(opened)}.yaml"
        path.write_text(_SOURCES.format(url=url, a=sources[0], b=sources[1]), encoding="utf-8")
        opened.append(DataServices(SourceRegistry.load(path)))
    yield Pair(*opened)
    for services in opened:
        await services.aclose()


@pytest.mark.parametrize(
    ("measures", "align_on", "filters"),
    [
        (["amount"], ["company"], None),
        (["amount", "mean", "low", "high", "documents", "postings", "flipped", "mean_n"],
         ["company", "period"], None),
        (["amount", "mean"], ["day"], None),
        (["amount"], ["moment"], None),
        (["amount"], ["written"], None),
        (["amount", "documents"], ["tidy"], None),
        (["amount"], ["mapped", "flag"], None),
        (["amount"], ["number"], None),
        (["amount"], ["exact"], None),
        (["amount"], ["month", "since"], None),
        (["mean", "mean_n"], ["n"], None),
        (["amount"], ["n_text"], None),
        (["amount"], ["company"], {"company": ["A ", "O'Hara \\ %s :p0 \"q\"", None]}),
        (["amount"], ["company"], {"company": {"ne": ["a", "e"]}}),
        (["amount"], ["company"], {"company": {"gt": "A"}}),
        (["amount"], ["company"], {"day": {"gte": "2024-02-01"}, "flag": True}),
        (["amount"], ["company"], {"number": {"between": [-7, 7]}}),
        (["amount"], ["company"], {"moment": "2024-01-31T10:00:00.5"}),
        (["amount"], ["company"], {"written": "2024-01-31 10:00:00"}),
        (["amount"], ["company"], {"mapped": "O'Hara \"q\" \\ %s", "exact": 12}),
    ],
)  # fmt: skip
async def test_comparisons_are_those_of_duckdb(
    pair: Pair, measures: list[str], align_on: list[str], filters: dict[str, Any] | None
) -> None:
    results = [
        (
            await services.comparison.compare(measures_asked("a", "b", measures, align_on, filters))
        ).to_dict()
        for services in pair
    ]
    for result in results:
        for own in ("cache_key", "proof", "schema"):
            del result[own]
    assert json.dumps(results[1], indent=1) == json.dumps(results[0], indent=1)
    assert results[0]["summary"]["groups"]  # type: ignore[index]


@pytest.mark.parametrize(
    "question",
    [
        {"dimensions": ["company", "flag"], "measures": ["amount", "documents", "mean"]},
        {"dimensions": ["company"], "measures": ["amount"], "order": ["-amount", "company"]},
        {"dimensions": ["tidy", "written", "since", "number", "n", "moment"]},
        {"measures": ["amount", "low", "postings"], "filters": {"company": None}},
    ],
)
async def test_answers_are_those_of_duckdb(pair: Pair, question: dict[str, Any]) -> None:
    one, other = [await services.query.query("a", **question) for services in pair]
    assert repr(other.rows) == repr(one.rows)
    assert one.rows


async def test_the_catalogue_is_that_of_duckdb(pair: Pair) -> None:
    one, other = [await services.catalogue.sources() for services in pair]
    assert [info.to_dict() for info in other] == [info.to_dict() for info in one]


def _literal(value: str) -> exp.Expr:
    return exp.cast(exp.Literal.string(value), "TEXT")


def _read(form: str) -> Callable[[exp.Expr], exp.Expr]:
    return lambda value: exp.cast(
        exp.StrToTime(this=value, format=exp.Literal.string(form)), "TIMESTAMP"
    )


def _written(form: str) -> Callable[[exp.Expr], exp.Expr]:
    return lambda value: exp.TimeToStr(
        this=exp.cast(value, "TIMESTAMP"), format=exp.Literal.string(form)
    )


def _cast(goal: str) -> Callable[[exp.Expr], exp.Expr]:
    return lambda value: exp.cast(value, goal)


def _nfc(value: exp.Expr) -> exp.Expr:
    return exp.Normalize(this=value, form=exp.var("NFC"))


_EVERY_CODE = "%a %A %b %B %d %f %G %H %I %j %m %M %p %S %T %U %w %W %y %Y %-d %-m %-H %-I %%"
_SAME: list[tuple[Callable[[exp.Expr], exp.Expr], list[str]]] = [
    (_cast("BIGINT"), ["9223372036854775807", "-9223372036854775808", "+07"]),
    (_cast("BOOLEAN"), ["true", "T", "1", "Yes", "FALSE", "f", "0", "no"]),
    (_cast("TIMESTAMP"), ["2024-01-31", "2024-01-31T10:11", "2024-01-31 10:11:12.000001"]),
    (_cast("DATE"), ["2024-02-29"]),
    (_read("%Y%m%d"), ["20240131", "00010101"]),
    (_read("%d.%m.%Y"), ["31.1.2024", "01.12.1999"]),
    (_read("%Y%m"), ["202402"]),
    (_read("%Y"), ["1999"]),
    (_read("%b %Y"), ["Feb 2024", "DEC 1999"]),
    (_read("%B %d, %y"), ["January 31, 68", "May 1, 70"]),
    (_read("%Y%j"), ["2024366"]),
    (_read("%Y-%m-%d %H:%M:%S.%f"), ["2024-01-31 10:11:12.5"]),
    (_written(_EVERY_CODE), ["2024-01-03 04:05:06.000789", "2023-12-31 16:00:00"]),
    (sql.uppered, ["straße ñ \u0131 ǆ я ω"]),
    (sql.trimmed, ["  \ta \n "]),
    (_nfc, ["Größe, naïve: Ёж й 日本 ド 한 😀 €", ""]),
    (lambda value: exp.Length(this=value), ["日本😀"]),
]


@pytest.mark.parametrize(("build", "values"), _SAME)
async def test_values_are_those_of_duckdb(
    mysql_database: Database,
    tmp_path: Path,
    build: Callable[[exp.Expr], exp.Expr],
    values: list[str],
) -> None:
    duckdb.connect(tmp_path / "x.duckdb").close()
    mysql = MySQLConnector.from_url("x", mysql_database.url, tmp_path)
    connectors = DuckDBConnector(tmp_path / "x.duckdb", "x"), mysql
    columns = [exp.alias_(build(_literal(value)), f"c{n}") for n, value in enumerate(values)]
    rows: list[dict[str, Any]] = []
    for connector in connectors:
        statement = compile_sql(exp.Select(expressions=columns), connector.dialect)
        rows += (await connector.run(statement, {})).to_pylist()
        await connector.aclose()
    assert rows[1] == rows[0]


_REFUSED: list[tuple[Callable[[exp.Expr], exp.Expr], str]] = [
    (_cast("BIGINT"), "9223372036854775808"),
    (_cast("BIGINT"), "12x"),
    (_cast("BOOLEAN"), "2"),
    (_cast("BOOLEAN"), " true"),
    (_cast("TIMESTAMP"), "2024-02-31 10:00:00"),
    (_cast("TIMESTAMP"), "20240131"),
    (_cast("TIMESTAMP"), "2024-01-31 10:00:00Z"),
    (_read("%Y-%m-%d"), "2024-02-31"),
    (_read("%Y%m%d"), "2024 131"),
    (_read("%Y-%m-%d"), "24-01-31"),
    (_read("%d.%m.%y"), "01.01.69"),
    (_read("%Y%m"), "202401\n"),
    (_nfc, "e\u0301"),
]


@pytest.mark.parametrize(("build", "value"), _REFUSED)
async def test_a_value_that_cannot_be_meant_is_named(
    mysql_database: Database, build: Callable[[exp.Expr], exp.Expr], value: str
) -> None:
    connector = MySQLConnector.from_url("x", mysql_database.url, Path())
    statement = compile_sql(exp.Select(expressions=[build(_literal(value))]), "mysql")
    with pytest.raises(QueryError) as refused:
        await connector.run(statement, {})
    await connector.aclose()
    assert value.strip() in str(refused.value)


@pytest.mark.parametrize("build", [_read("%Y-W%V"), _written("%Y %Z"), _written("%c")])
def test_codes_that_mean_something_else_there_are_refused(
    build: Callable[[exp.Expr], exp.Expr],
) -> None:
    with pytest.raises(QueryError, match=r"`format: .*MySQL has no equivalent of %[VZc]; known: "):
        compile_sql(exp.Select(expressions=[build(_literal("x"))]), "mysql")


async def test_a_quotient_is_exact_past_64_bits(mysql_database: Database) -> None:
    connector = MySQLConnector.from_url("x", mysql_database.url, Path())
    number = exp.cast(exp.Literal.string("9" * 37), "INT128")
    quotient = exp.IntDiv(this=number, expression=exp.Literal.number(10))
    table = await connector.run(compile_sql(exp.select(quotient.as_("q")), "mysql"), {})
    await connector.aclose()
    assert table.to_pylist() == [{"q": Decimal("9" * 36)}]
