"""Sockets, connections and lookups end with their step, and are nobody else's meanwhile."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.support.execution import isolated, within
from tests.support.waits import soon
from tests.tinyagent.execution.network.origin import served_locally

from tinyagent import Sandbox
from tinyagent.execution.network import access
from tinyagent.execution.network.authority import Authority
from tinyagent.execution.network.lookups import Lookups
from tinyagent.execution.network.streams import open_stream
from tinyagent.execution.sandbox.executor import ProcessExecutor

ASK = """
import http.client
connection = http.client.HTTPConnection("localhost", {port})
connection.request("GET", "/slow?seconds=30")
connection.getresponse()
"""
UPLOADS = """
import socket
connections = []
for number in range({count}):
    connection = socket.create_connection(("localhost", {port}), timeout=0.1)
    connection.sendall(b"POST / HTTP/1.1\\r\\nHost: localhost:{port}\\r\\n")
    connection.sendall(b"Content-Length: 20000000\\r\\n\\r\\n")
    try:
        connection.sendall(bytes(20_000_000))
    except TimeoutError:
        pass  # nobody reads it
    connections.append(connection)
"""


def _sockets() -> set[str]:
    """The sockets of this process."""
    names: set[str] = set()
    for path in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            names.add(str(path.readlink()))
    return {name for name in names if name.startswith("socket:")}


@asynccontextmanager
async def _deaf_server() -> AsyncGenerator[tuple[int, list[socket.socket]]]:
    """A server on a free port that accepts, and reads nothing."""
    loop = asyncio.get_running_loop()
    accepted: list[socket.socket] = []

    async def accept(listener: socket.socket) -> None:
        while True:
            accepted.append((await loop.sock_accept(listener))[0])

    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)  # noqa: FBT003 - the socket module's own signature
        accepting = asyncio.create_task(accept(listener))
        yield listener.getsockname()[1], accepted
        accepting.cancel()
        for each in accepted:
            each.close()


@pytest.mark.parametrize("how", ["kill", "aclose"])
async def test_descriptors_of_others_stay_watched(how: str) -> None:
    """Numbers of closed sockets are given to the next ones, which belong to the program."""
    loop = asyncio.get_running_loop()
    with served_locally() as port:
        executor = isolated(network=[f"localhost:{port}"])
        before = _sockets()
        step = asyncio.create_task(executor.run(ASK.format(port=port)))
        await soon(lambda: len(_sockets() - before) >= 5)  # also one to the server
        if how == "kill":
            executor.kill()
        else:
            await executor.aclose()
        others = [each for _ in range(40) for each in socket.socketpair()]
        heard = [asyncio.Event() for _ in others]
        for each, event in zip(others, heard, strict=True):
            loop.add_reader(each, event.set)
        await step
        for each in others:
            each.send(b"x")
        async with asyncio.timeout(60):
            for event in heard:
                await event.wait()
        for each in others:
            assert loop.remove_reader(each)
            each.close()
        await executor.aclose()


@pytest.mark.parametrize("ending", ["", "connection.close()"], ids=["unread", "given up"])
async def test_an_upload_that_nobody_reads_leaves_no_connection(ending: str) -> None:
    """Not after its step, nor in it: it would use up the program's descriptors."""
    async with _deaf_server() as (port, accepted):
        executor = isolated(network=[f"localhost:{port}"], checkpoints=0)
        async with executor:
            await executor.run("1")
            before = len(_sockets())
            for _ in range(2):
                code = UPLOADS.format(port=port, count=3) + ending
                result = await executor.run(code)
                assert result.error is None
                assert len(_sockets()) - len(accepted) == before


async def test_a_step_that_is_cut_off_in_a_handshake_leaves_its_descriptor_alone() -> None:
    loop = asyncio.get_running_loop()
    context = Authority().context("a.com")
    for turns in range(6):
        ours, theirs = socket.socketpair(socket.AF_UNIX)
        ours.setblocking(False)  # noqa: FBT003 - the socket module's own signature
        number = ours.fileno()
        task = asyncio.create_task(open_stream(ours, context))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        ours.close()
        again = socket.socketpair()
        assert number in {again[0].fileno(), again[1].fileno()}
        heard = asyncio.Event()
        loop.add_reader(again[0], heard.set)
        for _ in range(10):
            await asyncio.sleep(0)
        again[1].send(b"x")
        async with asyncio.timeout(60):
            await heard.wait()
        loop.remove_reader(again[0])
        for each in (theirs, *again):
            each.close()


@pytest.mark.parametrize("name", ["asyncio", "uvloop"])
def test_tls_is_ended_on_either_loop(name: str) -> None:
    """Servers such as uvicorn choose uvloop where it is installed."""
    loops = pytest.importorskip(name)
    authority = Authority()

    def ask(sock: socket.socket) -> bytes:
        trusting = ssl.create_default_context(cadata=authority.certificate)
        with trusting.wrap_socket(sock, server_hostname="a.com") as secured:
            secured.sendall(b"GET / HTTP/1.1\r\n\r\n")
            return secured.recv(100)

    async def exchange() -> bytes:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)  # noqa: FBT003 - the socket module's own signature
        asking = asyncio.create_task(asyncio.to_thread(ask, theirs))
        stream = await open_stream(ours, authority.context("a.com"))
        assert stream is not None
        await stream.write(b"heard " + await stream.read_head())
        await stream.close()
        return await asking

    assert loops.run(exchange()) == b"heard GET / HTTP/1.1\r\n\r\n"


async def test_slow_names_delay_only_their_own_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that does not answer is one that no test can have: the call is replaced."""
    answer = asyncio.Event()
    loop = asyncio.get_running_loop()
    running: list[str] = []

    def slow(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        running.append(host)
        asyncio.run_coroutine_threadsafe(answer.wait(), loop).result()
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    lookups, others = Lookups(), Lookups()
    waiting = [
        asyncio.create_task(lookups.find(f"n{number}", 80, socket.AF_INET)) for number in range(100)
    ]
    await soon(lambda: running)
    for task in waiting[:50]:
        task.cancel()
    other = asyncio.create_task(others.find("other", 80, socket.AF_INET))
    await soon(lambda: "other" in running)
    assert len(running) < 20
    assert await asyncio.to_thread(lambda: "the pool is free") == "the pool is free"
    answer.set()
    assert await other == ["192.0.2.1"]
    assert await asyncio.gather(*waiting[50:]) == [["192.0.2.1"]] * 50


async def test_names_below_wildcards_are_counted_for_each_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access, "_MAX_WILDCARD_NAMES", 3)
    code = """
import socket
count = 0
for number in range(5):
    try:
        socket.getaddrinfo(f"{prefix}{number}.example.org", 80)
        count += 1
    except OSError:
        pass
count
"""
    async with ProcessExecutor(Sandbox(network=["*.example.org"], limits=within())) as executor:
        for prefix in "ab":
            result = await executor.run(f"prefix = {prefix!r}{code}")
            assert (result.error, result.value) == (None, 3)
            await executor.reset()
