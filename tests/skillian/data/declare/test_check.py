import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import duckdb
import pytest
from tests.support.asking import two_sources

from skillian.connectors.duckdb.connector import DuckDBConnector
from skillian.data.declare import check
from skillian.data.declare.check import check_sources
from skillian.data.declare.sources import SourceRegistry

TABLE = """
CREATE TABLE t (company VARCHAR, period VARCHAR, day VARCHAR, month VARCHAR, n INTEGER,
                amount DECIMAL(17,2), rate DOUBLE, text VARCHAR);
INSERT INTO t VALUES ('1001', '2024001', '2024-01-31', '202401', 1, 10.5, 0.5, '1.25'),
                     ('1002', '2024001', '2024-02-30', '202413', 2, 20, 0.25, 'n/a'),
                     ('A', NULL, 'soon', 'x', 3, NULL, 1, NULL),
                     ('A', NULL, NULL, NULL, 4, 5, 1, '7');
CREATE TABLE none (company VARCHAR, amount DECIMAL(9,2));
"""


async def findings(folder: Path, sources: str, align_on: str = "[]") -> list[tuple[str, str, bool]]:
    """Return (part, text, is_fault) of what is found about sources over `TABLE`."""
    path = folder / "sources.yaml"
    path.write_text(
        "connections: {c: 'duckdb:///a.duckdb'}\n"
        f"sources:\n{sources}\ncomparison: {{default_align_on: {align_on}}}\n"
    )
    registry = SourceRegistry.load(path)
    return [(found.part, found.text, found.is_fault) async for found in check_sources(registry)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with duckdb.connect(tmp_path / "a.duckdb") as database:
        database.execute(TABLE)
    return tmp_path


async def test_a_sound_source_is_reported_with_its_figures(folder: Path) -> None:
    source = (
        "  s: {connection: c, table: t, dimensions: {company: {column: company}, period: {column:"
        " period}}, measures: {amount: {column: amount, aggregation: sum}, lines: {column: n,"
        " aggregation: count}}}"
    )
    assert await findings(folder, source, "[company, period]") == [
        ("source", "4 rows", False),
        ("dimension company", "text", False),
        ("dimension period", "text; 2 of 4 rows have no value", False),
        ("measure amount", "sum 35.50", False),
        ("measure lines", "count 4", False),
        ("by company, period", "3 groups, up to 2 rows each", False),
    ]


async def test_values_that_cannot_be_converted_are_counted(folder: Path) -> None:
    source = (
        "  s: {connection: c, table: t, dimensions: {company: {column: company, type: integer},"
        " day: {column: day, type: date}, month: {column: month, type: date, format: '%Y%m'},"
        " mapped: {column: company, type: integer, values: {A: '7'}}}, measures:"
        " {typed: {expression: 'CAST(text AS DECIMAL(9,2))', aggregation: sum}}}"
    )
    unfit = "of 4 values cannot be converted, such as"
    assert (await findings(folder, source))[1:] == [
        ("dimension company", f"2 {unfit} 'A'", True),
        ("dimension day", f"2 {unfit} '2024-02-30'", True),
        ("dimension month", f"2 {unfit} '202413'", True),
        ("dimension mapped", "integer", False),
        ("measure typed", f"1 {unfit} 'n/a'", True),
    ]


async def test_a_connection_that_fails_is_a_fault_of_its_sources_alone(folder: Path) -> None:
    sources = two_sources(
        *("k: {column: k}", "m: {column: m, aggregation: sum}"),
        tables=("connection: a, table: t", "connection: b, table: t"),
        connections="a: 'duckdb:///gone.duckdb', b: 'sqlite:///b.db'",
    )
    path = folder / "sources.yaml"
    path.write_text(sources)
    with closing(sqlite3.connect(folder / "b.db")) as database, database:
        database.execute("CREATE TABLE t (k TEXT, m DECIMAL(9,2))")
        database.execute("INSERT INTO t VALUES (1, 0.125)")
    found = [finding async for finding in check_sources(SourceRegistry.load(path))]
    assert [(one.source, one.part, one.is_fault) for one in found] == [
        ("a", "source", True),
        ("b", "source", False),
        ("b", "dimension k", False),
        ("b", "measure m", True),
    ]
    assert "cannot be opened" in found[0].text
    assert "column 'm' holds 0.125, which is not exactly" in found[3].text


WIDE = (
    "  s: {connection: c, table: t, dimensions: {n: {column: n}, company: {column: company},"
    " period: {column: period}}, measures: {amount: {column: amount, aggregation: sum},"
    " highest: {column: amount, aggregation: max}, lines: {column: n, aggregation: count}}}"
)


async def test_one_statement_checks_all_columns_of_the_first_rows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spied = create_autospec(DuckDBConnector.plain_rows, side_effect=DuckDBConnector.plain_rows)
    monkeypatch.setattr(DuckDBConnector, "plain_rows", spied)
    monkeypatch.setattr(check, "MAX_ROWS", 3)
    found = {part: text for part, text, _ in await findings(folder, WIDE, "[n]")}
    assert found["source"] == "4 rows, of which 3 are checked below"
    assert found["measure lines"] == "count 3"
    assert found["by n"] == "3 groups, one row each"
    # The rows, the columns, the keys.
    assert ["LIMIT 3" in call.args[1] for call in spied.call_args_list] == [False, True, True]


async def test_a_source_that_takes_too_long_is_given_up_with_what_was_not_checked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_rows = DuckDBConnector.plain_rows
    stopped: list[str] = []

    async def stuck(self: DuckDBConnector, statement: str, parameters: Any) -> Any:
        rows = await plain_rows(self, statement, parameters)
        if "filled" in statement and "amount" in statement:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(statement)
        return rows

    monkeypatch.setattr(DuckDBConnector, "plain_rows", stuck)
    monkeypatch.setattr(check, "MAX_SECONDS", 3)
    after = (
        "  z: {connection: c, table: none, dimensions: {k: {column: company}},"
        " measures: {m: {column: company, aggregation: count}}}"
    )
    found = await findings(folder, f"{WIDE}\n{after}", "[n]")
    assert len(stopped) == 1
    assert found[0] == ("source", "4 rows", False)
    part, text, is_fault = found[1]
    assert (part, is_fault) == ("source", True)
    assert text.startswith("stopped after 3 s, with these not checked: dimension n, dimension")
    assert "measure lines, by n; declare" in text
    assert found[2] == ("source", "0 rows", False)
