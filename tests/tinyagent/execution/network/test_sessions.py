"""Sessions with a network: many requests, and other options together with it."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.execution import value_of, within
from tests.support.waits import soon
from tests.support.wheels import make_wheel
from tests.tinyagent.execution.network.origin import served_locally

from tinyagent import Sandbox
from tinyagent.core.execution import NetworkRequest
from tinyagent.execution.network import gate
from tinyagent.execution.sandbox.executor import ProcessExecutor

MANY = """
import http.client
for number in range({count}):
    if number % 10 == 0:  # some connections are reused, some are not
        connection = http.client.HTTPConnection("localhost", {port})
    connection.request("GET", "/bytes?size=20000")
    assert len(connection.getresponse().read()) == 20000
"""


def _open_files() -> list[str]:
    """What the descriptors of this process stand for."""
    names: list[str] = []
    for path in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that lists them
            names.append(str(path.readlink()))
    return sorted(names)


def _served() -> list[threading.Thread]:
    """The threads in which the server serves connections."""
    return [thread for thread in threading.enumerate() if "process_request" in thread.name]


@pytest.mark.parametrize("count", [100, 1000])
async def test_many_requests_leave_nothing_behind(count: int) -> None:
    with served_locally() as port:
        executor = ProcessExecutor(
            Sandbox(network=[f"localhost:{port}"], limits=within(60), checkpoints=0)
        )
        async with executor:
            await value_of(executor, MANY.format(count=10, port=port))
            await soon(lambda: not _served())
            before, tasks = _open_files(), asyncio.all_tasks()
            for _ in range(2):
                result = await executor.run(MANY.format(count=count // 2, port=port))
                assert result.error is None
                assert len(result.requests) == count // 2
            await soon(lambda: not _served())
            assert _open_files() == before
            assert asyncio.all_tasks() == tasks


async def test_a_flood_of_requests_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "MAX_REQUESTS", 20)
    monkeypatch.setattr(gate, "MAX_REFUSALS", 10)
    seen: list[NetworkRequest] = []
    code = """
import socket
reasons = []
for number in range(50):
    try:
        socket.getaddrinfo(f"n{number}.com", 80)
    except OSError as error:
        reasons.append(str(error))
"""
    async with ProcessExecutor(Sandbox(network=["localhost"])) as executor:
        result = await executor.run(code, on_request=seen.append)
        assert (result.error, len(result.requests), len(seen)) == (None, 10, 20)
        last = await value_of(executor, "reasons[-1]")
    assert "a step may make 20 requests" in last


async def test_a_hostile_name_is_reported_in_plain_characters() -> None:
    code = """
import socket
connection = socket.create_connection(("127.1.0.1", 80))
connection.sendall(b"\\x1b[31m\\x9b evil\\n")
connection.recv(1000)
"""
    async with ProcessExecutor(Sandbox(network=["localhost"], limits=within())) as executor:
        result = await executor.run(code)
    [request] = result.requests
    assert request.target == r"\x1b[31m\x9b evil"
    assert f"{request.reason}{result.value}".isprintable()


async def test_refused_lookups_hide_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "MAX_REFUSALS", 3)
    code = """
import http.client, socket
for number in range(10):
    try:
        socket.getaddrinfo(f"n{number}.com", 80)
    except OSError:
        pass
connection = http.client.HTTPConnection("localhost", PORT)
connection.request("POST", "/upload", b"secret")
connection.getresponse().status
"""
    with served_locally() as port:
        async with ProcessExecutor(
            Sandbox(network=[f"localhost:{port}"], limits=within())
        ) as executor:
            result = await executor.run(code.replace("PORT", str(port)))
    assert (result.error, result.value) == (None, 200)
    assert [request.method for request in result.requests] == ["LOOKUP"] * 3 + ["POST"]


@pytest.mark.parametrize(
    ("request_code", "most", "status"),
    [
        (
            "connection.request('PUT', '/', iter([bytes(50_000)] * 3), encode_chunked=True)",
            99_000,
            413,
        ),
        ("connection.request('GET', '/', headers={'X': 'x' * 9_000})", 5_000, 413),
        ("connection.request('GET', '/', headers={'X': 'x' * 9_000})", 50_000, 200),
        ("connection.request('GET', '/cookie')", 150, 413),  # the head of the answer
    ],
)
async def test_all_bytes_of_a_step_are_counted(request_code: str, most: int, status: int) -> None:
    with served_locally() as port:
        code = f"""
import http.client
connection = http.client.HTTPConnection("localhost", {port})
{request_code}
connection.getresponse().status
"""
        limits = within(max_network_bytes=most)
        async with ProcessExecutor(
            Sandbox(network=[f"localhost:{port}"], limits=limits)
        ) as executor:
            result = await executor.run(code)
    assert (result.error, result.value) == (None, status)


@pytest.mark.parametrize("checkpoints", [0, 2])
async def test_with_packages_and_a_workspace(index: Path, tmp_path: Path, checkpoints: int) -> None:
    make_wheel(index, "fetcher", {"fetcher.py": FETCHER})
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "addresses.txt").write_text("/status?code=200\n")
    with served_locally() as port:
        executor = ProcessExecutor(
            Sandbox(
                network=[f"localhost:{port}"],
                packages=["fetcher"],
                workspace=folder,
                checkpoints=checkpoints,
            )
        )
        async with executor:
            result = await executor.run(f"import fetcher\nfetcher.fetch({port})")
            assert (result.error, result.value) == (None, '{"error": "as asked"}')
            assert [request.path for request in result.requests] == ["/status"]
            assert [change.path for change in result.changes] == ["answer.txt"]
            assert not (folder / "answer.txt").exists()
            await executor.commit()
    assert (folder / "answer.txt").read_text() == '{"error": "as asked"}'


FETCHER = """
from urllib.request import urlopen

def fetch(port):
    path = open("addresses.txt").read().strip()
    text = urlopen(f"http://localhost:{port}{path}").read().decode()
    with open("answer.txt", "w") as file:
        file.write(text)
    return text
"""
