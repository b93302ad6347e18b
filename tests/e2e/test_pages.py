"""README.md and docs/: who pastes the blocks of a page, one after the other, sees what it says.

Pages whose blocks are all Python are left to tests/house/test_snippets.py, which starts no process
for them. `make newcomer` runs all pages, each in a fresh environment (READER_BIN).
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.support.pages import PAGES, SHELL, Block, blocks_of, name_of
from tests.support.ports import own_port
from tests.support.postgres import SUPERUSER, Database, Server, running_postgres
from tests.support.reader import programs, reading

IS_FRESH = "READER_BIN" in os.environ
DATABASE = re.compile(r"postgresql://(\w+)@db\.example/(\w+)")


def _run(page: Path) -> list[Block]:
    """The blocks of a page that are of use here; none if nothing of it is run."""
    blocks = [each for each in blocks_of(page) if IS_FRESH or "fresh" not in each.marks]
    kinds = {each.kind for each in blocks if each.is_run}
    needed = kinds if IS_FRESH else kinds & SHELL
    return blocks if needed else []


def _parameters() -> Generator[object]:
    for page in PAGES:
        if blocks := _run(page):
            other = any("environment" in each.marks for each in blocks)
            yield pytest.param(page, id=name_of(page), marks=[pytest.mark.peers] if other else [])


@pytest.fixture(scope="session")
def open_server() -> Generator[Server]:
    """A PostgreSQL at a TCP port of this machine, which lets everybody in."""
    with running_postgres(listen_addresses="127.0.0.1", port=str(own_port())) as server:
        with (server.folder / "data" / "pg_hba.conf").open("a") as access:
            access.write("host all all 127.0.0.1/32 trust\n")
        Database(server, SUPERUSER).value("SELECT pg_reload_conf()")
        yield server


@pytest.fixture
def postgres(page: Path, request: pytest.FixtureRequest) -> Generator[dict[str, str]]:
    """The variables with which clients find the databases of the page, each empty."""
    named = set(DATABASE.findall(page.read_text(encoding="utf-8")))
    if not named:
        yield {}
        return
    server: Server = request.getfixturevalue("open_server")
    for user, name in named:
        Database(server, SUPERUSER).execute(f"CREATE ROLE {user} LOGIN")
        Database(server, SUPERUSER).execute(f"CREATE DATABASE {name} OWNER {user}")
    yield {
        "PGHOSTADDR": "127.0.0.1",
        "PGPORT": server.settings["port"],
        "PROGRAMS": str(server.programs),
    }
    for user, name in named:
        Database(server, SUPERUSER).execute(f"DROP DATABASE {name} WITH (FORCE)")
        Database(server, SUPERUSER).execute(f"DROP ROLE {user}")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", list(_parameters()))
async def test_who_pastes_the_blocks_of_a_page_sees_what_it_says(
    page: Path, postgres: dict[str, str], tmp_path: Path
) -> None:
    folder, private = tmp_path / "folder", tmp_path / "private"
    folder.mkdir()
    private.mkdir()
    blocks = _run(page)
    async with reading(folder, private, programs(), blocks, postgres) as reader:
        for block in blocks:
            await reader.follow(block)
