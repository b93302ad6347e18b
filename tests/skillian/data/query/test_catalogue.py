from __future__ import annotations

from pathlib import Path

import pytest
from tests.skillian.data.conftest import MakeServices, two_sources
from tests.support.asking import measures_asked

from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.errors import QueryError, SourceNotFoundError

SCRIPT = """
CREATE TABLE t AS SELECT
    CASE WHEN range % 3 = 0 THEN NULL ELSE 'g' || range % 3 END AS g,
    DATE '2024-01-01' + CAST(range AS INTEGER) AS d, range AS n
FROM range(60);
CREATE TABLE empty (g VARCHAR, n INTEGER);
"""
SOURCES = """
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
def services(make_services: MakeServices) -> DataServices:
    return make_services(SCRIPT, SOURCES)


async def test_every_source_describes_its_names(services: DataServices) -> None:
    full, empty = await services.catalogue.sources()
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


@pytest.mark.parametrize("freshness", ["    freshness: day\n", ""])
async def test_a_date_outside_the_years_of_python_is_reported_with_the_fix(
    make_services: MakeServices, freshness: str
) -> None:
    script = "CREATE TABLE t AS SELECT 'x' AS g, DATE 'infinity' AS d, 1 AS n; CREATE TABLE empty"
    sources = SOURCES.replace("    freshness: day\n", freshness)
    services = make_services(f"{script} (g VARCHAR, n INTEGER)", sources)
    with pytest.raises(QueryError, match="outside the years 1 to 9999; declare `type: text`"):
        await services.catalogue.source("full")


async def test_a_sample_holds_rows_as_the_table_has_them(services: DataServices) -> None:
    sample = await services.catalogue.sample("full", 3)
    assert sample.types == ("VARCHAR", "DATE", "BIGINT")
    assert (sample.rows.columns, sample.rows.row_count) == (("g", "d", "n"), 3)
    assert sample.rows.truncated
    assert not (await services.catalogue.sample("empty", 3)).rows.rows
    with pytest.raises(SourceNotFoundError):
        await services.catalogue.sample("ful", 3)


FILES = two_sources(
    "k: {column: k}",
    "v: {column: v, aggregation: sum}",
    tables=("connection: c, table: a.csv", "connection: c, table: b.csv"),
    connections="c: 'files:///.'",
)


async def test_a_column_whose_type_has_changed_is_not_compared_as_it_was(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("k,v\n1,1.50\n")
    path = tmp_path / "sources.yaml"
    path.write_text(FILES)
    question = measures_asked("a", "b", ["v"], ["k"])
    async with DataServices(SourceRegistry.load(path)) as services:
        assert (await services.comparison.compare(question)).summary.classes.match == 1
        (tmp_path / "b.csv").write_text("k,v\n001,1.50\n")
        with pytest.raises(QueryError, match="declare the same `type`"):
            await services.comparison.compare(question)
