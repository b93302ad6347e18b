"""What a server answers to the adapted tree, compared with what DuckDB answers to its own."""

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp
from tests.support.clickhouse import in_clickhouse, needs_clickhouse

from skillian.connectors import connect
from skillian.connectors.base import ColumnType, Connector
from skillian.connectors.dialects import compile_sql
from skillian.data import sql
from skillian.data.declare.definitions import Dimension
from skillian.data.query.dimensions import DimensionBuilder
from skillian.errors import QueryError

Build = Callable[[exp.Expr], exp.Expr]
Cases = Sequence[tuple[Build, Sequence[str | None]]]


def cast(goal: str) -> Build:
    return lambda value: exp.cast(value, goal)


def declared(column: str = "TEXT", **definition: Any) -> Build:
    """A dimension that is declared so, over a column of this type."""
    kind = ColumnType("timestamp" if column == "TIMESTAMP" else "text", column)
    builder = DimensionBuilder(Dimension(column="v", **definition), sql.BoundValues())
    return lambda value: builder.build(exp.cast(value, column), kind)[0]


def read(form: str, goal: str = "timestamp") -> Build:
    return declared(type=goal, format=form)


def written(form: str) -> Build:
    return declared("TIMESTAMP", type="text", format=form)


def decimal_text(value: exp.Expr) -> exp.Expr:
    number = exp.cast(value, "DECIMAL(10, 2)")
    number.type = exp.DataType.build("DECIMAL(38, 2)")
    return exp.cast(number, "TEXT")


def halved(value: exp.Expr) -> exp.Expr:
    return exp.IntDiv(this=exp.cast(value, "BIGINT"), expression=exp.Literal.number(2))


def second(value: exp.Expr) -> exp.Expr:
    """The second letter."""
    two, one = exp.Literal.number(2), exp.Literal.number(1)
    return exp.Substring(this=value, start=two, length=one)


MOMENTS = ("2024-02-05 03:04:05.000678", "2023-12-31 16:00:00", "1999-12-31 23:59:59")
FORMS: Mapping[str, Sequence[str]] = {
    "%Y%m%d": ("20240131", "00330102"),
    "%d.%m.%Y": ("31.01.2024", "1.2.2024"),
    "%d.%m.%y": ("31.01.68", "31.01.70"),
    "%d %b %Y": ("31 Jan 2024", "1 feb 2024", "1 DEC 1999"),
    "%Y-%j": ("2024-366", "2024-001"),
    "%Y-%m-%d %H:%M:%S.%f": ("2024-01-31 10:11:12.5", "2024-01-02 23:59:59.000001"),
}
READ: Cases = tuple(
    (read(form, goal), FORMS[form]) for form in FORMS for goal in ("date", "timestamp")
)
SAME: Cases = (
    (cast("BOOLEAN"), ("true", "T", "1", "Yes", "FALSE", "f", "0", "no")),
    (cast("TIMESTAMP"), ("2024-01-31", "2024-01-31T10:11", "2024-01-31 10:11:12.000001")),
    (declared(normalise=["upper"]), ("straße ñ \u0131 ǆ я ω",)),
    (declared(normalise=["trim"]), ("  \ta \n ",)),
    (declared(normalise=["nfc"]), ("Größe, naïve: Ёж й 日本 ド 한 😀 €", "")),
    (lambda value: exp.Length(this=value), ("日本😀",)),
    (second, ("éab",)),
)
OWN: Mapping[str, Cases] = {
    "mysql": (
        *READ,
        (read("%Y%m"), ("202402",)),
        (read("%Y"), ("1999",)),
        (read("%B %d, %Y"), ("January 31, 2024", "May 1, 2024")),
        (read("%b %Y"), ("Feb 2024", "DEC 1999")),
        (
            written("%a %A %b %B %d %f %G %H %I %j %m %M %p %S %T %U %w %W %y %Y %-d %-m %-H %-I"),
            MOMENTS,
        ),
        (written("%%"), MOMENTS[:1]),
    ),
    "clickhouse": (
        (cast("DATE"), ("1950-01-31",)),
        (cast("TIMESTAMP"), ("1950-01-31T10:11",)),
        *((read(form), FORMS[form][:1]) for form in FORMS),
        (read("%d.%m.%Y"), ("31.01.1950",)),
        (written("%d|%M"), MOMENTS),
        (decimal_text, ("1.50",)),
        (halved, ("-7",)),
        (lambda value: exp.cast(exp.cast(value, "DOUBLE"), "TEXT"), ("0.15",)),
    ),
    "postgres": (
        *READ,
        (
            read("on %Y-%m-%d at %I:%M %p"),
            ("on 2024-01-31 at 12:05 AM", "on 2024-01-31 at 1:05 pm"),
        ),
        (read("%B %d, %Y"), ("January 31, 2024", "May 1, 2024")),
        (read("%H:%M:%S.%f on %Y/%m/%d"), ("23:59:59.000001 on 2024/1/2", "1:2:3.5 on 2024/1/2")),
        (declared("CHAR(4)"), ("a", "ab")),
        *(
            (written(form), MOMENTS)
            for form in (
                *("%Y-%m-%d", "%d.%m.%y", "%Y%m", "%-d/%-m %H:%M:%S.%f", "%b %B %a %A"),
                *("%I %p %-I %-H", "%j %G-W%V-%u", 'Q "MM" \\ 100%% %Y DD'),
            )
        ),
    ),
}
REFUSED: Cases = (
    (declared(type="integer"), ("12a", "1.5", "9223372036854775808")),
    (declared(type="decimal(18,2)"), ("1.005", "1e3")),
    (declared(type="date"), ("2024-1-5", "2024-02-30")),
    (declared(type="timestamp"), ("today", "2024-01-31 10:00:00+02", "2024-02-31 10:00:00")),
    (declared(type="boolean"), ("maybe", "2")),
)
UNREAD = (read("%Y%m%d", "date"), ("20240131 or so", "20241301"))
OWN_REFUSED: Mapping[str, Cases] = {
    "clickhouse": (
        (cast("BIGINT"), ("99999999999999999999", "bad")),
        (cast("DECIMAL(10, 2)"), ("bad", "bad is not BIGINT")),
        (cast("DATE"), ("2024-02-30", "bad")),
        (cast("TIMESTAMP"), ("2024-02-30 10:00:00", "2024-01-01 25:00:00")),
        (cast("BOOLEAN"), ("bad",)),
        (read("%Y%m%d"), ("20240131 or so",)),
    ),
    "mysql": (
        UNREAD,
        (cast("BIGINT"), ("9223372036854775808", "12x")),
        (cast("BOOLEAN"), (" true",)),
        (cast("TIMESTAMP"), ("2024-02-31 10:00:00", "20240131", "2024-01-31 10:00:00Z")),
        (read("%Y-%m-%d"), ("2024-02-31", "24-01-31")),
        (read("%Y%m%d"), ("2024 131",)),
        (read("%d.%m.%y"), ("01.01.69",)),
        (read("%Y%m"), ("202401\n",)),
        (declared(normalise=["nfc"]), ("e\u0301",)),
    ),
    "postgres": (
        UNREAD,
        (read("%d.%m.%Y", "date"), ("31.02.2024",)),
        (read("%d%m%Y", "date"), ("1012024",)),
    ),
}


@pytest.fixture(params=["mysql", "postgres", pytest.param("clickhouse", marks=needs_clickhouse)])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Connector]:
    if request.param == "clickhouse":
        url = in_clickhouse()
    else:
        url = request.getfixturevalue(f"{request.param}_database").url
    connector = connect("x", url, Path())
    yield connector
    await connector.aclose()


async def answers(connector: Connector, build: Build, values: Sequence[str | None]) -> list[Any]:
    columns = [
        exp.alias_(
            build(exp.cast(exp.Null() if value is None else exp.Literal.string(value), "TEXT")),
            f"c{n}",
        )
        for n, value in enumerate(values)
    ]
    statement = compile_sql(exp.Select(expressions=columns), connector.dialect)
    [row] = (await connector.run(statement, {})).to_pylist()
    return [*row.values()]


async def test_values_are_those_of_duckdb(server: Connector, tmp_path: Path) -> None:
    duckdb.connect(tmp_path / "x.duckdb").close()
    local = connect("x", f"duckdb:///{tmp_path / 'x.duckdb'}", tmp_path)
    for build, values in (*SAME, *OWN[server.dialect]):
        expected = await answers(local, build, values)
        assert await answers(server, build, values) == expected, values
    await local.aclose()


async def test_a_text_that_does_not_fit_is_named(server: Connector) -> None:
    for build, values in (*REFUSED, *OWN_REFUSED[server.dialect]):
        for value in filter(None, values):
            with pytest.raises(QueryError) as refused:
                await answers(server, build, [value])
            assert value.strip() in str(refused.value)
    with pytest.raises(
        QueryError, match=r"(?i)out of range|numeric field overflow|overflow|digits"
    ):
        await answers(server, declared(type="decimal(18,2)"), ["12345678901234567.00"])


@pytest.mark.parametrize(
    ("dialect", "build", "code"),
    [
        ("mysql", read("%Y-W%V"), "%V"),
        ("mysql", written("%Y %Z"), "%Z"),
        ("mysql", written("%c"), "%c"),
        ("postgres", read("%Y-%U"), "%U"),
        ("postgres", written("%Y-%U"), "%U"),
    ],
)
def test_a_code_that_means_something_else_there_is_refused(
    dialect: str, build: Build, code: str
) -> None:
    title = {"mysql": "MySQL", "postgres": "PostgreSQL"}[dialect]
    with pytest.raises(
        QueryError, match=f"`format: .*{title} has no equivalent of {code}; known: "
    ):
        compile_sql(exp.Select(expressions=[build(exp.Literal.string("x"))]), dialect)


# A thread stops within the class of a dialect, which sqlglot has registered by then.
_TWO_THREADS = """
from threading import Event, Thread
import sqlglot
from sqlglot.dialects import dialect
from skillian.connectors.dialects import compile_sql

tree, found = sqlglot.parse_one('SELECT CAST("a" AS TEXT) FROM "t"'), []
inside, free, first, make = Event(), Event(), [1], dialect.new_trie

def stop(names):
    if first and first.pop():
        inside.set()
        free.wait()
    return make(names)

dialect.new_trie = stop
threads = [Thread(target=lambda: found.append(compile_sql(tree, "mysql"))) for _ in "ab"]
threads[0].start()
inside.wait()
threads[1].start()
threads[1].join(0.3)
free.set()
for each in threads:
    each.join()
assert len({*found}) == 1 and "`a` AS CHAR" in found[0], found
"""


def test_a_dialect_is_complete_before_another_thread_writes_in_it() -> None:
    subprocess.run([sys.executable, "-c", _TWO_THREADS], check=True, timeout=60)


async def test_a_quotient_is_exact_past_64_bits(server: Connector) -> None:
    for number, divisor in ((int("9" * 37), 10), (-12345678901234567890123456789, 7)):
        whole = exp.cast(exp.Literal.string(str(number)), "INT128")
        quotient = exp.IntDiv(this=whole, expression=exp.Literal.number(divisor))
        statement = compile_sql(exp.select(sql.decimal(quotient, 0).as_("q")), server.dialect)
        [row] = (await server.run(statement, {})).to_pylist()
        assert int(row["q"]) == (1 if number > 0 else -1) * (abs(number) // divisor)
