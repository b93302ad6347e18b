from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Generator

import pytest
from tests.support.waits import SECONDS, soon

from tinyagent.execution.sandbox.channel import Channel
from tinyagent.execution.sandbox.worker.codec.wire import Frame, FrameReader, Kind, pack

READY = pack(Frame(Kind.READY, {}))

Pair = tuple[Channel, socket.socket]


@pytest.fixture
def pair() -> Generator[Pair]:
    """A channel, and the other end of its socket."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)  # noqa: FBT003 - the socket module's own signature
    theirs.settimeout(10)
    channel = Channel(ours)
    with theirs:
        yield channel, theirs
    channel.close()


def test_frames_arrive_in_order_and_in_pieces(pair: Pair) -> None:
    channel, theirs = pair
    data = READY + pack(Frame(Kind.OUTPUT, {"text": "ä"})) + pack(Frame(Kind.OUTPUT, {"text": "b"}))
    theirs.sendall(data[:20])
    first = channel.take()
    assert first is not None
    assert first.kind is Kind.READY
    assert channel.take() is None
    theirs.sendall(data[20:])
    texts = [frame.body["text"] for frame in iter(channel.take, None)]
    assert texts == ["ä", "b"]
    assert channel.is_open


def test_the_end_is_seen_after_the_last_frame(pair: Pair) -> None:
    channel, theirs = pair
    theirs.sendall(READY)
    theirs.close()
    assert channel.take() is not None
    assert channel.take() is None
    assert not channel.is_open
    assert channel.fault == ""


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 20,
        pack(Frame(Kind.RUN, {})),
        pack(Frame(Kind.READY, {"more": 1})),
        pack(Frame(Kind.OUTPUT, {"text": 5})),
        pack(Frame(Kind.OUTPUT, {"text": "x"}, b"data")),
    ],
)
def test_what_no_session_may_send_closes_the_channel_with_its_fault(
    pair: Pair, data: bytes
) -> None:
    channel, theirs = pair
    theirs.sendall(data + READY)
    assert channel.take() is None
    assert not channel.is_open
    assert channel.fault != ""


async def test_what_does_not_go_at_once_goes_later(pair: Pair) -> None:
    channel, theirs = pair
    frames = [Frame(Kind.FILE, {"name": str(number)}, bytes(1 << 20)) for number in range(4)]
    for frame in frames:
        channel.send(pack(frame))
    reader = FrameReader()
    theirs.setblocking(False)  # noqa: FBT003 - as above
    received: list[Frame] = []

    def all_are_there() -> bool:
        try:
            received.extend(reader.feed(theirs.recv(1 << 20)))
        except BlockingIOError:
            return False
        return len(received) == len(frames)

    await soon(all_are_there)
    assert received == frames


async def test_a_descriptor_goes_with_its_frame(pair: Pair) -> None:
    channel, theirs = pair
    one, other = socket.socketpair()
    with one:
        with other:
            await channel.send_with(other, READY)
        data, descriptors, _flags, _address = socket.recv_fds(theirs, 100, 4)
        assert data == READY
        with socket.socket(fileno=descriptors[0]) as passed:
            passed.send(b"x")
            assert one.recv(1) == b"x"


async def test_sending_to_who_is_gone_is_noticed_and_raises_nothing(pair: Pair) -> None:
    channel, theirs = pair
    theirs.close()
    channel.send(READY)
    channel.send(READY)
    assert not channel.is_open


async def test_a_listener_is_woken_by_frames_by_the_end_and_by_closing(pair: Pair) -> None:
    channel, theirs = pair
    woken = asyncio.Event()
    channel.listen(woken.set)
    theirs.sendall(READY)
    await asyncio.wait_for(woken.wait(), SECONDS)
    assert channel.take() is not None
    woken.clear()
    channel.close()
    await asyncio.wait_for(woken.wait(), SECONDS)
    channel.unlisten()
    channel.close()
    channel.send(READY)
    assert channel.take() is None


async def test_a_closed_channel_leaves_nothing_with_the_loop() -> None:
    for _ in range(20):
        ours, theirs = socket.socketpair()
        ours.setblocking(False)  # noqa: FBT003 - as above
        channel = Channel(ours)
        channel.listen(lambda: None)
        with theirs:
            channel.send(b"x" * (8 << 20))
            channel.close()
            channel.unlisten()
    read, write = os.pipe()
    woken = asyncio.Event()
    asyncio.get_running_loop().add_reader(read, woken.set)
    os.write(write, b"x")
    await asyncio.wait_for(woken.wait(), SECONDS)
    asyncio.get_running_loop().remove_reader(read)
    os.close(read)
    os.close(write)


def test_a_channel_with_data_waiting_is_closed_where_no_loop_runs() -> None:
    """A collected executor closes its session from wherever it is collected."""

    async def begin() -> Channel:
        ours, _ = pairs
        channel = Channel(ours)
        channel.send(b"x" * (8 << 20))
        return channel

    pairs = socket.socketpair()
    pairs[0].setblocking(False)  # noqa: FBT003 - as above
    channel = asyncio.run(begin())
    channel.close()
    assert pairs[0].fileno() < 0
    pairs[1].close()


async def test_what_came_with_an_earlier_frame_is_reported_at_once(pair: Pair) -> None:
    channel, theirs = pair
    theirs.sendall(READY + READY)
    assert channel.take() is not None
    wake = asyncio.Event()
    channel.listen(wake.set)
    assert wake.is_set()
    channel.unlisten()


async def test_what_was_sent_before_the_end_is_read_though_sending_fails(pair: Pair) -> None:
    channel, other = pair
    other.sendall(pack(Frame(Kind.FAILED, {"error": "why"})))
    other.close()
    channel.send(b"an order")
    frame = channel.take()
    assert isinstance(frame, Frame)
    assert frame.body == {"error": "why"}
    assert not channel.is_open
