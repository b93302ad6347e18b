"""When and how long to wait before a request to a model is made again."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

from tinyagent.core.errors import ModelError
from tinyagent.core.logs import logger

if TYPE_CHECKING:
    from collections.abc import AsyncIterable
    from contextlib import AbstractContextManager

MAX_WAIT_SECONDS = 60.0


def attempts(retries: int) -> AsyncIterable[AbstractContextManager[object]]:
    """The attempts of one request, 1 + `retries` at most, each to be entered with `with`.

    Waits grow from 0.5 s, with jitter; a server's `Retry-After` is kept where it is at most
    60 s, and ends the tries where it is more. The last error is let through.
    """
    import stamina  # noqa: PLC0415 - loaded with the first request, not with tinyagent

    _silence_stamina()
    return stamina.retry_context(
        on=_wait_for, attempts=retries + 1, timeout=None, wait_initial=0.5, wait_max=8.0
    )


@cache
def _silence_stamina() -> None:
    """Keep its log silent by default too; what happened stands in ours, in our words."""
    logging.getLogger("stamina").addHandler(logging.NullHandler())


def _wait_for(error: Exception) -> bool | float:
    if not isinstance(error, ModelError) or not error.retryable:
        return False
    logger.info("a request to the model failed: %s", error)
    if error.retry_after is None:
        return True
    # 0 would be read as False: no further try.
    return max(error.retry_after, 0.001) if error.retry_after <= MAX_WAIT_SECONDS else False
