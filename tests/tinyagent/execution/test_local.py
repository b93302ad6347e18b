# ruff: noqa: E501 - programs are kept as they are
from __future__ import annotations

import asyncio
import contextvars
import decimal
import random
import sys
import threading
from typing import Any

import pytest

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.limits import ExecutionLimits, TrustLevel
from tinyagent.execution.local import LocalExecutor
from tinyagent.execution.protocol import ExecutionResult


async def run(code: str, **injected: Any) -> ExecutionResult:
    async with LocalExecutor() as executor:
        for name, value in injected.items():
            executor.inject(name, value)
        return await executor.run(code)


async def test_variables_functions_classes_and_imports_live_on() -> None:
    async with LocalExecutor() as executor:
        first = await executor.run(
            "import math\nclass A:\n    def f(self): return math.floor(x)\ndef g(): return A().f()"
        )
        second = await executor.run("x = 2.5\ng()")
    assert first.error is None
    assert (second.value, second.value_text, second.state_lost) == (2, "2", False)


async def test_sessions_know_nothing_of_each_other() -> None:
    one, two = LocalExecutor(), LocalExecutor()
    await one.run("x = 1\nimport random\nrandom.seed(1)")
    assert "NameError" in ((await two.run("x")).error or "")


@pytest.mark.parametrize(
    ("code", "value", "text"),
    [
        ("x = 1", None, ""),
        ("None", None, ""),
        ("'a'", "a", "'a'"),
        ("1; 2", 2, "2"),
        ("", None, ""),
    ],
)
async def test_the_last_expression_is_the_value(code: str, value: object, text: str) -> None:
    result = await run(code)
    assert (result.value, result.value_text, result.error) == (value, text, None)


async def test_a_long_value_is_told_in_part() -> None:
    result = await run("list(range(100_000))")
    assert len(result.value) == 100_000
    assert len(result.value_text) == 10_000


async def test_what_is_printed_goes_to_the_result_only(capfd: pytest.CaptureFixture[str]) -> None:
    result = await run("print('a', 1, sep='-', end='!')\nprint()\nprint(sep=None, end=None)")
    assert result.output == "a-1!\n\n"
    assert capfd.readouterr() == ("", "")


async def test_output_comes_while_the_code_runs() -> None:
    seen: list[str] = []
    first = asyncio.Event()

    def listen(text: str) -> None:
        seen.append(text)
        first.set()

    executor = LocalExecutor()
    executor.inject("wait", first.wait)
    result = await executor.run("print('one')\nwait()\nprint('two')", on_output=listen)
    assert "".join(seen) == result.output == "one\ntwo\n"
    assert len(seen) == 2


async def test_output_is_bounded_in_memory_and_in_the_result() -> None:
    seen: list[str] = []
    executor = LocalExecutor(limits=ExecutionLimits(max_output_bytes=1000))
    code = "print('first')\nfor i in range(20_000): print(i)\nprint('last')"
    result = await executor.run(code, on_output=seen.append)
    assert len(result.output) <= 1000
    assert result.output.startswith("first\n0\n")
    assert result.output.endswith("last\n")
    total = sum(len(f"{number}\n") for number in range(20_000)) + len("first\nlast\n")
    missing = int(result.output.split("[... ")[1].split(" ")[0].replace(",", ""))
    notice = result.output[result.output.index("\n[...") : result.output.index("...]") + 5]
    assert missing + len(result.output) - len(notice) == total
    assert len("".join(seen)) == 1000


async def test_an_error_shows_the_codes_own_lines() -> None:
    result = await run("def f(x):\n    return 1 / x\n\nf(0)")
    assert result.error == (
        "Traceback (most recent call last):\n  line 4\n    f(0)\n  line 2, in f\n"
        "    return 1 / x\nZeroDivisionError: division by zero\n"
    )


async def test_a_step_that_fails_keeps_what_it_had_set() -> None:
    async with LocalExecutor() as executor:
        failed = await executor.run("x = 1\ny = x / 0\nx = 2")
        assert "line 2" in (failed.error or "")
        assert (await executor.run("x")).value == 1


@pytest.mark.parametrize(
    "code",
    ["raise SystemExit(3)", "raise KeyboardInterrupt", "raise GeneratorExit", "exit()", "quit(2)"],
)
async def test_what_would_end_the_program_is_an_error_of_the_code(code: str) -> None:
    result = await run(code)
    assert "line 1" in (result.error or "")
    assert not result.timed_out


async def test_a_cancellation_raised_by_a_tool_is_an_error_of_the_code() -> None:
    def tool() -> None:
        raise asyncio.CancelledError

    assert "CancelledError" in ((await run("tool()", tool=tool)).error or "")


async def test_code_that_is_no_python_says_where() -> None:
    result = await run("x = 1\ny = (2 +")
    assert "line 2" in (result.error or "")
    assert "SyntaxError" in (result.error or "")
    assert "null bytes" in ((await run("x\x00")).error or "")
    assert "RecursionError" in ((await run("x = " + "1 + " * 5000 + "1")).error or "")


async def test_refused_code_is_not_run_at_all() -> None:
    result = await run("print('ran')\nimport os\nx.__globals__\nasync def f(): pass")
    assert result.output == ""
    for part in ("line 2: import of 'os'", "line 3: the attribute __globals__", "line 4: async"):
        assert part in (result.error or "")


async def test_the_import_is_checked_again_when_it_happens() -> None:
    result = await run("import math, collections.abc, urllib.parse as p\nfrom math import nope")
    assert "math has no nope here. It has: acos" in (result.error or "")


# tools and values of the host


async def test_tools_are_called_as_plain_functions() -> None:
    async def double(x: int) -> int:
        await asyncio.sleep(0)
        return 2 * x

    def add(x: int, *, y: int = 1) -> int:
        return x + y

    result = await run("[double(4), add(1), add(1, y=5), add.__name__]", double=double, add=add)
    assert result.value == [8, 2, 6, "add"]


async def test_tools_run_in_the_callers_context_and_on_its_loop() -> None:
    who = contextvars.ContextVar("who", default="nobody")
    who.set("caller")
    loop = asyncio.get_running_loop()

    async def ask() -> tuple[str, bool]:
        return who.get(), asyncio.get_running_loop() is loop

    result = await run("[ask(), name()]", ask=ask, name=who.get)
    assert result.value == [("caller", True), "caller"]


async def test_what_a_tool_raises_reaches_the_code() -> None:
    class MineError(Exception):
        pass

    async def fail() -> None:
        raise MineError("not today")

    caught = await run("try: fail()\nexcept Exception as e: print(type(e).__name__, e)", fail=fail)
    assert caught.output == "MineError not today\n"
    assert "MineError: not today" in ((await run("fail()", fail=fail)).error or "")


async def test_tools_cannot_be_called_when_the_step_is_over() -> None:
    result = await run("def f(): return tool()\nf", tool=lambda: 1)
    with pytest.raises(RuntimeError, match="only while the code runs"):
        result.value()


async def test_what_is_injected_is_bound_anew_before_each_step() -> None:
    async with LocalExecutor() as executor:
        executor.inject("tool", lambda: "real")
        executor.inject("data", [1])
        await executor.run("tool = lambda: 'forged'\ndata = None\nfinal_answer = print")
        assert (await executor.run("[tool(), data]")).value == ["real", [1]]
        assert (await executor.run("final_answer(1)")).is_final


@pytest.mark.parametrize("name", ["", "1a", "a b", "class", "_x", "__x__", "final_answer"])
def test_a_name_that_cannot_be_one_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError):
        LocalExecutor().inject(name, 1)


async def test_the_hosts_decimals_and_random_numbers_are_its_own() -> None:
    random.seed(5)
    expected = random.random()  # noqa: S311 - no secret
    random.seed(5)
    before = decimal.getcontext().prec
    async with LocalExecutor() as executor:
        await executor.run("import random, decimal\nrandom.seed(1)\ndecimal.getcontext().prec = 3")
        kept = await executor.run("decimal.Decimal(1) / 3")
    assert kept.value == decimal.Decimal("0.333")
    assert random.random() == expected  # noqa: S311 - no secret
    assert decimal.getcontext().prec == before


# the answer


@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # Python 3.14 warns of a return in a finally
@pytest.mark.parametrize(
    "code",
    [
        "final_answer(5, unit='m')\nprint('after')",
        "try:\n    final_answer(5, unit='m')\nexcept BaseException: print('after')",
        "try:\n    final_answer(5, unit='m')\nexcept: pass\nprint('after')",
        "try:\n    final_answer(5, unit='m')\nfinally: print('after')",
        "def f():\n    try: final_answer(5, unit='m')\n    finally: return 1\nf()\nprint('after')",
        "try: final_answer(5, unit='m')\nexcept* BaseException: print('after')\nprint('after')",
        "from contextlib import suppress\nwith suppress(BaseException): final_answer(5, unit='m')\nprint('after')",
        "while True:\n    try: final_answer(5, unit='m')\n    except BaseException: continue",
        "class C:\n    def __enter__(self): pass\n    def __exit__(self, *a): return True\nwith C(): final_answer(5, unit='m')\nprint('after')",
    ],
)
async def test_the_answer_ends_the_block(code: str) -> None:
    result = await run(code)
    assert (result.is_final, result.final_value, result.final_metadata) == (True, 5, {"unit": "m"})
    assert (result.output, result.error, result.timed_out) == ("", None, False)


@pytest.mark.parametrize("code", ["_final_result = 5", "is_final = True", "final_answer = 5"])
async def test_an_answer_cannot_be_forged(code: str) -> None:
    assert not (await run(code)).is_final


async def test_functions_of_the_code_work_on_after_an_answer() -> None:
    result = await run("def f():\n    for i in range(3): pass\n    return i\nfinal_answer(f)")
    assert result.final_value() == 2


# the executor


def test_other_levels_and_all_imports_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="get_executor"):
        LocalExecutor(trust_level=TrustLevel.ISOLATED)
    with pytest.raises(ConfigurationError, match="name the modules"):
        LocalExecutor(extra_imports=["*"])


async def test_modules_can_be_added_and_bring_no_others() -> None:
    async with LocalExecutor(extra_imports=["email"]) as executor:
        good = await executor.run(
            "import email.utils\nfrom email import policy\nimport email\n"
            "(email.utils.parseaddr('A <a@b>'), policy.SMTP.linesep, email.message.Message)"
        )
        assert good.error is None
        for code in ("email.utils.os", "from email.utils import os", "email._policybase"):
            assert "os" in ((await executor.run(code)).error or "os")
            assert (await executor.run(code)).error


async def test_reset_forgets_variables_and_keeps_what_was_injected() -> None:
    async with LocalExecutor() as executor:
        executor.inject("tool", lambda: 3)
        await executor.run("x = 1")
        await executor.reset()
        assert "NameError" in ((await executor.run("x")).error or "")
        assert (await executor.run("tool()")).value == 3


async def test_one_session_runs_one_step_at_a_time() -> None:
    executor = LocalExecutor()
    go = asyncio.Event()
    executor.inject("wait", go.wait)
    first = asyncio.ensure_future(executor.run("wait()"))
    await asyncio.sleep(0)
    with pytest.raises(ConfigurationError, match="a step is running"):
        await executor.run("1")
    go.set()
    assert (await first).value is True


async def test_steps_can_be_limited() -> None:
    executor = LocalExecutor(limits=ExecutionLimits(max_steps=2))
    assert [(await executor.run("1")).error for _ in range(3)] == [
        None,
        None,
        "Not run: all 2 steps of this session are used up.",
    ]


async def test_a_closed_executor_says_so() -> None:
    async with LocalExecutor() as executor:
        pass
    with pytest.raises(ConfigurationError, match="closed"):
        await executor.run("1")


async def test_many_sessions_side_by_side_leave_no_thread() -> None:
    async def one(number: int) -> object:
        async with LocalExecutor() as executor:
            await executor.run(f"x = {number}\ndef f(): return x")
            return (await executor.run("f()")).value

    assert await asyncio.gather(*map(one, range(200))) == list(range(200))
    names = []
    for thread in threading.enumerate():
        if thread.name == "tinyagent-code":
            thread.join(10)
        names += [thread.name] * thread.is_alive()
    assert "tinyagent-code" not in names
    assert names.count("tinyagent-watchdog") == 1


async def test_out_of_memory_is_said() -> None:
    assert (await run("x = 'a' * 10 ** 12")).out_of_memory


def test_making_one_loads_no_restricted_python() -> None:
    import subprocess

    program = (
        "import sys; from tinyagent.execution.local import LocalExecutor; LocalExecutor(); "
        "print('RestrictedPython' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
