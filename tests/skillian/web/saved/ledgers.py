"""Two small tables that a test can change, and a service over them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from skillian.api.service import Service
from skillian.app import open_service
from skillian.data.declare.saved import SavedComparison
from skillian.settings import Settings

_SOURCES = """
connections: {here: "files://."}
sources:
  plan:
    connection: here
    table: plan.csv
    dimensions: {id: {column: id}, town: {column: town}}
    measures: {amount: {column: amount, aggregation: sum, unit: EUR}}
  actual:
    connection: here
    table: actual.csv
    dimensions: {id: {column: id}, town: {column: town}}
    measures: {amount: {column: amount, aggregation: sum, unit: EUR}}
"""
OF_MEASURES: dict[str, Any] = {"measures": ["amount"], "align_on": ["id"]}
OF_ROWS: dict[str, Any] = {"key": ["id"]}


def write(folder: Path, actual: str = "1,10,Ulm\n2,21,Bonn\n") -> Path:
    """Write the tables; returns their `sources.yaml`."""
    plan = "1,10,Ulm\n2,20,Kiel\n"
    for name, lines in (("plan", plan), ("actual", actual)):
        (folder / f"{name}.csv").write_text(f"id,amount,town\n{lines}", encoding="utf-8")
    (folder / "sources.yaml").write_text(_SOURCES, encoding="utf-8")
    return folder / "sources.yaml"


@asynccontextmanager
async def ledgers(folder: Path) -> AsyncGenerator[Service]:
    """A service over the tables."""
    url = SecretStr(f"sqlite:///{folder / 'sessions.db'}")
    settings = Settings(sources=write(folder), database_url=url, uploads=folder / "uploads")
    async with open_service(settings) as service:
        yield service


def question(**asked: Any) -> SavedComparison:
    """What is compared."""
    return SavedComparison.model_validate({"name": "x", "a": "plan", "b": "actual", **asked})


async def save(service: Service, name: str = "Close", owner: str = "", **asked: Any) -> str:
    """Compare, and save the result; returns the id of the saved comparison."""
    result = await service.comparisons.compare(question(**asked), owner)
    return (await service.saved.save_result(owner, name, result["cache_key"])).id


async def run(service: Service, saved: str, owner: str = "") -> None:
    """Run a saved comparison to its end."""
    await ended(service, owner, await service.saved.start(owner, saved))


async def ended(service: Service, owner: str, started: dict[str, Any]) -> None:
    """Wait for the end of a run."""
    while started["state"] in {"queued", "running"}:
        await asyncio.sleep(0.02)
        started = await service.runs.get(owner, started["id"])
