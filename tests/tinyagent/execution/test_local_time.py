# ruff: noqa: E501 - programs are kept as they are
from __future__ import annotations

import asyncio
import threading

import pytest

from tinyagent.execution.limits import ExecutionLimits
from tinyagent.execution.local import LocalExecutor
from tinyagent.execution.local import session as local_session
from tinyagent.execution.local import step as local_step
from tinyagent.execution.protocol import ExecutionResult

SHORT = ExecutionLimits(timeout_seconds=0.2)
STUCK = "import hashlib\nhashlib.pbkdf2_hmac('sha256', b'x', b'y', 5_000_000)"
"""Some seconds in C, with the GIL released."""

HANGS = {
    "loop": "while True: pass",
    "loop of calls": "def f(): pass\nwhile True: f()",
    "comprehension": "import itertools\n[0 for _ in itertools.count() if 0]",
    "sum in C": "sum(range(10 ** 12))",
    "max of a map in C": "max(map(abs, range(10 ** 12)))",
    "any over all permutations": "import itertools\nany(p == 0 for p in itertools.permutations(range(50)))",
    "bare except": "while True:\n    try:\n        while True: pass\n    except: pass",
    "except BaseException": "def f():\n    while True:\n        try:\n            for _ in iter(int, 1): pass\n        except BaseException as e: continue\nf()",
    "finally continue": "while True:\n    try:\n        while True: pass\n    finally: continue",
    "finally return": "def f():\n    try:\n        while True: pass\n    finally: return 1\nwhile True: f()",
    "suppress": "from contextlib import suppress\nwhile True:\n    with suppress(BaseException):\n        while True: pass",
    "exit returns true": "class C:\n    def __enter__(self): pass\n    def __exit__(self, *a): return True\nwhile True:\n    with C():\n        while True: pass",
    "except star": "while True:\n    try:\n        while True: pass\n    except* BaseException: pass",
    "handler loops": "try: 1 / 0\nexcept ZeroDivisionError:\n    while True:\n        try: raise ValueError\n        except BaseException: pass",
    "recursion": "def f():\n    try: f()\n    finally: f()\nf()",
    "generator": "def g():\n    while True:\n        try: yield\n        except BaseException: pass\nfor _ in g(): pass",
    "generator that will not close": "def g():\n    try: yield\n    finally:\n        while True: pass\nfor _ in g(): break",
    "lambda": "(lambda f: f(f))((lambda f: [f(f) for _ in range(9)] if len(vars()) > 99 else [0 for _ in iter(int, 1)]))",
    "property": "class A:\n    @property\n    def x(self):\n        while True: pass\nA().x",
    "repr of the value": "class A:\n    def __repr__(self):\n        while True: pass\nA()",
    "text of the error": "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
    "sleep": "import time\ntime.sleep(60)",
    "sort": "sorted(range(10 ** 9), key=lambda x: x)",
    "library code": "import difflib\ndifflib.SequenceMatcher(None, 'ab' * 9000, 'ba' * 9000, autojunk=False).ratio()",
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the finalizer's
@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # Python 3.14 warns of a return in a finally
@pytest.mark.parametrize("code", HANGS.values(), ids=HANGS)
async def test_what_does_not_end_is_ended(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_step, "GRACE_SECONDS", 20)  # however busy the machine is
    async with LocalExecutor(limits=SHORT) as executor:
        await executor.run("x = 1")
        result = await executor.run(code)
        assert result.timed_out
        assert "time limit of 0.2 s is over" in (result.error or "")
        assert not result.state_lost
        assert (await executor.run("x")).value == 1
    _no_code_runs()


def _is_running() -> bool:
    return any(thread.name == "tinyagent-code" for thread in threading.enumerate())


def _no_code_runs() -> None:
    for thread in threading.enumerate():
        if thread.name == "tinyagent-code":
            thread.join(40)
            assert not thread.is_alive()


async def test_the_line_that_took_too_long_is_told() -> None:
    result = await LocalExecutor(limits=SHORT).run("x = 1\ndef f():\n    while x: pass\nf()")
    assert "  line 4\n    f()\n  line 3, in f\n" in (result.error or "")
    assert "TimeoutError: the time limit" in (result.error or "")


async def test_code_stuck_in_c_is_left_behind_and_said() -> None:
    async with LocalExecutor(limits=SHORT) as executor:
        await executor.run("x = 1")
        result = await executor.run(STUCK)
        assert (result.timed_out, result.state_lost) == (True, True)
        assert _is_running()
        assert result.duration_seconds >= 0.4
        assert "At line 2" in (result.error or "")
        assert "left behind" in (result.error or "")
        assert "NameError" in ((await executor.run("x")).error or "")
    _no_code_runs()


async def test_what_was_printed_before_the_end_is_kept() -> None:
    result = await LocalExecutor(limits=SHORT).run("print('before')\nwhile True: pass")
    assert result.output == "before\n"


async def test_the_loop_stays_free() -> None:
    ticks = 0
    running = asyncio.ensure_future(LocalExecutor(limits=SHORT).run("while True: pass"))
    while not running.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert ticks >= 3


async def test_time_in_tools_does_not_count() -> None:
    loop, gone = asyncio.get_running_loop(), threading.Event()

    async def slow() -> str:
        await asyncio.sleep(2 * SHORT.timeout_seconds)
        loop.call_later(2 * SHORT.timeout_seconds, gone.set)
        return "async"

    def slow_too() -> str:
        gone.wait(30)
        return "sync"

    executor = LocalExecutor(limits=SHORT)
    executor.inject("slow", slow)
    executor.inject("slow_too", slow_too)
    result = await executor.run("[slow(), slow_too()]")
    assert result.value == ["async", "sync"]
    assert result.duration_seconds >= 4 * SHORT.timeout_seconds


async def test_time_after_a_tool_counts() -> None:
    executor = LocalExecutor(limits=SHORT)
    executor.inject("tool", asyncio.sleep)
    result = await executor.run("while True:\n    tool(0)\n    n = sum(range(20_000))")
    assert result.timed_out


async def _started(executor: LocalExecutor, code: str) -> asyncio.Task[ExecutionResult]:
    """A step that has come so far that it called `ready`."""
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    executor.inject("ready", lambda: loop.call_soon_threadsafe(ready.set))
    task = asyncio.ensure_future(executor.run(code))
    await ready.wait()
    return task


async def test_cancelling_stops_the_code() -> None:
    executor = LocalExecutor()
    task = await _started(
        executor, "x = 1\nready()\nwhile True:\n    try: y = 1\n    except BaseException: pass"
    )
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    _no_code_runs()
    assert (await executor.run("x")).value == 1


async def test_cancelling_reaches_a_tool_that_is_awaited() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def tool() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    executor = LocalExecutor()
    executor.inject("tool", tool)
    task = asyncio.ensure_future(executor.run("tool()"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(cancelled.wait(), 5)
    _no_code_runs()


async def test_cancelling_does_not_wait_for_a_tool_that_blocks() -> None:
    block, started = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def tool() -> None:
        loop.call_soon_threadsafe(started.set)
        block.wait()

    executor = LocalExecutor()
    executor.inject("tool", tool)
    await executor.run("x = 1")
    task = asyncio.ensure_future(executor.run("tool()"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    assert "NameError" in ((await executor.run("x")).error or "")
    block.set()
    _no_code_runs()


@pytest.mark.parametrize("end", ["kill", "reset", "aclose"])
async def test_a_running_step_can_be_ended(end: str) -> None:
    executor = LocalExecutor()
    task = await _started(executor, "ready()\nwhile True: pass")
    outcome = getattr(executor, end)()
    if outcome is not None:
        await outcome
    result = await asyncio.wait_for(task, 5)
    assert result.error == "Stopped by the calling program."
    assert (result.state_lost, result.timed_out) == (True, False)
    _no_code_runs()


async def test_a_step_that_was_left_behind_reaches_nothing() -> None:
    called = False

    def tool() -> None:
        nonlocal called
        called = True

    executor = LocalExecutor(limits=SHORT)
    executor.inject("tool", tool)
    assert (await executor.run(f"{STUCK}\ntool()")).state_lost
    _no_code_runs()
    assert not called


async def test_many_late_sessions_at_once() -> None:
    codes = ["while True: pass", "while True:\n    try: pass\n    except: pass"] * 10
    executors = [LocalExecutor(limits=SHORT) for _ in codes]
    ran = [executor.run(code) for executor, code in zip(executors, codes, strict=True)]
    results = await asyncio.gather(*ran)
    assert all(result.timed_out for result in results)
    _no_code_runs()


@pytest.mark.parametrize(
    "body",
    [
        "    finally:\n        while True: pass",
        "    except BaseException:\n        while True: pass",
        "    finally:\n        while True:\n            try: pass\n            except: pass",
    ],
)
async def test_a_generator_is_closed_whatever_it_does(body: str) -> None:
    async with LocalExecutor() as executor:
        result = await executor.run(f"def g():\n    try: yield 1\n{body}\ni = g()\nnext(i)\ni")
    generator = result.value
    del result
    generator.close()


async def test_a_function_that_does_not_end_is_ended_outside_of_its_step_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_session, "_OUTSIDE_SECONDS", 0.05)
    result = await LocalExecutor().run("def f():\n    while True: pass\nf")
    with pytest.raises(TimeoutError, match=r"ran on for 0\.05 s"):
        result.value()
