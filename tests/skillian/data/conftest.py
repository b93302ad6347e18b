from collections.abc import AsyncIterator, Callable
from pathlib import Path

import duckdb
import pytest

from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices

MakeServices = Callable[[str, str], DataServices]


@pytest.fixture
async def make_services(tmp_path: Path) -> AsyncIterator[MakeServices]:
    """Write a database (by SQL) and a sources.yaml into a folder of their own, and open them."""
    opened: list[DataServices] = []

    def make(script: str, sources: str) -> DataServices:
        folder = tmp_path / str(len(opened))
        folder.mkdir()
        with duckdb.connect(folder / "test.duckdb") as connection:
            connection.execute(script)
        path = folder / "sources.yaml"
        path.write_text(sources, encoding="utf-8")
        opened.append(DataServices(SourceRegistry.load(path)))
        return opened[-1]

    yield make
    for services in opened:
        await services.aclose()


def two_sources(
    dimensions: str,
    measures: str,
    align_on: str = "",
    *,
    tables: tuple[str, str] = ("connection: c, table: a", "connection: c, table: b"),
    measures_b: str | None = None,
    connections: str = "c: 'duckdb:///test.duckdb'",
) -> str:
    """A sources.yaml with sources a and b, over tables a and b of `make_services` by default."""
    sources = "".join(
        f"  {name}: {{{table}, dimensions: {{{dimensions}}}, measures: {{{measured}}}}}\n"
        for name, table, measured in zip(
            "ab", tables, (measures, measures_b or measures), strict=True
        )
    )
    aligned = f"comparison: {{default_align_on: [{align_on}]}}\n"
    return f"connections: {{{connections}}}\nsources:\n{sources}{aligned}"
