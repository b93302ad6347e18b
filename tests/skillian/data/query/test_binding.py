"""What a database holds is kept for a minute, unless its connector keeps it itself."""

from pathlib import Path

import pytest
from tests.support.asking import measures_asked

from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.errors import QueryError

SOURCES = """
connections: {files: "files:///."}
sources:
  a:
    connection: files
    table: a.csv
    dimensions: {k: {column: k}}
    measures: {v: {column: v, aggregation: sum}}
  b:
    connection: files
    table: b.csv
    dimensions: {k: {column: k}}
    measures: {v: {column: v, aggregation: sum}}
"""


async def test_a_column_whose_type_has_changed_is_not_compared_as_it_was(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("k,v\n1,1.50\n")
    path = tmp_path / "sources.yaml"
    path.write_text(SOURCES)
    async with DataServices(SourceRegistry.load(path)) as services:
        same = await services.comparison.compare(measures_asked("a", "b", ["v"], ["k"]))
        assert same.summary.classes.match == 1
        (tmp_path / "b.csv").write_text("k,v\n001,1.50\n")
        with pytest.raises(QueryError, match="declare the same `type`"):
            await services.comparison.compare(measures_asked("a", "b", ["v"], ["k"]))
