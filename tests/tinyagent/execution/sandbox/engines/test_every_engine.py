"""What each engine must keep, whatever it is made of."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.processes import descendants, is_running
from tests.support.waits import until
from tests.tinyagent.execution.sandbox.engines.conftest import Program

from tinyagent import Sandbox
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.execution.trust import ExecutionLimits, TrustLevel

HOST = """
import asyncio, sys
from tinyagent.execution import ProcessExecutor, Sandbox

async def main():
    options = {"without": ("S11", "S13", "S15")} if sys.argv[1] == "docker" else {}
    async with ProcessExecutor(Sandbox("sandboxed", engine=sys.argv[1], **options)) as executor:
        assert (await executor.run("x = 1")).error is None
        print("ready", flush=True)
        await executor.run("while True: pass")

asyncio.run(main())
"""
# Docker's own filter refuses the namespaces that these need.
WITHOUT = {"docker": ("S11", "S13", "S15")}
KEEPS_STATE = "a step that fails loses only itself"


def sandboxed(engine: str, seconds: float = 20.0) -> ProcessExecutor:
    return ProcessExecutor(
        Sandbox(
            TrustLevel.SANDBOXED,
            engine=engine,
            limits=ExecutionLimits(timeout_seconds=seconds),
            without=WITHOUT.get(engine, ()),
            imports=("socket",),
        )
    )


def keeps(executor: ProcessExecutor, promise: str) -> bool:
    return next(row.enforced for row in executor.guarantees if row.promise == promise)


async def test_variables_live_on_and_tools_answer(engine: str) -> None:
    async with sandboxed(engine) as executor:
        executor.inject("double", lambda number: 2 * number)
        first = await executor.run("numbers = [1, 2]\nprint('hello')")
        second = await executor.run("numbers.append(double(21))\nnumbers")
        assert (first.output, first.error) == ("hello\n", None)
        assert (second.value, second.error) == ([1, 2, 42], None)


async def test_a_step_without_end_is_stopped(engine: str) -> None:
    async with sandboxed(engine, 0.5) as executor:
        await executor.run("x = 7")
        late = await executor.run("x = 8\nwhile True: pass")
        after = await executor.run("'x' in globals() and x")
        assert late.timed_out
        assert late.state_lost is not keeps(executor, KEEPS_STATE)
        assert after.value == (False if late.state_lost else 7)


async def test_the_host_cannot_be_dialled(engine: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)  # noqa: FBT003 - the socket module's own signature
        port = server.getsockname()[1]
        async with sandboxed(engine) as executor:
            code = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 2)"
            result = await executor.run(code)
        assert "Error" in (result.error or "")
        with pytest.raises(BlockingIOError):
            server.accept()


async def test_neither_files_nor_variables_of_the_host_are_there(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    monkeypatch.setenv("A_KEY", "hidden")
    paths = (str(secret), "/etc/shadow", "/etc/hostname", "/proc/1/environ", "/proc/1/cmdline")
    code = f"""
import os
found = []
for path in {paths}:
    try:
        with open(path, "rb") as file: found.append((path, file.read()))
    except OSError: pass
found, os.environ.get("A_KEY"), os.path.exists({str(secret)!r})
"""
    async with sandboxed(engine) as executor:
        result = await executor.run(code)
    assert result.error is None
    assert result.value == ([], None, False)


async def test_sessions_do_not_see_each_other(engine: str) -> None:
    async with sandboxed(engine) as one, sandboxed(engine) as other:
        held = await one.run("import os\nopen('kept', 'w').write('mine')\nos.getcwd(), os.getpid()")
        folder, pid = held.value
        code = f"""
import os
attempts = (
    lambda: open({folder!r} + "/kept").read(),
    lambda: os.kill({pid}, 9),
    lambda: os.listdir("/proc"),
)
got = []
for attempt in attempts:
    try: got.append(attempt())
    except OSError: pass
got
"""
        peeked = await other.run(code)
        assert peeked.value == []
        assert (await one.run("open('kept').read()")).value == "mine"


async def test_what_it_promises_is_reported(engine: str) -> None:
    async with sandboxed(engine) as executor:
        rows = {row.promise: row for row in executor.guarantees}
    assert len(rows) > 10
    may_lack = {KEEPS_STATE, "limit of all files", "process limit"}
    assert {promise for promise, row in rows.items() if not row.enforced} <= may_lack
    if engine != "docker":  # whose own filter refuses namespaces inside it
        assert all(row.enforced for row in rows.values())


def test_it_ends_with_a_host_that_is_killed(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    program: Program | None = None
    if engine in {"podman", "docker"}:
        program = request.getfixturevalue(engine)
    there = program.containers() if program else set[str]()
    command = [sys.executable, "-c", HOST, engine]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"ready\n"
        processes = descendants(host.pid)
        new = program.containers() - there if program else set[str]()
        if program:
            assert len(new) == 1
            first = program.pid(*new)
            processes |= {first, *descendants(first)}
        assert len(processes) > 2
        host.kill()
    until(lambda: not any(is_running(pid) for pid in processes))
    if program:
        until(lambda: not new & program.containers())
    assert not list(tmp_path.glob("tinyagent-*"))
