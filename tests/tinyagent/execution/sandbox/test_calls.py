from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.execution import isolated, value_of
from tests.support.waits import SECONDS

from tinyagent.execution.sandbox.calls import answer_call
from tinyagent.execution.sandbox.channel import read
from tinyagent.execution.sandbox.worker.codec.values import decode
from tinyagent.execution.sandbox.worker.codec.wire import Frame, FrameReader, Kind, WireError, pack


def call(name: str, *args: Any, **kwargs: Any) -> Frame:
    return Frame(Kind.CALL, {"id": 7, "name": name, "args": list(args), "kwargs": kwargs})


async def answered(tools: dict[str, Callable[..., Any]], frame: Frame) -> Frame:
    frames = FrameReader().feed(b"".join((await answer_call(tools, frame)).parts))
    assert [frame.kind for frame in frames] == [Kind.RETURN]
    assert frames[0].body["id"] == 7
    return frames[0]


async def test_a_call_is_answered_with_the_result() -> None:
    tools = {"add": lambda one, *, two: {"sum": one + two, "raw": b"\0"}}
    answer = await answered(tools, call("add", 1, two=2))
    assert decode(answer.body["value"], answer.blob) == {"sum": 3, "raw": b"\0"}


async def test_an_unknown_tool_is_an_error_that_names_it() -> None:
    error = (await answered({}, call("nothing"))).body["error"]
    assert error["type"] == "NameError"
    assert "'nothing'" in error["message"]


async def test_a_result_too_large_is_reported_to_the_code() -> None:
    tools = {"huge": lambda: bytes(40 << 20), "many": lambda: list(range(1_100_000))}
    for name in tools:
        error = (await answered(tools, call(name))).body["error"]
        assert error["type"] == "ValueError"
        assert "too large" in error["message"]


async def test_tools_of_every_kind_are_called() -> None:
    class Shout:
        async def __call__(self, text: str) -> str:
            return text + "!"

        def method(self, text: str) -> str:
            return text + "?"

    async def add(one: int, two: int = 2) -> int:
        await asyncio.sleep(0)
        return one + two

    def later(number: int) -> Any:
        return add(number)

    async with isolated() as executor:
        executor.inject("add", add)
        executor.inject("later", later)
        executor.inject("shout", Shout())
        executor.inject("ask", Shout().method)
        executor.inject("build", dict)
        assert await value_of(executor, "add(1), add(1, two=5), later(3)") == (3, 6, 5)
        assert await value_of(executor, "shout('a') + ask('b')") == "a!b?"
        assert await value_of(executor, "build(a=1)") == {"a": 1}
        assert await value_of(executor, "list(map(add, range(3)))") == [2, 3, 4]


async def test_a_sync_tool_runs_off_the_loop() -> None:
    threads: list[str] = []
    async with isolated() as executor:
        executor.inject("tool", lambda: threads.append(threading.current_thread().name))
        await value_of(executor, "tool()")
    assert threads != [threading.current_thread().name]


async def test_what_a_tool_raises_the_code_may_catch() -> None:
    class OwnError(Exception):
        pass

    def refuse(kind: str) -> None:
        if kind == "own":
            raise OwnError("mine")
        if kind == "key":
            raise KeyError("name", 3)
        if kind == "os":
            raise FileNotFoundError(2, "not there", "/secret/path")
        raise ValueError

    async with isolated() as executor:
        executor.inject("refuse", refuse)
        code = "try:\n    refuse(kind)\nexcept Exception as error:\n    e = error\n"
        seen = {}
        for kind in ("own", "key", "os", "value"):
            await value_of(executor, f"kind = {kind!r}\n" + code)
            seen[kind] = await value_of(executor, "type(e).__name__, str(e)")
        assert seen["own"][0] == "RuntimeError"
        assert "OwnError" in seen["own"][1]
        assert "mine" in seen["own"][1]
        assert seen["key"] == ("KeyError", str(KeyError("name", 3)))
        assert seen["os"][0] in {"FileNotFoundError", "OSError"}
        assert seen["value"] == ("ValueError", "")


async def test_an_error_that_repeats_a_large_argument_is_raised_shortened() -> None:
    class Unprintable(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def refuse(kind: str, text: str) -> None:
        if kind == "unprintable":
            raise Unprintable(object())
        if kind == "number":
            raise ValueError(1 << 100_000)
        raise {"value": ValueError, "key": KeyError, "own": TimeoutError}[kind](text, text)

    async with isolated() as executor:
        executor.inject("refuse", refuse)
        code = (
            "try:\n    refuse(kind, 'x' * 4_000_000)\n"
            "except Exception as error:\n    e = error\ntype(e).__name__, len(str(e))"
        )
        for kind, name in (("value", "ValueError"), ("key", "KeyError"), ("own", "TimeoutError")):
            seen = await value_of(executor, f"kind = {kind!r}\n{code}")
            assert seen[0] == name
            assert 10_000 < seen[1] < 100_000
        for kind, name in (("unprintable", "RuntimeError"), ("number", "ValueError")):
            seen = await value_of(executor, f"kind = {kind!r}\n{code}")
            assert (seen[0], seen[1] < 1000) == (name, True)


async def test_a_call_of_nobody_is_answered_before_its_arguments_are_read() -> None:
    body = {"id": 7, "name": "nobody", "args": [{"$": "forged"}], "kwargs": {}}
    (packet,) = FrameReader().split(pack(Frame(Kind.CALL, body)))
    unread = read(packet, {"known"})
    assert "'nobody'" in (await answered({}, unread)).body["error"]["message"]
    with pytest.raises(WireError):
        read(packet, {"nobody"})


async def test_the_time_of_a_tool_is_its_own() -> None:
    async def short() -> None:
        """Does nothing."""

    slow = await answer_call({"f": lambda: time.sleep(0.05)}, call("f"))
    assert slow.seconds >= 0.05
    assert (await answer_call({"f": short}, call("f"))).seconds < slow.seconds


async def test_an_uncaught_error_of_a_tool_shows_no_line_of_the_host() -> None:
    def tool() -> None:
        raise ValueError("a message")

    async with isolated() as executor:
        executor.inject("tool", tool)
        error = (await executor.run("x = 1\ntool()")).error
    assert error is not None
    assert error.startswith("Traceback (most recent call last):\n  line 2\n    tool()\n")
    assert error.endswith("ValueError: a message\n")
    assert "test_calls" not in error
    assert "step.py" not in error


async def test_wrong_arguments_are_the_codes_error() -> None:
    def tool(number: int) -> int:
        return number

    async with isolated() as executor:
        executor.inject("tool", tool)
        error = (await executor.run("tool()")).error or ""
        assert "TypeError" in error
        assert "number" in error
        assert await value_of(executor, "tool(1)") == 1


async def test_tools_are_called_from_threads() -> None:
    async with isolated() as executor:
        executor.inject("double", lambda number: number * 2)
        code = (
            "from concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor(8) as pool:\n"
            "    found = list(pool.map(double, range(100)))\nfound"
        )
        assert await value_of(executor, code) == [number * 2 for number in range(100)]


async def test_a_slow_sync_tool_does_not_hold_up_the_loop() -> None:
    gate = threading.Event()
    async with isolated() as executor:
        executor.inject("wait", lambda: gate.wait(SECONDS))  # False if the loop stands still
        step = asyncio.create_task(executor.run("wait()"))
        async with isolated() as other:
            assert await value_of(other, "1 + 1") == 2
        gate.set()
        assert (await step).value is True


async def test_printing_before_a_call_is_seen_before_it() -> None:
    order: list[str] = []
    async with isolated() as executor:
        executor.inject("tool", lambda: order.append("called"))
        code = "print('before', end='')\ntool()\nprint('after')"
        result = await executor.run(code, on_output=order.append)
    assert order == ["before", "called", "after\n"]
    assert result.output == "beforeafter\n"


async def test_large_arguments_and_results_cross() -> None:
    async with isolated() as executor:
        executor.inject("double", lambda data: data * 2)
        assert await value_of(executor, "len(double(b'x' * (8 << 20)))") == 16 << 20


async def test_data_frames_cross_as_arguments_and_results() -> None:
    pd = pytest.importorskip("pandas")

    def enlarge(frame: Any) -> Any:
        return frame.assign(double=frame["n"] * 2)

    async with isolated() as executor:
        executor.inject("enlarge", enlarge)
        executor.inject("given", pd.DataFrame({"n": [1, 2], "name": ["a", None]}))
        code = "import pandas\nbig = enlarge(given)\nbig"
        frame = await value_of(executor, code)
        assert isinstance(frame, pd.DataFrame)
        assert frame["double"].tolist() == [2, 4]
        assert await value_of(executor, "type(big).__name__, big['n'].sum()") == ("DataFrame", 3)
        table = await value_of(executor, "big.to_dict('list')")
        assert table["name"][0] == "a"


async def test_a_tool_kept_from_an_earlier_step_works() -> None:
    async with isolated() as executor:
        executor.inject("tool", lambda number: number + 1)
        await value_of(
            executor, "import functools\nkept = tool\nlater = functools.partial(tool, 5)"
        )
        assert await value_of(executor, "kept(1), later()") == (2, 6)
        executor.rewind()
        assert await value_of(executor, "kept(1), later()") == (2, 6)


async def test_a_tool_gone_from_the_executor_is_an_error_in_the_code() -> None:
    async with isolated() as executor:
        executor.inject("tool", lambda: 1)
        await value_of(executor, "kept = tool\nkept()")
        executor.inject("tool", 5)
        error = (await executor.run("kept()")).error
    assert "NameError" in (error or "")
