from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import os
import random
from pathlib import Path
from typing import Any

import pytest
from tests.support.execution import ended_well, hurry, isolated, sandbox_processes, value_of, within
from tests.support.waits import SECONDS, soon

from tinyagent import Sandbox
from tinyagent.core.errors import CallerError, ConfigurationError
from tinyagent.execution.sandbox.executor import ProcessExecutor


async def test_variables_functions_and_imports_live_on() -> None:
    async with isolated() as executor:
        await value_of(executor, "import math\ndef area(r):\n    return math.pi * r * r\nside = 2")
        await value_of(executor, "class Square:\n    def area(self): return side ** 2")
        assert await value_of(executor, "area(1) + Square().area()") == pytest.approx(7.14159265)


async def test_the_result_of_a_plain_step() -> None:
    async with isolated() as executor:
        result = await executor.run("print('hello')\n6 * 7")
    assert result.output == "hello\n"
    assert (result.value, result.value_text) == (42, "42")
    assert (result.error, result.timed_out, result.out_of_memory) == (None, False, False)
    assert (result.is_final, result.final_value, result.final_metadata) == (False, None, {})
    assert (result.artifacts, result.state_lost) == ((), False)
    assert 0 < result.duration_seconds < 10


@pytest.mark.parametrize(
    ("code", "value", "text"),
    [
        ("x = 1", None, ""),
        ("None", None, ""),
        ("'text'", "text", "'text'"),
        ("1; 2", 2, "2"),
        ("x = 3\nx", 3, "3"),
        ("if True:\n    5", None, ""),
        ("def f(): 1", None, ""),
        ("", None, ""),
        ("# nothing", None, ""),
        ("(yes := 4)", 4, "4"),
        ("[n for n in range(3)]", [0, 1, 2], "[0, 1, 2]"),
    ],
)
async def test_the_last_expression_is_the_value(code: str, value: Any, text: str) -> None:
    async with isolated() as executor:
        result = await executor.run(code)
    assert (result.error, result.value, result.value_text) == (None, value, text)


async def test_what_is_not_data_comes_back_as_its_repr_saying_so() -> None:
    async with isolated() as executor:
        result = await executor.run("class A:\n    def __repr__(self): return 'an A'\nA()")
    assert result.value == "<not data, repr only> an A"
    assert result.value_text == "an A"


async def test_a_repr_that_raises_or_is_endless_is_reported() -> None:
    async with isolated() as executor:
        bad = await executor.run("class A:\n    def __repr__(self): raise OSError('no')\nA()")
        assert bad.error is None
        assert "repr" in bad.value_text
        long = await executor.run("'x' * 1_000_000")
    assert len(long.value) == 1_000_000
    assert len(long.value_text) < 11_000


async def test_a_value_too_large_to_cross_is_reported() -> None:
    async with isolated() as executor:
        result = await executor.run("big = bytes(40 << 20)\nbig")
        assert result.error is None
        assert "too large" in str(result.value)
        assert await value_of(executor, "len(big)") == 40 << 20
        many = await executor.run("list(range(1_100_000))")
        assert ended_well(many)
        assert "too large" in str(many.value)


async def test_data_is_injected_changed_and_keeps_what_the_code_made_of_it() -> None:
    async with isolated() as executor:
        rows = [1, 2]
        executor.inject("rows", rows)
        assert await value_of(executor, "rows.append(3)\nrows") == [1, 2, 3]
        assert rows == [1, 2]
        assert await value_of(executor, "rows") == [1, 2, 3]
        executor.inject("rows", ["new"])
        assert await value_of(executor, "rows") == ["new"]
        assert await value_of(executor, "rows = 5\nrows") == 5
        assert await value_of(executor, "rows") == 5


async def test_what_a_failing_step_was_injected_with_is_there_afterwards() -> None:
    async with isolated() as executor:
        executor.inject("number", 7)
        hurry(executor, 0.2)
        assert (await executor.run("while True: pass")).timed_out
        hurry(executor, 20)
        assert await value_of(executor, "number") == 7


async def test_a_name_is_a_tool_or_a_value_whichever_came_last() -> None:
    async with isolated() as executor:
        executor.inject("thing", 1)
        executor.inject("thing", lambda: "called")
        assert await value_of(executor, "thing()") == "called"
        executor.inject("thing", 2)
        assert await value_of(executor, "thing") == 2


@pytest.mark.parametrize("name", ["", "1a", "a b", "a-b", "a.b"])
def test_a_name_that_is_not_an_identifier_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="name"):
        isolated().inject(name, 1)


async def test_injected_data_comes_back_after_reset_and_after_rewind() -> None:
    async with isolated() as executor:
        executor.inject("first", 1)
        await value_of(executor, "other = 1")
        executor.inject("second", 2)
        assert await value_of(executor, "first + second") == 3
        executor.rewind()
        assert await value_of(executor, "first + second") == 3
        executor.rewind(2)
        assert await value_of(executor, "first + second") == 3
        await executor.reset()
        assert await value_of(executor, "first + second") == 3
        assert "NameError" in ((await executor.run("other")).error or "")


async def test_helpers_and_tools_are_bound_again_at_each_step() -> None:
    async with isolated() as executor:
        executor.inject("tool", lambda: "true")
        await value_of(
            executor,
            "def fake(*a, **k): return 'fake'\nfinal_answer = tool = fake",
        )
        assert await value_of(executor, "tool()") == "true"
        result = await executor.run("final_answer(1)")
    assert (result.is_final, result.final_value) == (True, 1)


async def test_two_runs_at_once_are_refused() -> None:
    async with isolated() as executor:
        waiting = asyncio.Event()

        async def tool() -> None:
            waiting.set()
            await asyncio.Event().wait()

        executor.inject("tool", tool)
        first = asyncio.create_task(executor.run("tool()"))
        await waiting.wait()
        with pytest.raises(CallerError, match="already runs a step"):
            await executor.run("1")
        with pytest.raises(CallerError, match="rewind"):
            executor.rewind()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        executor.inject("tool", lambda: 1)
        assert await value_of(executor, "tool()") == 1


async def test_steps_are_counted_and_reset_starts_again() -> None:
    async with isolated(within(20, max_steps=2)) as executor:
        assert await value_of(executor, "1") == 1
        assert "ZeroDivisionError" in ((await executor.run("1/0")).error or "")
        refused = await executor.run("print('never')")
        assert refused.error == "all 2 steps of this session are used up"
        assert refused.output == ""
        await executor.reset()
        assert await value_of(executor, "3") == 3


async def test_files_are_in_the_working_folder(tmp_path: Path) -> None:
    small, large = tmp_path / "rows.csv", tmp_path / "large.bin"
    small.write_text("a,b\n1,ä\n", encoding="utf-8")
    large.write_bytes(os.urandom(20 << 20))
    empty = tmp_path / "empty"
    empty.touch()
    async with isolated(files=[small, str(large), empty]) as executor:
        code = "import os\nsorted(os.listdir()), open('rows.csv').read()"
        assert await value_of(executor, code) == (["empty", "large.bin", "rows.csv"], "a,b\n1,ä\n")
        code = "import hashlib\nhashlib.sha256(open('large.bin', 'rb').read()).hexdigest()"
        assert await value_of(executor, code) == hashlib.sha256(large.read_bytes()).hexdigest()
        result = await executor.run("open('rows.csv', 'a').write('2,b')")
        assert [item.name for item in result.artifacts] == ["rows.csv"]
        assert small.read_text(encoding="utf-8") == "a,b\n1,ä\n"
        await executor.reset()
        assert await value_of(executor, "open('rows.csv').read()") == "a,b\n1,ä\n"


async def test_a_run_cancelled_while_the_session_starts_leaves_nothing(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(100 << 20)
    async with isolated() as other:
        await value_of(other, "n = 1")
        before = sandbox_processes()
        executor = isolated(files=[large])
        starting = asyncio.create_task(executor.run("1"))
        await soon(lambda: sandbox_processes() - before)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        await executor.aclose()
        await soon(lambda: sandbox_processes() <= before)


def test_a_file_that_does_not_exist_is_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"missing\.csv"):
        isolated(files=[tmp_path / "missing.csv"])


def test_wrong_options_are_reported_at_once() -> None:
    with pytest.raises(ConfigurationError, match="checkpoints must be 0 or more, got -1"):
        ProcessExecutor(Sandbox(checkpoints=-1))
    with pytest.raises(ConfigurationError, match="engine 'none' does not exist; use one of"):
        ProcessExecutor(Sandbox("sandboxed", engine="none"))
    with pytest.raises(ConfigurationError, match="no trust level 'unheard'; use local, isolated"):
        ProcessExecutor(Sandbox("unheard"))


async def test_kill_and_close_may_be_called_at_any_time() -> None:
    executor = isolated()
    executor.kill()
    await executor.aclose()
    async with executor:
        await value_of(executor, "x = 1")
        executor.kill()
        executor.kill()
        assert "NameError" in ((await executor.run("x")).error or "")
    await executor.aclose()
    assert await value_of(executor, "2") == 2
    await executor.aclose()


async def test_kill_ends_what_runs() -> None:
    async with isolated() as executor:
        await value_of(executor, "x = 1")
        seen: list[str] = []
        running = asyncio.create_task(
            executor.run("print('started')\nwhile True: pass", on_output=seen.append)
        )
        await soon(lambda: seen)
        executor.kill()
        result = await asyncio.wait_for(running, SECONDS)
        assert result.error is not None
        assert not result.timed_out
        assert result.state_lost
        assert "NameError" in ((await executor.run("x")).error or "")


async def test_a_seed_holds_over_steps_as_in_plain_python() -> None:
    plain = random.Random(42)  # noqa: S311 - what the code draws from
    expected = [plain.random() for _ in range(4)]
    async with isolated() as executor:
        await value_of(executor, "import random\nrandom.seed(42)")
        drawn = [await value_of(executor, "random.random()") for _ in range(4)]
        assert drawn == expected
        executor.rewind(2)
        assert [await value_of(executor, "random.random()") for _ in range(2)] == expected[2:]


async def test_without_a_seed_no_two_sessions_draw_the_same() -> None:
    async with isolated() as one, isolated() as other:
        for code in (
            "import numpy, pandas\nnumpy.random.rand()",
            "import random\nrandom.random()",
            "import uuid\nuuid.uuid4().hex",
        ):
            assert await value_of(one, code) != await value_of(other, code)


async def test_imports_are_those_of_the_list() -> None:
    async with isolated() as executor:
        assert (
            await value_of(executor, "import json, statistics, sqlite3\njson.dumps([1])") == "[1]"
        )
        for code in ("import subprocess", "from ctypes import CDLL", "__import__('socket')"):
            error = (await executor.run(code)).error or ""
            assert "ImportError" in error or "ModuleNotFoundError" in error
            assert "not allowed" in error
        caught = "try:\n    import socket\nexcept ImportError:\n    socket = None\nsocket is None"
        assert await value_of(executor, caught) is True
        late = await executor.run("if False:\n    import socket")
        assert "line 2" in (late.error or "")


async def test_more_imports_are_allowed_by_name_or_all() -> None:
    async with isolated(imports=["socket"]) as executor:
        assert await value_of(executor, "import socket\nsocket.AF_INET.value") == 2
        assert "not allowed" in ((await executor.run("import ctypes")).error or "")
    async with isolated(imports=["*"]) as executor:
        assert await value_of(executor, "import ctypes, socket\nctypes.sizeof(ctypes.c_int)") == 4


async def test_an_extra_module_that_is_not_installed_is_an_ordinary_error() -> None:
    async with isolated(imports=["no_such_module"]) as executor:
        error = (await executor.run("import no_such_module")).error
    assert "ModuleNotFoundError" in (error or "")


async def test_every_kind_of_value_crosses_both_ways() -> None:
    zone = dt.timezone(dt.timedelta(hours=2))
    values = {
        "none": None,
        "numbers": [True, 1, -(10**40), 1.5, float("inf")],
        "text": "ä\0\n" * 200 + "\ud800",
        "binary": bytes(range(256)),
        "nested": {"a": [(1, {2}), frozenset({"x"})], "$": 1, 3: "int key"},
        "when": [dt.datetime(2024, 1, 2, 3, 4, 5, 6, zone), dt.date(2024, 2, 29)],
        "long": dt.timedelta(days=1, microseconds=1),
    }
    async with isolated() as executor:
        for name, value in values.items():
            executor.inject(name, value)
        for name, value in values.items():
            assert await value_of(executor, name) == value
