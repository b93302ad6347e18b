from __future__ import annotations

import pytest
from tests.skillian.web.views import viewed

from skillian.api.problems import ProblemError
from skillian.api.service import Service
from skillian.errors import QueryError
from skillian.web.asking import asking


async def test_what_cannot_be_done_is_told_and_the_rest_left_out(service: Service) -> None:
    free = service.slots.free
    reached: list[str] = []

    async def view() -> None:
        for fault in (QueryError("the statement failed"), ProblemError(404, "x", "not there")):
            with asking(service):
                assert service.slots.free == free - 1
                raise fault
            reached.append(str(fault))

    async with viewed(view) as user:
        assert user.notify.messages == ["the statement failed", "not there"]
    assert len(reached) == 2
    assert service.slots.free == free


async def test_a_server_that_has_enough_to_do_says_so(service: Service) -> None:
    free, service.slots.free = service.slots.free, 0

    async def view() -> None:
        with asking(service):
            pytest.fail("was done all the same")

    async with viewed(view) as user:
        assert "try again" in user.notify.messages[0]
    service.slots.free = free
