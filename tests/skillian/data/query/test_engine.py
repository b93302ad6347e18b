from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.data.conftest import MakeServices

from skillian.data.services import DataServices
from skillian.errors import InvalidInputError, QueryError, SourceNotFoundError, UnknownNameError

SCRIPT = """
CREATE TABLE "we ""ird"" table" ("select" VARCHAR, "Größe" INTEGER, "a""b" DECIMAL(17, 2));
INSERT INTO "we ""ird"" table" VALUES
    ('1001', 1, 0.10), ('1001', 2, 0.20), ('o''neil', 2, NULL), (NULL, 3, -5.00);
"""
SOURCES = """
connections: {db: 'duckdb:///test.duckdb'}
sources:
  weird:
    connection: db
    table: 'we "ird" table'
    dimensions: {group: {column: select}, size: {column: größe}}
    measures:
      order by: {column: 'a"b', aggregation: sum}
      rows: {column: size_, aggregation: count}
      lines: {column: 'a"b', aggregation: count}
      bad: {expression: 'amout * 2', aggregation: sum}
      name: {column: select, aggregation: max}
  absent: {connection: db, table: weird table, dimensions: {day: {column: d}}, measures: {}}
  absent_in_query:
    connection: db
    query: SELECT * FROM information_schema.tables
    dimensions: {day: {column: d}}
    measures: {}
  absent_in_with:
    connection: db
    query: WITH duckdb_tables AS (SELECT * FROM duckdb_tables) SELECT * FROM duckdb_tables
    dimensions: {day: {column: d}}
    measures: {}
"""


@pytest.fixture
def services(make_services: MakeServices) -> DataServices:
    return make_services(SCRIPT, SOURCES)


async def test_the_limit_cuts_and_reports_it(services: DataServices) -> None:
    result = await services.query.query("weird", ["size"], ["lines"], order=["-size"], limit=2)
    assert result.rows == ((3, Decimal(1)), (2, Decimal(1)))
    assert (result.truncated, result.row_count) == (True, 2)
    assert not (await services.query.query("weird", ["size"], limit=3)).truncated
    assert not result.tied
    result = await services.query.query("weird", ["size"], ["lines"], order=["-lines"], limit=2)
    assert result.tied


async def test_a_filter_is_bound_and_in_the_proof(services: DataServices) -> None:
    result = await services.query.query("weird", ["size"], ["lines"], {"group": "1001"})
    filters = [{"dimension": "group", "operator": "in", "values": ["1001"]}]
    proof = {"parameters": {"p0": "1001"}, "filters": filters, "rows": [[1, "1"], [2, "1"]]}
    assert result.to_dict() == result.to_dict() | proof
    assert "1001" not in result.sql


# What is declared or asked wrongly, and what is said of it.
REFUSED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("weird", {"measures": ["rows"]}, "there is no column 'size_'; nearest: "),
    ("weird", {"measures": ["bad"]}, "there is no column 'amout'"),
    ("weird", {"measures": ["name"]}, "VARCHAR, which is not a number"),
    ("absent", {"dimensions": ["day"]}, "there is no table .* nearest: "),
    ("absent_in_query", {"dimensions": ["day"]}, "there is no table .* nearest: "),
    ("absent_in_with", {"dimensions": ["day"]}, "there is no table 'duckdb_tables'"),
    ("weird", {}, "name dimensions or measures of weird; dimensions: group, size; measures: "),
    ("weird", {"dimensions": ["size"], "limit": 0}, "limit must be from 1 to 1000, not 0"),
    ("weird", {"dimensions": ["size"], "filters": {"size": "abc"}}, "whole number, not 'abc'"),
    ("weird", {"dimensions": ["size"], "filters": {"lines": 1}}, "is a measure of weird"),
)


async def test_what_cannot_be_answered_says_why(services: DataServices) -> None:
    for source, asked, message in REFUSED:
        with pytest.raises((QueryError, InvalidInputError), match=message):
            await services.query.query(source, **asked)


async def test_unknown_names_tell_the_nearest(services: DataServices) -> None:
    with pytest.raises(SourceNotFoundError) as source:
        await services.query.query("wierd", ["group"])
    assert source.value.available_sources[0] == "weird"
    for asked in ({"dimensions": ["sise"]}, {"dimensions": ["size"], "filters": {"sise": 1}}):
        with pytest.raises(UnknownNameError) as dimension:
            await services.query.query("weird", **asked)
        assert dimension.value.to_dict()["available_dimensions"] == ["size", "group"]
    with pytest.raises(UnknownNameError) as measure:
        await services.query.query("weird", measures=["lnies"])
    assert measure.value.available[0] == "lines"
    with pytest.raises(UnknownNameError, match="no column 'group' in the result"):
        await services.query.query("weird", ["size"], order=["-group"])


ROWS = """
CREATE TABLE t AS SELECT
    CASE WHEN range % 3 = 0 THEN NULL ELSE 'g' || range % 3 END AS g,
    DATE '2024-01-01' + CAST(range AS INTEGER) AS d, range AS n
FROM range(60);
CREATE TABLE empty (g VARCHAR, n INTEGER);
"""
DESCRIBED = """
connections: {db: 'duckdb:///test.duckdb'}
sources:
  full:
    connection: db
    table: t
    description: Some rows.
    freshness: day
    dimensions:
      group: {column: g, normalise: [upper], synonyms: [family], description: Of things}
      day: {column: d}
    measures: {n: {column: n, aggregation: sum, unit: pieces, synonyms: [number]}}
  empty:
    connection: db
    table: empty
    dimensions: {group: {column: g}}
    measures: {n: {column: n, aggregation: max}}
"""


@pytest.fixture
def described(make_services: MakeServices) -> DataServices:
    return make_services(ROWS, DESCRIBED)


async def test_every_source_describes_its_names(described: DataServices) -> None:
    full, empty = await described.catalogue.sources()
    group = {"type": "text", "description": "Of things", "synonyms": ["family"]}
    day: dict[str, object] = {"type": "date", "description": "", "synonyms": [], "values": None}
    n = {"aggregation": "sum", "unit": "pieces", "description": "", "synonyms": ["number"]}
    assert full.to_dict() == {
        "name": "full",
        "description": "Some rows.",
        "dimensions": {"group": group | {"values": ["G1", "G2", None]}, "day": day},
        "measures": {"n": n},
        "row_count": 60,
        "freshness": "2024-02-29",
    }
    assert (empty.row_count, empty.freshness, empty.dimensions["group"].values) == (0, None, ())


async def test_a_sample_holds_rows_as_the_table_has_them(described: DataServices) -> None:
    sample = await described.catalogue.sample("full", 3)
    assert sample.types == ("VARCHAR", "DATE", "BIGINT")
    assert (sample.rows.columns, sample.rows.row_count) == (("g", "d", "n"), 3)
    assert sample.rows.truncated
    assert not (await described.catalogue.sample("empty", 3)).rows.rows
    with pytest.raises(SourceNotFoundError):
        await described.catalogue.sample("ful", 3)
