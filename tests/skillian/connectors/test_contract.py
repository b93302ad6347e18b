"""What every connector keeps: one SELECT, within bounds, stopped wherever it runs."""

import asyncio
from contextlib import aclosing
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.skillian.connectors.databases import (
    NEVER,
    NUMBERS,
    Opened,
    drained,
    in_duckdb,
    in_sqlite,
)
from tests.support.waits import cancelled

from skillian.connectors import base
from skillian.errors import QueryError

# A value in the middle of the rows that cannot be read.
LATE = {
    "duckdb": "SELECT CAST(CASE WHEN range = {0} THEN 'x' ELSE '1' END AS INT) AS n"
    " FROM range({0} + 9999)",
    "postgres": "SELECT CAST(CASE WHEN n = {0} THEN 'x' ELSE '1' END AS int) AS n"
    " FROM generate_series(1, {0} + 9999) AS n",
    "mysql": "SELECT CAST(CASE WHEN seq = {0} THEN 'x' ELSE '1' END AS SIGNED) AS n"
    " FROM seq_1_to_{0}",
    "clickhouse": 'SELECT throwIf("number" = {0}) AS n FROM "system"."numbers" LIMIT 400000',
}
MANY_ROWS = 10**9
# What a database refuses besides: files, calls, and comments that it would run.
FORBIDDEN = {
    "mysql": (
        "SELECT 1 INTO OUTFILE '/tmp/x'", "SELECT 1 /*! INTO OUTFILE '/tmp/x' */",
        "SELECT 1 /*M! INTO OUTFILE '/tmp/x' */", "SELECT 1 --1 INTO OUTFILE '/tmp/x'",
        "SELECT 1 # x", "SELECT load_file('/etc/passwd')", "SET GLOBAL max_connections = 1",
        "SHOW TABLES",
    ),
    "clickhouse": (
        "SELECT 1 INTO OUTFILE 'written.csv'", "SELECT 1 FORMAT CSV",
        "SELECT * FROM file('/etc/passwd', 'LineAsString')",
        "SELECT * FROM url('http://127.0.0.1:9/', 'CSV', 'a String')",
        "SELECT file('/etc/passwd')", "SELECT FILE('/etc/passwd')",
        "SELECT * FROM executable('x', 'CSV', 'a Int8')", "SYSTEM SHUTDOWN", "SET readonly = 0",
    ),
}  # fmt: skip
# What no SELECT of a database in this process reads.
UNREADABLE = ("read_csv('/etc/passwd')", "'/etc/passwd'", "read_text('/etc/passwd')", "opened")
GIVEN: dict[str, object] = {
    "p0": "O'Hara \\ \" %s %(p1)s :p1 $p1 {p1: } -- ; \n\t\r \ufeffß😀",
    "p1": Decimal("-99999999999999999999.99"),
    "p2": 2**63,
    "p3": date(1950, 1, 31),
    "p4": datetime(2024, 1, 31, 10, 0, 0, 1),  # noqa: DTZ001
    "p5": datetime(2024, 1, 31, 12, tzinfo=timezone(timedelta(hours=2))),
    "p6": True,
    "p7": None,
    "p8": "",
}
# How a statement names a value, and a literal that looks like one, with what it means.
MARKS = {
    "duckdb": ("${}", "'$p0 %'", "$p0 %"),
    "postgres": ("%({})s", "E'\\'%(p0)s'", "'%(p0)s"),
    "mysql": (":{}", "':p0 %'", ":p0 %"),
    "clickhouse": ("{{{}: }}", "'{p0: } \\''", "{p0: } '"),
}


async def works(connector: Any) -> None:
    assert (await connector.run("SELECT 1 AS x", {})).to_pylist() == [{"x": 1}]


async def test_nothing_but_a_single_select_runs(opened: Opened, connector: Any) -> None:
    dialect = opened.dialect
    only = "only a single SELECT of tables" if dialect == "clickhouse" else "only a single SELECT"
    everywhere = ("DROP TABLE t", "SELECT 1; SELECT 2", "SET x = 1", "COMMIT", "CALL x()", "")
    for statement in (*everywhere, *FORBIDDEN.get(dialect, ())):
        for call in (connector.run(statement, {}), drained(connector.stream(statement, {}))):
            with pytest.raises(QueryError, match=only):
                await call
        with pytest.raises(QueryError):
            await connector.describe(statement)
    for each in ("'", *(f"* FROM {each}" for each in UNREADABLE)):
        with pytest.raises(QueryError):
            await connector.run(f"SELECT {each}", {})
    await works(connector)


async def test_parameters_are_values_whatever_they_hold(opened: Opened, connector: Any) -> None:
    mark, literal, text = MARKS[opened.dialect]
    given, expected = GIVEN | {"p0": f"{GIVEN['p0']}\0"}, {}
    columns = {name: mark.format(name) for name in given}
    if opened.dialect == "postgres":  # which has no NUL in texts, and no scale of a parameter
        given = GIVEN
        columns |= {"p1": "CAST(%(p1)s AS numeric(38, 2))", "p2": "CAST(%(p2)s AS numeric(38, 0))"}
    elif opened.dialect == "mysql":  # which has no zones
        expected = {"p5": datetime(2024, 1, 31, 10)}  # noqa: DTZ001
    listed = ", ".join(f"{value} AS {name}" for name, value in columns.items())
    [row] = (await connector.run(f"SELECT {listed}, {literal} AS x", given)).to_pylist()
    assert row == given | {"x": text, **expected}


async def test_an_error_names_the_connection_in_one_line_and_not_its_place(
    opened: Opened, connector: Any
) -> None:
    with pytest.raises(QueryError, match=r"connection 'x': .*(nothing_like_it|missing)") as refused:
        await connector.run("SELECT nothing_like_it FROM missing", {})
    assert refused.value.__cause__ is None
    hidden = (opened.place, "\n", "In scope", "version")
    assert not [each for each in hidden if each in str(refused.value)]


def spoil(path: Path, content: str | None) -> None:
    path.unlink()
    if content is not None:
        path.write_text(content)


@pytest.mark.parametrize(
    "content", [None, "this is not a database, whatever its name says " * 1000]
)
@pytest.mark.parametrize("opened", [in_duckdb, in_sqlite], indirect=True)
async def test_a_file_that_is_gone_or_damaged_is_an_error_without_its_path(
    opened: Opened, connector: Any, content: str | None
) -> None:
    path = Path(opened.url.partition("///")[2])
    spoil(path, content)
    with pytest.raises(QueryError, match="'x'") as refused:
        await connector.run("SELECT a FROM t", {})
    assert opened.place not in str(refused.value)
    assert refused.value.__cause__ is None
    assert path.exists() is (content is not None)  # noqa: ASYNC240 - takes no time


async def test_describe_returns_types_without_running(opened: Opened, connector: Any) -> None:
    async with asyncio.timeout(30):
        [kind] = (await connector.describe(NEVER[opened.dialect])).values()
    assert kind.kind == ("other" if opened.dialect == "postgres" else "integer")


async def test_a_query_whose_columns_share_a_name_is_refused(
    opened: Opened, connector: Any
) -> None:
    wide = await connector.describe("SELECT 1 AS v, 2 AS w")
    assert [*wide] == ["v", "w"]
    with pytest.raises(QueryError, match=r"Duplicate column name|columns named 'v'|alias v"):
        await connector.describe("SELECT 1 AS v, 2 AS v")
    if opened.dialect == "duckdb":  # whose names do not differ by their case
        with pytest.raises(QueryError, match="two columns named 'V'"):
            await connector.describe("SELECT 1 AS v, 2 AS V")


async def test_a_result_has_a_budget_and_a_stream_has_batches(
    opened: Opened, connector: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "ROW_BUDGET", 10)
    numbers = NUMBERS[opened.dialect]
    assert (await connector.run(numbers.format(10), {})).num_rows == 10
    for count in (11, 10**6):
        with pytest.raises(QueryError, match="larger than 10 rows"):
            await connector.run(numbers.format(count), {})
    await opened.stopped()
    sizes = [batch.num_rows async for batch in connector.stream(numbers.format(200_000), {})]
    assert (sum(sizes), max(sizes) <= 65_536) == (200_000, True)
    monkeypatch.setattr(base, "BYTE_BUDGET", 1000)
    with pytest.raises(QueryError, match="narrow it with filters"):
        await connector.run("SELECT repeat('x', 2000) AS x", {})


async def test_an_error_after_rows_is_an_error(opened: Opened, connector: Any) -> None:
    with pytest.raises(QueryError, match=r"'x'|\"x\"|non-zero"):
        await drained(connector.stream(LATE[opened.dialect].format(300_000), {}))
    with pytest.raises(QueryError, match=r"'x'|\"x\"|non-zero"):
        await connector.run(LATE[opened.dialect].format(50_000), {})
    await works(connector)


async def test_cancelling_stops_one_statement_and_no_other(opened: Opened, connector: Any) -> None:
    never = NEVER[opened.dialect]
    for start in (connector.run(never, {}), drained(connector.stream(never, {}))):
        task = asyncio.ensure_future(start)
        await opened.begun(task)
        others = [asyncio.create_task(works(connector)) for _ in range(20)]
        await cancelled(task)
        await asyncio.gather(*others)
        await opened.stopped()


async def test_a_statement_that_takes_too_long_is_stopped(opened: Opened) -> None:
    connector = opened.make(0.3)
    with pytest.raises(QueryError, match=r"longer than 0\.3 s"):
        await connector.run(NEVER[opened.dialect], {})
    await opened.stopped()
    await connector.aclose()


async def test_closing_stops_what_runs_and_may_be_done_twice(
    opened: Opened, connector: Any
) -> None:
    many = NUMBERS[opened.dialect].format(MANY_ROWS)
    async with aclosing(connector.stream(many, {})) as batches:  # which may be left
        assert (await anext(batches)).num_rows
    await opened.stopped()
    task = asyncio.create_task(connector.run(NEVER[opened.dialect], {}))
    await opened.begun(task)
    waiting = connector.stream(many, {})
    await anext(waiting)
    await connector.aclose()
    await connector.aclose()
    for left in (task, anext(waiting)):
        with pytest.raises(QueryError):
            await left
    await opened.stopped()
    await works(connector)
