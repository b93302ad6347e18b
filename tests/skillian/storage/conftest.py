"""Both databases: each test that asks for `url` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from skillian.storage import SessionStore, open_store


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'sessions.db'}"
    database: str = request.getfixturevalue("postgres_database").url
    return database


@pytest.fixture
async def store(url: str) -> AsyncGenerator[SessionStore]:
    async with open_store(url) as opened:
        yield opened


@pytest.fixture
async def other(url: str, store: SessionStore) -> AsyncGenerator[SessionStore]:
    """As another process would see the same database."""
    async with open_store(url) as opened:
        yield opened
