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
