"""What a database holds is kept for a minute, unless its connector keeps it itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.skillian.data.conftest import two_sources
from tests.support.asking import measures_asked

from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.errors import QueryError

SOURCES = two_sources(
    "k: {column: k}",
    "v: {column: v, aggregation: sum}",
    tables=("connection: c, table: a.csv", "connection: c, table: b.csv"),
    connections="c: 'files:///.'",
)


async def test_a_column_whose_type_has_changed_is_not_compared_as_it_was(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("k,v\n1,1.50\n")
    path = tmp_path / "sources.yaml"
    path.write_text(SOURCES)
    question = measures_asked("a", "b", ["v"], ["k"])
    async with DataServices(SourceRegistry.load(path)) as services:
        assert (await services.comparison.compare(question)).summary.classes.match == 1
        (tmp_path / "b.csv").write_text("k,v\n001,1.50\n")
        with pytest.raises(QueryError, match="declare the same `type`"):
            await services.comparison.compare(question)
