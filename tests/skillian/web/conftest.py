"""Services in this process: over the demo's sources, and over names that look like code."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from pathlib import Path

import duckdb
import pytest
from pydantic import SecretStr
from tests.support.customers import write_customers

from skillian.api.service import Service
from skillian.app import open_service
from skillian.demo.ledger import write_demo
from skillian.settings import Settings

HOSTILE_SOURCES = """
connections: {main: duckdb:///hostile.duckdb}
sources:
  ":a<img src=x onerror=alert(1)>":
    connection: main
    table: ta
    description: "{{ 7 * 7 }} <script>alert(1)</script>"
    dimensions: {":key": {column: ":key"}, "a.b": {column: "a.b"}}
    measures: {":sum": {column: v, aggregation: sum, unit: "<b>"}}
  ":b":
    connection: main
    table: tb
    dimensions: {":key": {column: ":key"}, "a.b": {column: "a.b"}}
    measures: {":sum": {column: v, aggregation: sum}}
comparison: {default_align_on: [":key", "a.b"]}
"""


@pytest.fixture(autouse=True)
def _old_objects_are_not_collected() -> None:
    """Exclude what is there already: the simulated page collects several times, 0.1 s each."""
    gc.freeze()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `sources.yaml` of the demo."""
    return write_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture
async def service(demo: Path, tmp_path: Path) -> AsyncIterator[Service]:
    """A service over the sources of the demo."""
    async with open_service(_settings(demo, tmp_path)) as opened:
        yield opened


@pytest.fixture
async def customers(tmp_path: Path) -> AsyncIterator[Service]:
    """A service over two tables whose rows differ."""
    async with open_service(_settings(write_customers(tmp_path), tmp_path)) as opened:
        yield opened


@pytest.fixture
async def hostile(tmp_path: Path) -> AsyncIterator[Service]:
    """A service whose names NiceGUI would run as keys, and whose values look like markup."""
    with duckdb.connect(tmp_path / "hostile.duckdb") as connection:
        for table, amount in (("ta", "123456789012345678.12"), ("tb", "-1.00")):
            columns = '":key" VARCHAR, "a.b" VARCHAR, v DECIMAL(38, 2)'
            connection.execute(f"CREATE TABLE {table} ({columns})")
            rows = [("<script>alert(1)</script>", ":x", amount), (None, "{{ 1 }}", amount)]
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)  # noqa: S608
    (tmp_path / "sources.yaml").write_text(HOSTILE_SOURCES, encoding="utf-8")
    async with open_service(_settings(tmp_path / "sources.yaml", tmp_path)) as opened:
        yield opened


def _settings(sources: Path, folder: Path) -> Settings:
    url = SecretStr(f"sqlite:///{folder / 'sessions.db'}")
    return Settings(sources=sources, database_url=url)
