from __future__ import annotations

import pytest
from tests.skillian.web.views import viewed

from skillian.api.problems import ProblemError
from skillian.api.service import Service
from skillian.errors import QueryError
from skillian.web.shell.activity import reporting_errors


async def test_an_error_in_the_block_is_shown_and_ends_the_block(service: Service) -> None:
    free = service.slots.free

    async def view() -> None:
        for error in (QueryError("the statement failed"), ProblemError(404, "x", "not found")):
            with reporting_errors(), service.slots.taken():
                assert service.slots.free == free - 1
                raise error

    async with viewed(view) as user:
        assert user.notify.messages == ["the statement failed", "not found"]
    assert service.slots.free == free


async def test_a_busy_server_is_reported(service: Service) -> None:
    async def view() -> None:
        free, service.slots.free = service.slots.free, 0
        with reporting_errors(), service.slots.taken():
            pytest.fail("the block ran")
        service.slots.free = free

    async with viewed(view) as user:
        assert "try again" in user.notify.messages[0]
