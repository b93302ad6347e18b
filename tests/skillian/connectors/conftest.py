"""Each database of the contract, and a connector to it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.skillian.connectors.databases import ALL_SERVERS, LOCAL, Opened


@pytest.fixture(params=[*LOCAL, *ALL_SERVERS])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    found: Opened = request.param(request, tmp_path)
    return found


@pytest.fixture
async def connector(opened: Opened) -> AsyncIterator[Any]:
    made = opened.make(60)
    yield made
    await made.aclose()
