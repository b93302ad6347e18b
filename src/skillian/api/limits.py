"""How much work may be in progress at once, and how often a client may ask."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from time import monotonic

from skillian.api.problems import ProblemError

MAX_BUCKETS = 10_000
"""How many keys and addresses are counted; the one that asked longest ago is dropped first."""


class Slots:
    """How much work may be in progress at once.

    Args:
        limit: That many.

    Attributes:
        free: How much more.
    """

    def __init__(self, limit: int) -> None:
        self.free = limit

    def check(self) -> None:
        """Return if a slot is free.

        Raises:
            ProblemError: All are taken (503).
        """
        if not self.free:
            detail = "This server has as much work in progress as it takes; try again."
            raise ProblemError(503, "overloaded", detail, {"Retry-After": "1"})

    @contextmanager
    def taken(self) -> Generator[None]:
        """Hold a slot during the block; raises as `check` does."""
        self.check()
        self.free -= 1
        try:
            yield
        finally:
            self.free += 1


async def in_slot(slots: Slots, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The chunks, in a slot that is taken at once and held to their end.

    Raises:
        ProblemError: All slots are taken (503).
    """
    held = _held(slots, chunks)
    await anext(held)
    return held


async def _held(slots: Slots, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    with slots.taken():
        yield b""
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Buckets:
    """A token bucket for each client, in this process: a minute's requests at once, then evenly.

    Args:
        per_minute: How many requests; 0 means any number.
    """

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, client: str) -> None:
        """Count a request of a known key, or of an address.

        Raises:
            ProblemError: It is one too many (429).
        """
        if not self._per_minute:
            return
        now = monotonic()
        bucket = self._buckets.setdefault(client, _Bucket(self._per_minute, now))
        self._buckets.move_to_end(client)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        refilled = bucket.tokens + (now - bucket.at) * self._per_minute / 60
        bucket.tokens, bucket.at = min(self._per_minute, refilled), now
        if bucket.tokens < 1:
            wait = math.ceil((1 - bucket.tokens) * 60 / self._per_minute)
            detail = f"A key, or an address without one, has {self._per_minute} requests a minute."
            raise ProblemError(429, "too_many_requests", detail, {"Retry-After": str(wait)})
        bucket.tokens -= 1
