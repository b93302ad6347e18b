"""What MySQL answers to the adapted tree, compared with what DuckDB answers to its own."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp
from tests.support.mysql import Database

from skillian.connectors.dialects import compile_sql
from skillian.connectors.duckdb.connector import DuckDBConnector
from skillian.connectors.mysql.connector import MySQLConnector
from skillian.data import sql
from skillian.errors import QueryError

pytestmark = pytest.mark.mysql


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
