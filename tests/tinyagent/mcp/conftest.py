"""Servers in processes of their own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

SERVERS = Path(__file__).parent / "servers"


@contextmanager
def _running(*arguments: str) -> Generator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            pytest.fail(f"{arguments} did not start: exit code {process.wait()}, see above")
        try:
            yield url, process
        finally:
            process.kill()


def _time_server() -> None:
    if importlib.util.find_spec("mcp_server_time") is None:
        pytest.fail("the package mcp-server-time is missing; get it with: make setup")


@pytest.fixture
def faulty() -> Callable[[str], list[str]]:
    """The command of a server that fails as `mode` says."""
    return lambda mode: [sys.executable, str(SERVERS / "faulty.py"), mode]


@pytest.fixture
def time_command() -> list[str]:
    """The command of a real server that is not ours."""
    _time_server()
    return [sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"]


@pytest.fixture(scope="session")
def time_http() -> Generator[str]:
    """The URL of the same server over HTTP, one for all tests."""
    _time_server()
    with _running(str(SERVERS / "time_http.py")) as (url, _):
        yield url


@pytest.fixture
def mortal_time_http() -> Generator[tuple[str, subprocess.Popen[str]]]:
    """A server of the test's own, which it may kill."""
    _time_server()
    with _running(str(SERVERS / "time_http.py")) as running:
        yield running


@pytest.fixture
def ours_command() -> list[str]:
    """The command of our own served tools."""
    return [sys.executable, str(SERVERS / "ours.py"), "stdio"]


@pytest.fixture
def ours_http() -> Generator[tuple[str, subprocess.Popen[str]]]:
    """Our own served tools over HTTP: the URL and the process."""
    with _running(str(SERVERS / "ours.py"), "http") as running:
        yield running
