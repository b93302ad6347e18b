from __future__ import annotations

import os

import pytest


@pytest.mark.xdist_group("house")
def test_tests_of_a_group_share_a_worker(request: pytest.FixtureRequest) -> None:
    """pytest-xdist 3.8 writes the group into the id of a test; pytest 9.2 does not read it there.

    `constraints.txt` has a pytest that does. Without, two browsers or two models compute at once.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        assert request.node.nodeid.endswith("@house")
