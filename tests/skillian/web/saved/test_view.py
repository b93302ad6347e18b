"""Saved comparisons on the page, whose results are stored for a time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import SecretStr
from tests.skillian.web.views import sees, viewed
from tests.skillian.web.visits import visit

from skillian.app import open_service
from skillian.data.declare.saved import SavedComparison
from skillian.settings import Settings
from skillian.web.saved.view import SavedView


def storing(demo: Path, folder: Path, seconds: int) -> Path:
    """The sources of the demo, whose results are stored for so long."""
    declared = demo.read_text(encoding="utf-8").replace("duckdb:///", f"duckdb:///{demo.parent}/")
    time = f"cache_ttl_seconds: {seconds}"
    sources = folder / "sources.yaml"
    sources.write_text(declared.replace("cache_ttl_seconds: 3600", time), encoding="utf-8")
    return sources


@pytest.mark.parametrize("seconds", [0, 3600])
async def test_the_last_result_is_offered_as_long_as_it_is_stored(
    demo: Path, tmp_path: Path, seconds: int
) -> None:
    sources = storing(demo, tmp_path, seconds)
    url = SecretStr(f"sqlite:///{tmp_path / 'sessions.db'}")
    question = SavedComparison(
        name="close", a="fi_reporting", b="bpc_reporting", measures=("amount",)
    )
    async with open_service(Settings(sources=sources, database_url=url)) as service:
        saved = await service.saved.save("", "Close", question)
        run = await service.saved.start("", saved.id)
        while run["state"] in {"queued", "running"}:
            await asyncio.sleep(0.05)
            run = await service.runs.get("", run["id"])
        async with viewed(SavedView(visit(service), saved.id).build) as user:
            await sees(user, "Run again")
            await sees(user, "Open the last result" if seconds else "is no longer stored")
