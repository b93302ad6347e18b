"""What the doors for other tools' clients share."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from skillian.api.runs import Slots


async def in_slot(slots: Slots, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The chunks, in a slot that is taken at once and held to their end.

    Raises:
        ProblemError: all slots are taken (503).
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
