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
        executor = ProcessExecutor(network=[f"localhost:{port}"], limits=within(60), checkpoints=0)
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
    monkeypatch.setattr(gate, "MAX_RECORDS", 10)
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
    async with ProcessExecutor(network=["localhost"]) as executor:
        result = await executor.run(code, on_request=seen.append)
        assert (result.error, len(result.requests), len(seen)) == (None, 10, 20)
        last = await value_of(executor, "reasons[-1]")
    assert "a step may make 20 requests" in last


@pytest.mark.parametrize("checkpoints", [0, 2])
async def test_with_packages_and_a_workspace(index: Path, tmp_path: Path, checkpoints: int) -> None:
    make_wheel(index, "fetcher", {"fetcher.py": FETCHER})
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "addresses.txt").write_text("/status?code=200\n")
    with served_locally() as port:
        executor = ProcessExecutor(
            network=[f"localhost:{port}"],
            packages=["fetcher"],
            workspace=folder,
            checkpoints=checkpoints,
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
