from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from tests.support.waits import SECONDS

from skillian.api.service import OpenTurn
from skillian.storage import SessionBusy, TurnEvent


def event(number: int) -> TurnEvent:
    return TurnEvent(number, 1, "delta", {})


class Source:
    """Events that come when they are let go."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[TurnEvent | Exception | None] = asyncio.Queue()
        self.closed = asyncio.Event()

    async def events(self) -> AsyncGenerator[TurnEvent, None]:
        try:
            while (coming := await self.queue.get()) is not None:
                if isinstance(coming, Exception):
                    raise coming
                yield coming
        finally:
            self.closed.set()


async def numbers(turn: OpenTurn) -> list[int]:
    return [each.number async for each in turn.events()]


async def test_all_readers_get_all_events() -> None:
    source = Source()
    turn = OpenTurn(source.events())
    early = asyncio.create_task(numbers(turn))
    for number in (1, 2):
        source.queue.put_nowait(event(number))
    assert await turn.first() == event(1)
    late = asyncio.create_task(numbers(turn))
    source.queue.put_nowait(event(3))
    source.queue.put_nowait(None)
    assert [await early, await late] == [[1, 2, 3]] * 2
    assert await numbers(turn) == [1, 2, 3]


async def test_the_error_of_a_turn_is_raised_to_each_reader() -> None:
    source = Source()
    turn = OpenTurn(source.events())
    source.queue.put_nowait(SessionBusy(1))
    for _ in range(2):
        with pytest.raises(SessionBusy):
            await turn.first()


async def test_without_a_reader_it_ends_after_the_grace() -> None:
    source = Source()
    turn = OpenTurn(source.events())
    with turn.read(3600), turn.read(0):
        pass
    source.queue.put_nowait(event(1))
    assert await turn.first() == event(1)  # the one with patience was the last
    with turn.read(0):
        pass
    await asyncio.wait_for(source.closed.wait(), SECONDS)
    assert await numbers(turn) == [1]


async def test_a_reader_that_comes_back_in_time_keeps_it_going() -> None:
    source = Source()
    turn = OpenTurn(source.events())
    with turn.read(0):
        pass
    with turn.read(0):
        source.queue.put_nowait(event(1))
        source.queue.put_nowait(None)
        assert await numbers(turn) == [1]
    assert not turn.task.cancelled()
