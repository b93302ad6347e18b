"""What is lost when a step goes wrong, and what is not; going back; no checkpoints."""

from __future__ import annotations

import sys
import time
from ctypes.util import find_library

import pytest
from tests.support.execution import (
    SPARE_SECONDS,
    ended_well,
    hurry,
    isolated,
    sandbox_processes,
    value_of,
    within,
)
from tests.support.waits import soon

from tinyagent import Sandbox
from tinyagent.core.errors import CallerError
from tinyagent.execution.protocol import ExecutionResult
from tinyagent.execution.sandbox.executor import ProcessExecutor

MIB = 2**20

TOO_LONG = {
    "an endless loop": "while True: pass",
    "a long calculation in C": "10 ** 10 ** 8",
    "a loop that catches everything": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    ),
    "endless printing": "while True: print('x' * 1000)",
    "waiting": "import select\nwhile True: select.select([], [], [], 5)",
    "a thread that goes on": (
        "import threading\ndef spin():\n    while True: pass\n"
        "threading.Thread(target=spin).start()\nwhile True: pass"
    ),
    "a backtracking pattern": "import re\nre.match('(a+)+$', 'a' * 50 + 'b')",
    "children that go on": (
        "import os\nfor _ in range(4):\n    if os.fork() == 0:\n        while True: pass\n"
        "while True: pass"
    ),
}
CRASHES = {
    "exit": ("import os\nos._exit(1)", "exit code 1"),
    "a segmentation fault": ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
    "abort": ("import os\nos.abort()", "killed by"),
}
if sys.version_info < (3, 12):  # later ones raise a RecursionError, whatever the limit
    CRASHES["a full stack"] = (
        (
            "import sys\nsys.setrecursionlimit(10**8)\nclass A:\n"
            "    def __repr__(self): return repr(self)\nrepr(A())"
        ),
        "killed by",
    )
MEMORY = {
    "20 GB at once": "rows = [0] * (20 * 2**30 // 8)",
    "a bytearray that grows": "data = bytearray()\nwhile True: data += bytes(2**22)",
    "lists that grow": "rows = []\nwhile True: rows.append([0] * 100_000)",
    "a text that doubles": "text = 'x'\nwhile True: text += text",
}


@pytest.mark.parametrize("code", TOO_LONG.values(), ids=TOO_LONG)
async def test_a_step_that_takes_too_long_loses_only_itself(code: str) -> None:
    async with isolated() as executor:
        await value_of(executor, "rows = [1]")
        await value_of(executor, "rows.append(2)")
        before = sandbox_processes()
        hurry(executor, 0.4)
        started = time.monotonic()
        result = await executor.run(f"rows.append(3)\n{code}")
        hurry(executor, 20)
        assert result.timed_out
        assert result.error is not None
        assert result.error.startswith("the step was stopped after 0.4 s")
        assert (result.value, result.is_final, result.out_of_memory) == (None, False, False)
        assert not result.state_lost
        await soon(lambda: sandbox_processes() <= before)
        assert await value_of(executor, "rows") == [1, 2]
        assert time.monotonic() - started < 0.4 + SPARE_SECONDS


@pytest.mark.parametrize(("code", "message"), CRASHES.values(), ids=CRASHES)
async def test_a_step_whose_process_ends_loses_only_itself(code: str, message: str) -> None:
    async with isolated(imports=["ctypes"]) as executor:
        await value_of(executor, "rows = [1]")
        await value_of(executor, "rows.append(2)")
        result = await executor.run(f"rows.append(3)\nprint('before')\n{code}")
        assert message in (result.error or "")
        assert result.output == "before\n"
        assert not result.timed_out
        assert not result.state_lost
        assert await value_of(executor, "rows") == [1, 2]


@pytest.mark.parametrize("code", MEMORY.values(), ids=MEMORY)
async def test_memory_beyond_the_limit_is_refused(code: str) -> None:
    async with isolated(within(30, max_memory_bytes=64 * MIB)) as executor:
        await value_of(executor, "kept = [1]")
        result = await executor.run(code)
        assert result.out_of_memory
        assert not result.timed_out
        assert "memory" in (result.error or "")
        assert await value_of(executor, "kept") == [1]


async def test_memory_of_all_processes_counts_together() -> None:
    limits = within(20, max_memory_bytes=100 * MIB, max_processes=20)
    async with isolated(limits) as executor:
        await value_of(executor, "kept = [1]")
        result = await executor.run(
            "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n"
            "        data = bytearray(80 * 2**20)\n"
            "        for at in range(0, len(data), 4096): data[at] = 1\n"
            "        while True: time.sleep(1)\n"
            "while True: time.sleep(1)"
        )
        assert result.out_of_memory  # one of the processes has reported it
        assert not result.timed_out
        assert await value_of(executor, "kept") == [1]


async def test_memory_of_a_numpy_array_counts_when_it_is_touched() -> None:
    async with isolated(within(20, max_memory_bytes=200 * MIB)) as executor:
        await value_of(executor, "import numpy\nkept = numpy.arange(3)")
        result = await executor.run("many = [numpy.ones(2**20) for _ in range(100)]")
        assert result.out_of_memory
        assert await value_of(executor, "kept.tolist()") == [0, 1, 2]


async def test_an_exception_keeps_what_was_done_before_it() -> None:
    async with isolated() as executor:
        result = await executor.run("x = 1\nprint(x)\ny = 1 / 0\nx = 2")
        assert result.output == "1\n"
        assert result.error == (
            "Traceback (most recent call last):\n  line 3\n    y = 1 / 0\n"
            "ZeroDivisionError: division by zero\n"
        )
        assert await value_of(executor, "x") == 1


@pytest.mark.parametrize("error", ["SystemExit(3)", "KeyboardInterrupt", "GeneratorExit"])
async def test_no_exception_ends_the_session(error: str) -> None:
    async with isolated() as executor:
        await value_of(executor, "x = 1")
        assert error.partition("(")[0] in ((await executor.run(f"raise {error}")).error or "")
        assert await value_of(executor, "x") == 1


async def test_going_back_gives_the_variables_of_that_step() -> None:
    async with isolated() as executor:
        for number in range(5):
            await value_of(executor, f"n = {number}")
        executor.rewind()
        assert await value_of(executor, "n") == 3
        executor.rewind(3)
        assert await value_of(executor, "n") == 1
        assert (await executor.run("n = 9\n1/0")).error is not None
        executor.rewind()
        assert await value_of(executor, "n") == 1
        executor.rewind(4)
        assert "NameError" in ((await executor.run("n")).error or "")


async def test_going_back_further_than_is_kept_is_refused() -> None:
    async with isolated(checkpoints=2) as executor:
        with pytest.raises(CallerError, match="0 are kept"):
            executor.rewind()
        for number in range(5):
            await value_of(executor, f"n = {number}")
        for wrong in (0, -1, 3):
            with pytest.raises(CallerError, match="cannot rewind"):
                executor.rewind(wrong)
        executor.rewind(2)
        assert await value_of(executor, "n") == 2
        await executor.reset()
        with pytest.raises(CallerError, match="0 are kept"):
            executor.rewind()


async def test_no_more_processes_are_kept_than_checkpoints_ask_for() -> None:
    async with isolated(checkpoints=2) as executor:
        await value_of(executor, "n = 0")
        before = len(sandbox_processes())
        for number in range(6):
            await value_of(executor, f"n = {number}")
        await soon(lambda: len(sandbox_processes()) <= before + 2)
        assert await value_of(executor, "n") == 5


async def test_what_a_step_leaves_running_ends_with_it() -> None:
    async with isolated() as executor:
        await value_of(executor, "n = 0")
        before = sandbox_processes()
        code = "import os, time\nfor _ in range(3):\n    if os.fork() == 0: time.sleep(1000)\n"
        result = await executor.run(code + "n = 1")
        assert ended_well(result)
        await soon(lambda: len(sandbox_processes()) <= len(before) + 1)
        assert await value_of(executor, "n") == 1


async def test_a_child_that_continues_as_the_step_does_not_forge_a_second_result() -> None:
    async with isolated() as executor:
        for number in range(5):
            result = await executor.run(f"import os\nchild = os.fork()\nn = {number}\nn")
            assert isinstance(result, ExecutionResult)
        assert await value_of(executor, "1 + 1") == 2


async def test_many_failing_steps_one_after_the_other() -> None:
    async with isolated() as executor:
        for number in range(8):
            assert await value_of(executor, f"n = {number}\nn") == number
            hurry(executor, 0.15)
            assert (await executor.run("while True: pass")).timed_out
            hurry(executor, 20)
            assert "exit code 3" in ((await executor.run("import os\nos._exit(3)")).error or "")
            assert await value_of(executor, "n") == number


async def test_without_checkpoints_variables_live_on_as_long_as_all_goes_well() -> None:
    async with isolated(checkpoints=0) as executor:
        await value_of(executor, "n = 1")
        assert (await executor.run("n = 2\n1/0")).error is not None
        assert await value_of(executor, "n") == 2
        with pytest.raises(CallerError, match="0 are kept"):
            executor.rewind()
        assert "Error" in ((await executor.run("import os\nos.fork()")).error or "")


@pytest.mark.parametrize("code", ["while True: pass", "import os\nos._exit(3)"])
async def test_without_checkpoints_a_step_that_fails_badly_loses_all(code: str) -> None:
    async with isolated(checkpoints=0) as executor:
        executor.inject("given", 5)
        await value_of(executor, "n = 1")
        hurry(executor, 0.3 if "while" in code else 20)
        result = await executor.run(code)
        hurry(executor, 20)
        assert result.state_lost
        assert (result.error or "").endswith("all variables are lost")
        assert result.timed_out == ("while" in code)
        fresh = await executor.run("n")
        assert "NameError" in (fresh.error or "")
        assert not fresh.state_lost
        assert await value_of(executor, "given") == 5


async def test_without_checkpoints_memory_is_limited_too() -> None:
    limits = within(20, max_memory_bytes=64 * MIB)
    async with isolated(limits, checkpoints=0) as executor:
        await value_of(executor, "n = 1")
        assert (await executor.run("x = bytes(10**9)")).out_of_memory
        assert await value_of(executor, "n") == 1


async def test_without_checkpoints_cpu_time_does_not_add_up() -> None:
    code = "import resource\nlimit = resource.getrlimit(resource.RLIMIT_CPU)[0]\n"
    async with isolated(imports=["resource"], checkpoints=2) as executor:
        assert await value_of(executor, f"{code}0 < limit < 10_000")
    async with isolated(imports=["resource"], checkpoints=0) as executor:
        assert await value_of(executor, f"{code}limit == resource.RLIM_INFINITY")


POOL = """
import ctypes
libc = ctypes.CDLL(None)
thread, name = ctypes.c_ulong(), ctypes.create_string_buffer(16)
libc.prctl(16, name)
libc.prctl(15, b"pool-0")  # which the thread inherits
libc.pthread_create(ctypes.byref(thread), None, libc.sleep, ctypes.c_void_p(1000))
libc.prctl(15, name)
x = 1
"""


@pytest.mark.parametrize("level", ["local", "isolated"])
async def test_while_a_library_keeps_threads_no_state_is_kept(level: str) -> None:
    extra = ["ctypes", "os"] if level == "local" else ["*"]
    async with ProcessExecutor(Sandbox(level, limits=within(), imports=extra)) as executor:
        await value_of(executor, "x = 0")
        process = await value_of(executor, f"{POOL}\nimport os\nos.getpid()")
        assert await value_of(executor, "x += 1\nos.getpid()") == process
        with pytest.raises(CallerError, match="0 are kept"):
            executor.rewind()
        assert await value_of(executor, "x") == 2
        hurry(executor, 0.3)
        lost = await executor.run("while True: pass")
        assert lost.state_lost
        assert lost.timed_out
        assert "no earlier state was kept, because of threads such as pool-0" in str(lost.error)
        hurry(executor, 20)
        assert await value_of(executor, "y = 5") is None
        await value_of(executor, "y = 6")
        executor.rewind()
        assert await value_of(executor, "y") == 5


OPENMP = """
import ctypes
openmp, libc = ctypes.CDLL("libgomp.so.1"), ctypes.CDLL(None)
def work():
    openmp.GOMP_parallel(ctypes.cast(libc.getpid, ctypes.c_void_p), None, 2, 0)
    return 1
work()
"""
EXECUTOR = """
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(2)
def work():
    return next(pool.map(abs, [1, -2]))
work()
"""
without_openmp = pytest.mark.skipif(find_library("gomp") is None, reason="needs libgomp")


@pytest.mark.parametrize(
    ("code", "name"),
    [pytest.param(OPENMP, "libgomp", marks=without_openmp), (EXECUTOR, "thread pool")],
)
@pytest.mark.parametrize("level", ["local", "isolated"])
async def test_pools_work_over_steps_with_checkpoints(level: str, code: str, name: str) -> None:
    extra = ["ctypes", "concurrent"] if level == "local" else ["*"]
    async with ProcessExecutor(Sandbox(level, limits=within(), imports=extra)) as executor:
        await value_of(executor, code)
        results = [await executor.run("work()") for _ in range(3)]
        assert [result.value for result in results] == [1, 1, 1]
        assert name in results[0].note
        assert [result.note for result in results[1:]] == ["", ""]


async def test_processes_of_a_step_beside_such_threads_are_swept() -> None:
    code = "import os, time\nif not os.fork():\n    time.sleep(100)\nx = 2"
    async with isolated(imports=["*"]) as executor:
        await value_of(executor, POOL)
        before = sandbox_processes()
        await value_of(executor, code)
        assert await value_of(executor, "x") == 2
        await soon(lambda: sandbox_processes() == before)


async def test_pythons_own_threads_change_nothing() -> None:
    code = "import threading, time\nthreading.Thread(target=time.sleep, args=(100,)).start()\nx = 1"
    async with isolated() as executor:
        await value_of(executor, code)
        await value_of(executor, "x = 2")
        executor.rewind()
        assert await value_of(executor, "x") == 1
