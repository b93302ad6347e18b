"""Many sessions: nothing of them stays; a host that is killed takes all of its sessions along."""

from __future__ import annotations

import asyncio
import gc
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest
from tests.support.execution import SPARE_SECONDS, hurry, isolated, sandbox_processes, value_of
from tests.support.processes import descendants, is_running
from tests.support.waits import soon, until

from tinyagent.execution.sandbox import templates
from tinyagent.execution.sandbox.engines.kernel import KernelEngine
from tinyagent.execution.sandbox.templates import Spec, TemplateHandle, modules_for

IN_ONE_TEST = 100
SIDE_BY_SIDE = 50
MOST_GROWTH = 4 << 20
LOCKS = {"all locks": frozenset[str](), "without namespaces": frozenset({"namespaces"})}


class Belongings(NamedTuple):
    """What this process has."""

    descriptors: int
    processes: frozenset[int]
    threads: int
    resident: int


def belongings() -> Belongings:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Belongings(
        len(list(Path("/proc/self/fd").iterdir())),
        frozenset(sandbox_processes()),
        threading.active_count(),
        pages * resource.getpagesize(),
    )


@pytest.fixture
def locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Sessions are of a template of the test's own."""
    preload = modules_for((), "")
    template = TemplateHandle(Spec(KernelEngine(), preload, LOCKS[request.param]))
    monkeypatch.setitem(templates._templates, Spec(KernelEngine(), preload), template)
    yield
    template.close()


async def live(number: int) -> None:
    """A session with a step that ends well and one that takes too long."""
    async with isolated() as executor:
        code = f"n = {number}\nopen('file', 'w').write('x')\nn"
        assert await value_of(executor, code) == number
        hurry(executor, 0.05)
        assert (await executor.run("while True: pass")).timed_out


async def gone(before: Belongings) -> None:
    """See that there is no more than before."""
    await soon(lambda: sandbox_processes() <= before.processes)
    await soon(lambda: threading.active_count() <= before.threads)
    after = belongings()
    assert after.descriptors <= before.descriptors
    assert after.resident < before.resident + MOST_GROWTH


@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize("locks", ["all locks"], indirect=True)
async def test_nothing_stays_of_sessions_one_after_the_other(locks: None, part: int) -> None:
    await live(part)
    before = belongings()
    for number in range(IN_ONE_TEST):
        await live(number)
    await gone(before)


@pytest.mark.parametrize("locks", LOCKS, indirect=True)
async def test_nothing_stays_of_sessions_side_by_side(locks: None) -> None:
    await live(0)
    await asyncio.gather(*(live(number) for number in range(SIDE_BY_SIDE)))
    before = belongings()
    await asyncio.gather(*(live(number) for number in range(SIDE_BY_SIDE)))
    await gone(before)


async def test_nothing_stays_of_an_executor_that_is_dropped() -> None:
    executor = isolated()
    await value_of(executor, "n = 1")
    before = sandbox_processes()
    other = isolated()
    await value_of(other, "n = 1")
    assert sandbox_processes() > before
    del other
    gc.collect()
    await soon(lambda: sandbox_processes() <= before)
    assert await value_of(executor, "n") == 1
    await executor.aclose()


def working_folder(pid: int) -> Path | None:
    """Of a process, if it is still there: the template's helpers come and go."""
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/cwd").readlink()
    return None


HOST = """
    import asyncio, sys
    from tinyagent.execution.sandbox import templates
    from tinyagent.execution.sandbox.engines.kernel import KernelEngine
    from tinyagent.execution.sandbox.templates import modules_for
    from tinyagent.execution.sandbox.executor import ProcessExecutor

    preload = modules_for((), "")
    spec = templates.Spec(KernelEngine(), preload, frozenset(sys.argv[1:]))
    templates._templates[templates.Spec(spec.engine, preload)] = templates.TemplateHandle(spec)

    async def main():
        running = asyncio.Semaphore(0)
        executors = [ProcessExecutor() for _ in range(10)]
        code = "open('file', 'w').write('x')\\nprint('on')\\nwhile True: pass"
        steps = [
            asyncio.create_task(executor.run(code, on_output=lambda text: running.release()))
            for executor in executors
        ]
        for _ in steps:
            await running.acquire()
        print("running", flush=True)
        await asyncio.wait(steps)

    asyncio.run(main())
"""


@pytest.mark.parametrize("without", [(), ("namespaces",)], ids=["all locks", "without namespaces"])
def test_a_host_that_is_killed_leaves_nothing(without: tuple[str, ...]) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", dedent(HOST), *without], stdout=subprocess.PIPE, text=True
    )
    with host:
        assert host.stdout is not None
        assert host.stdout.readline() == "running\n"
        workers = descendants(host.pid)
        assert len(workers) >= 11
        cwds = set(filter(None, map(working_folder, workers)))
        folders = {path for path in cwds if path.parent.name.startswith("tinyagent-")}
        assert len(folders) == (10 if without else 0)
        host.send_signal(signal.SIGKILL)
    until(lambda: not any(map(is_running, workers)), SPARE_SECONDS)
    until(lambda: not any(folder.parent.exists() for folder in folders), SPARE_SECONDS)
