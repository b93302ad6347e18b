"""What the attacks stand on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.tinyagent.execution.attacks.canaries import Canaries
from tests.tinyagent.execution.attacks.running import PlainPython


@pytest.fixture(scope="session")
def all_canaries() -> Iterator[Canaries]:
    """Set before any sandbox starts: what it starts with must not be seen in it."""
    canaries = Canaries()
    yield canaries
    canaries.close()


@pytest.fixture
def canaries(all_canaries: Canaries) -> Canaries:
    """Unharmed."""
    all_canaries.restore()
    return all_canaries


@pytest.fixture(scope="session")
def plain_python(all_canaries: Canaries) -> Iterator[PlainPython]:
    """Where attacks are shown to be attacks."""
    plain = PlainPython(all_canaries)
    yield plain
    plain.close()


@pytest.fixture(scope="session")
def plain_with_libraries(all_canaries: Canaries) -> Iterator[PlainPython]:
    """The same for those that use data libraries: it has loaded them, and so forks slowly."""
    names = ("pandas", "pyarrow.csv", "pyarrow.fs", "matplotlib.pyplot")
    plain = PlainPython(all_canaries, names)
    yield plain
    plain.close()
