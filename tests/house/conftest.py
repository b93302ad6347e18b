"""What documented snippets may ask for."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from tests.support.serving import serving

from skillian.demo.ledger import write_demo


@pytest.fixture(scope="session")
def skillian_url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Where a service over the demo's sources listens, without keys."""
    with serving(write_demo(tmp_path_factory.mktemp("served"))) as running:
        yield running.url
