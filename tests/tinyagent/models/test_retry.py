from __future__ import annotations

import pytest
import stamina

from tinyagent.core.errors import ModelError, ModelRateLimited, ModelRefused, ModelServerError
from tinyagent.models.remote import MAX_WAIT_SECONDS, attempts


async def _try(*errors: Exception, retries: int = 2) -> int:
    """Fail with each of the errors in turn; gives the number of tries."""
    tries = 0
    async for attempt in attempts(retries):
        with attempt:
            tries += 1
            if tries <= len(errors):
                raise errors[tries - 1]
    return tries


async def test_a_success_is_one_attempt() -> None:
    assert await _try() == 1


async def test_a_failure_that_may_pass_is_tried_again() -> None:
    assert await _try(ModelServerError("down"), ModelServerError("down")) == 3


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_the_last_failure_is_let_through(retries: int) -> None:
    errors = [ModelServerError(str(n)) for n in range(10)]
    with pytest.raises(ModelServerError) as caught:
        await _try(*errors, retries=retries)
    assert caught.value is errors[retries]


@pytest.mark.parametrize("error", [ModelRefused("no"), ValueError("no")])
async def test_a_permanent_failure_is_not_retried(error: Exception) -> None:
    with pytest.raises(type(error)):
        await _try(error)


@pytest.mark.parametrize("seconds", [MAX_WAIT_SECONDS + 1, float("inf")])
async def test_a_wait_that_is_too_long_ends_the_tries(seconds: float) -> None:
    error = ModelRateLimited("later", retry_after=seconds)
    with pytest.raises(ModelError) as caught:
        await _try(error)
    assert caught.value is error


async def test_the_wait_that_the_server_asks_for_is_the_one_waited(waits: list[float]) -> None:
    with stamina.set_testing(testing=False):
        assert (
            await _try(
                ModelRateLimited("now", retry_after=0.0), ModelRateLimited("soon", retry_after=0.01)
            )
            == 3
        )
    assert waits == pytest.approx([0.001, 0.01])
