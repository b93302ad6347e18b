from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator

import pytest

from tinyagent.execution.sandbox.worker.codec.wire import MAX_BLOB, Frame, Kind, WireError, pack
from tinyagent.execution.sandbox.worker.processes import watch_process
from tinyagent.execution.sandbox.worker.session.link import HostGone, Link, readable


@pytest.fixture
def links() -> Generator[tuple[Link, Link]]:
    ours, theirs = socket.socketpair()
    ours.settimeout(20)
    theirs.settimeout(20)
    one, other = Link(ours), Link(theirs)
    yield one, other
    one.close()
    other.close()


def test_frames_cross_in_order(links: tuple[Link, Link]) -> None:
    one, other = links
    one.send(Kind.OUTPUT, {"text": "a"})
    one.send(Kind.DONE, {"value": 1}, b"blob")
    assert not other.waits()
    assert other.receive() == (Kind.OUTPUT, {"text": "a"}, b"")
    assert other.waits()
    assert other.receive() == (Kind.DONE, {"value": 1}, b"blob")
    assert not other.waits()


def test_a_frame_larger_than_the_sockets_buffer_crosses(links: tuple[Link, Link]) -> None:
    one, other = links
    data = bytes(range(256)) * 40_000
    sender = threading.Thread(target=one.send, args=(Kind.DONE, {}, data))
    sender.start()
    assert other.receive().blob == data
    sender.join(10)


def test_frames_of_many_threads_stay_whole(links: tuple[Link, Link]) -> None:
    one, other = links

    def send(name: str) -> None:
        for number in range(50):
            one.send(Kind.OUTPUT, {"text": f"{name}{number}"}, name.encode() * 10_000)

    threads = [threading.Thread(target=send, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    frames = [other.receive() for _ in range(200)]
    for thread in threads:
        thread.join(10)
    for name in "abcd":
        own = [frame for frame in frames if frame.body["text"][0] == name]
        assert [frame.body["text"] for frame in own] == [f"{name}{n}" for n in range(50)]
        assert {frame.blob for frame in own} == {name.encode() * 10_000}


def test_the_end_of_the_other_side_is_raised_after_its_frames(links: tuple[Link, Link]) -> None:
    one, other = links
    one.send(Kind.READY, {})
    one.close()
    assert other.receive().kind is Kind.READY
    with pytest.raises(HostGone):
        other.receive()


def test_what_is_not_a_frame_or_too_large_is_refused(links: tuple[Link, Link]) -> None:
    one, other = links
    with pytest.raises(WireError):
        one.send(Kind.DONE, {}, bytes(MAX_BLOB + 1))
    one.sock.sendall(b"\xff" * 9)
    with pytest.raises(WireError):
        other.receive()


def test_descriptors_wait_in_the_order_they_came(links: tuple[Link, Link]) -> None:
    one, other = links
    pipes = [os.pipe() for _ in range(3)]
    for number, (_read, write) in enumerate(pipes):
        frame = pack(Frame(Kind.RUN, {"step": number}))
        socket.send_fds(one.sock, [frame], [write])
        os.close(write)
    for number, (read, _write) in enumerate(pipes):
        assert other.receive().body == {"step": number}
        passed = other.descriptors.popleft()
        os.write(passed, b"%d" % number)
        assert os.read(read, 10) == b"%d" % number
        os.close(passed)
        os.close(read)
    assert not other.descriptors


def test_it_continues_over_another_socket(links: tuple[Link, Link]) -> None:
    one, other = links
    other.send(Kind.READY, {})
    ours, theirs = socket.socketpair()
    other.sock.setblocking(True)  # noqa: FBT003 - the socket module's own signature
    other.move(theirs.detach())
    assert one.receive().kind is Kind.READY
    with pytest.raises(HostGone):
        one.receive()
    another = Link(ours)
    another.send(Kind.RUN, {"step": 1})
    assert other.receive().body == {"step": 1}
    other.send(Kind.DONE, {})
    assert another.receive().kind is Kind.DONE
    another.close()


def test_what_can_be_read_is_reported_within_the_time() -> None:
    read, write = os.pipe()
    assert readable([read], 0) == []
    assert readable([read], 0.01) == []
    os.write(write, b"x")
    assert readable([read], None) == [read]
    os.close(write)
    os.close(read)


def test_the_end_of_a_process_can_be_waited_for() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    watch = watch_process(process.pid)
    assert readable([watch], 0) == []
    with process:
        pass
    assert readable([watch], 10) == [watch]
    os.close(watch)
    with pytest.raises(ProcessLookupError):
        watch_process(process.pid)
