"""Owners take turns: each waits for its own work."""

from __future__ import annotations

import asyncio

from skillian.fair_slots import FairSlots


async def test_owners_take_turns() -> None:
    slots = FairSlots(2, 1)
    begun: list[str] = []

    async def work(owner: str) -> None:
        async with slots.taken(owner):
            begun.append(owner)
            await asyncio.sleep(0)

    await asyncio.gather(*(work(owner) for owner in "aaaabbc"))
    assert begun[:3] == ["a", "b", "c"]
    assert sorted(begun) == [*"aaaabbc"]
    assert not slots._own
