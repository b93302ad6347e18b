from __future__ import annotations

import asyncio
import gc

import pytest

from skillian.storage import SessionBusy
from skillian.storage.store import Waiting


async def test_first_come_first_served_and_nothing_is_left() -> None:
    waiting = Waiting()
    order: list[int] = []

    async def one(number: int) -> None:
        async with waiting.in_line("a", 10):
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(one(number) for number in range(10)))
    assert order == list(range(10))
    gc.collect()
    assert len(waiting._locks) == 0


async def test_waiting_too_long_raises_and_others_go_on() -> None:
    waiting = Waiting()
    async with waiting.in_line("a", 10):
        with pytest.raises(SessionBusy):
            async with waiting.in_line("a", 0.01):
                pytest.fail("two at once")
        async with waiting.in_line("b", 0.01):
            pass
    async with waiting.in_line("a", 0.01):
        pass


async def test_an_alarm_is_set_once_for_all_its_holders() -> None:
    waiting = Waiting()
    alarm = waiting.alarm("a")
    assert waiting.alarm("a") is alarm
    waiting.notify("b")
    assert not alarm.is_set()
    waiting.notify("a")
    assert alarm.is_set()
    assert not waiting.alarm("a").is_set()
    gc.collect()
    assert len(waiting._alarms) == 0
