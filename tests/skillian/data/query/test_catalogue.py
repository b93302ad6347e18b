from __future__ import annotations

import pytest
from tests.skillian.data.conftest import MakeServices

from skillian.data.services import DataServices
from skillian.errors import SourceNotFoundError

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


async def test_a_sample_holds_rows_as_the_table_has_them(services: DataServices) -> None:
    sample = await services.catalogue.sample("full", 3)
    assert sample.types == ("VARCHAR", "DATE", "BIGINT")
    assert (sample.rows.columns, sample.rows.row_count) == (("g", "d", "n"), 3)
    assert sample.rows.truncated
    assert not (await services.catalogue.sample("empty", 3)).rows.rows
    with pytest.raises(SourceNotFoundError):
        await services.catalogue.sample("ful", 3)
