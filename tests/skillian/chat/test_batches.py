from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from skillian.chat.turn_events import DELTA_CHARACTERS, Batches, joined
from tinyagent import Event, StepFinished, StepStarted, TextDelta


async def stream_of(events: Sequence[Event]) -> AsyncGenerator[Event, None]:
    for event in events:
        yield event
        await asyncio.sleep(0)


async def batches_of(events: Sequence[Event]) -> list[Sequence[Event]]:
    found: list[Sequence[Event]] = []
    async with Batches(stream_of(events)) as batches:
        while batch := await batches.next():
            found.append(batch)
        assert await batches.next() == []
    return found


async def test_nothing_is_lost_or_moved() -> None:
    events: list[Event] = [StepStarted(1)]
    events += [TextDelta(1, f"{number} ") for number in range(100)]
    events.append(StepFinished(1))
    batches = await batches_of(events)
    found = [event for batch in batches for event in batch]
    words = "".join(event.text for event in found if isinstance(event, TextDelta))
    assert words == "".join(f"{number} " for number in range(100))
    assert found[0] == StepStarted(1)
    assert found[-1] == StepFinished(1)
    assert len(batches) < 10


async def test_long_text_does_not_wait_for_its_time() -> None:
    half = TextDelta(1, "x" * (DELTA_CHARACTERS // 2))
    batches = await batches_of([half] * 8)
    lengths = [len(event.text) for [event] in batches if isinstance(event, TextDelta)]
    assert sum(lengths) == 4 * DELTA_CHARACTERS
    assert len(lengths) >= 3


def test_only_pieces_of_one_text_are_joined() -> None:
    pieces: list[Event] = [
        TextDelta(1, "a"),
        TextDelta(1, "b"),
        TextDelta(1, "r", "reasoning"),
        TextDelta(1, "", "restart"),
        TextDelta(1, "", "restart"),
        TextDelta(1, "c"),
        StepFinished(1),
        TextDelta(1, "d"),
        TextDelta(2, "e"),
    ]
    assert joined(pieces) == [TextDelta(1, "ab"), *pieces[2:]]


async def test_an_event_other_than_text_comes_at_once_with_the_text_before_it() -> None:
    released = asyncio.Event()

    async def stream() -> AsyncGenerator[Event, None]:
        yield TextDelta(1, "a")
        yield StepFinished(1)
        await released.wait()

    async with Batches(stream()) as batches:
        first = list(await batches.next())
        if len(first) == 1:
            first += await batches.next()
        assert first == [TextDelta(1, "a"), StepFinished(1)]
        released.set()
        assert await batches.next() == []


async def test_an_error_comes_after_the_events_before_it() -> None:
    async def stream() -> AsyncGenerator[Event, None]:
        yield StepStarted(1)
        raise KeyError("x")

    async with Batches(stream()) as batches:
        assert await batches.next() == [StepStarted(1)]
        with pytest.raises(KeyError):
            await batches.next()


@pytest.mark.parametrize("how", ["leave", "stop"])
async def test_leaving_ends_the_stream(how: str) -> None:
    ended = asyncio.Event()

    async def stream() -> AsyncGenerator[Event, None]:
        try:
            yield StepStarted(1)
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with Batches(stream()) as batches:
        assert await batches.next()
        if how == "stop":
            batches.stop()
            assert await batches.next() == []
    assert ended.is_set()
