"""What all processes of a session take together, measured on the host while they try for more."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest
from tests.support.execution import isolated, sandbox_processes, value_of, within

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="needs the kernel's locks"),
]

MEGA = 2**20
LIMIT = 128 * MEGA
# The step and the state before it may each take the limit, and all together a fifth more.
MOST = 2.4 * LIMIT

FILL = """
import ctypes, mmap, os, signal, time
def fill(megas):
    held = []
    try:
        for _ in range(megas): held.append(bytearray(b"x") * 2**20)
    except MemoryError:
        pass
    return held
"""
FORKING = {
    "forty processes that fill": """
for _ in range(40):
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        held = fill(100)
        while True: signal.pause()
time.sleep(1.5)
""",
    "processes that fork on": """
try:
    for _ in range(6): os.fork()
except OSError:
    pass
held = fill(100)
time.sleep(1.5)
while os.getpid() != FIRST: signal.pause()
""",
    "threads that fork at once": """
import threading
threading.stack_size(2**16)
go = threading.Event()
def work():
    go.wait()
    for _ in range(5):
        try:
            pid = os.fork()
        except OSError:
            return
        if pid == 0:
            held = fill(100)
            while True: signal.pause()
threads = [threading.Thread(target=work, daemon=True) for _ in range(8)]
for each in threads: each.start()
go.set()
time.sleep(2)
""",
    "what is shared, written by each": """
held = fill(30)
for _ in range(40):
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        while True:
            for each in held: each[::4096] = os.urandom(256)
time.sleep(1.5)
""",
}


@pytest.fixture
def busy_machine() -> Generator[None]:
    """Every core has other work to do."""
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"], stdin=subprocess.DEVNULL)
        for _ in range(3)
    ]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


class Gauge:
    """Watches the sandbox's processes from a thread; `most` is the largest sum that it saw."""

    def __init__(self) -> None:
        self.most = 0
        self.readings = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(0.005):
            self.most = max(self.most, memory_of_sessions())
            self.readings += 1


def memory_of_sessions() -> int:
    """Bytes of memory that all sandbox processes hold, each shared page counted once."""
    return sum(map(_share_of, sandbox_processes()))


def _share_of(pid: int) -> int:
    with suppress(OSError):  # it has ended, or is about to
        if Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() != "session":
            return 0
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        fields = ("Pss_Anon:", "Pss_Shmem:")
        return sum(int(line.split()[1]) for line in lines if line.startswith(fields)) * 1024
    return 0


@pytest.mark.usefixtures("busy_machine")
@pytest.mark.parametrize("code", FORKING.values(), ids=FORKING)
async def test_processes_together_keep_to_the_limit(code: str) -> None:
    bounds = within(30, max_memory_bytes=LIMIT, max_file_bytes=MEGA, max_processes=60)
    async with isolated(bounds, imports="*") as executor:
        await value_of(executor, f"{FILL}\nkept = 41\nFIRST = 0")
        bare = memory_of_sessions()
        with Gauge() as gauge:
            await executor.run(f"FIRST = os.getpid()\n{code}")
        assert gauge.readings
        assert gauge.most <= MOST + bare
        assert await value_of(executor, "kept + 1") == 42


@pytest.mark.usefixtures("busy_machine")
async def test_states_and_what_they_left_running_keep_to_the_limit() -> None:
    bounds = within(30, max_memory_bytes=LIMIT, max_file_bytes=MEGA)
    async with isolated(bounds, imports="*") as executor:
        await value_of(executor, FILL)
        bare = memory_of_sessions()
        writes = "for _ in range(3):\n    for each in held: each[::4096] = os.urandom(256)"
        thread = "def write():\n  while True:\n   for each in held: each[::4096] = os.urandom(256)"
        with Gauge() as gauge:
            await executor.run("held = fill(90)")
            for _ in range(4):
                await executor.run(
                    f"import threading\n{writes}\n{thread}\n"
                    "threading.Thread(target=write, daemon=True).start()"
                )
        assert gauge.most <= MOST + bare
        assert await value_of(executor, "len(held)") == 90
