from __future__ import annotations

import pytest
from tests.skillian.web.views import viewed

from skillian.api.problems import ProblemError
from skillian.api.service import Service
from skillian.errors import QueryError
from skillian.web.faults import telling


async def test_what_cannot_be_done_is_told_and_the_rest_left_out(service: Service) -> None:
    free = service.slots.free

    async def view() -> None:
        for fault in (QueryError("the statement failed"), ProblemError(404, "x", "not there")):
            with telling(), service.slots.taken():
                assert service.slots.free == free - 1
                raise fault

    async with viewed(view) as user:
        assert user.notify.messages == ["the statement failed", "not there"]
    assert service.slots.free == free


async def test_a_server_that_has_enough_to_do_says_so(service: Service) -> None:
    async def view() -> None:
        free, service.slots.free = service.slots.free, 0
        with telling(), service.slots.taken():
            pytest.fail("was done all the same")
        service.slots.free = free

    async with viewed(view) as user:
        assert "try again" in user.notify.messages[0]
