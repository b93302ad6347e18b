"""Trust level LOCAL: the same session as at the other levels, in a process without locks."""
# ruff: noqa: E501 - programs are kept as they are

from __future__ import annotations

import asyncio
import decimal
import os
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from tests.support.execution import hurry, value_of, within
from tests.support.processes import descendants, is_running, uncollected
from tests.support.waits import soon

from tinyagent import Sandbox
from tinyagent.core.errors import CallerError, ConfigurationError
from tinyagent.execution.protocol import ExecutionResult
from tinyagent.execution.sandbox import templates
from tinyagent.execution.sandbox.engines import kernel
from tinyagent.execution.sandbox.engines.base import BOOT
from tinyagent.execution.sandbox.executor import ProcessExecutor, get_executor
from tinyagent.execution.trust import ExecutionLimits, TrustLevel

SHORT_SECONDS = 0.2

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
    "a hash in C": "import hashlib\nhashlib.pbkdf2_hmac('sha256', b'x', b'y', 500_000_000)",
    "a power in C": "10 ** 10 ** 9",
    "sleep": "import time\ntime.sleep(60)",
    "sort": "sorted([2, 1], key=lambda x: sum(iter(int, 1)))",
    "library code": "import difflib\ndifflib.SequenceMatcher(None, 'ab' * 9000, 'ba' * 9000, autojunk=False).ratio()",
}


def local(limits: ExecutionLimits | None = None, **options: Any) -> ProcessExecutor:
    return ProcessExecutor(Sandbox(TrustLevel.LOCAL, limits=limits or within(), **options))


async def run(code: str, **injected: Any) -> ExecutionResult:
    async with local() as executor:
        for name, value in injected.items():
            executor.inject(name, value)
        return await executor.run(code)


async def ready(**options: Any) -> ProcessExecutor:
    """An executor whose session runs, so that a short time limit is for the code alone."""
    executor = local(**options)
    assert await value_of(executor, "x = 1\nx") == 1
    hurry(executor, SHORT_SECONDS)
    return executor


# time


@pytest.mark.parametrize("code", HANGS.values(), ids=HANGS)
async def test_code_that_does_not_end_is_ended_and_loses_only_itself(code: str) -> None:
    async with await ready() as executor:
        result = await executor.run(code)
        assert result.timed_out
        assert "stopped after 0.2 s; the variables are as they were" in (result.error or "")
        assert not result.state_lost
        hurry(executor, 20)
        assert (await executor.run("x")).value == 1


@pytest.mark.parametrize("code", ["while True: pass", HANGS["a hash in C"]])
async def test_without_checkpoints_the_session_is_lost_and_reports_it(code: str) -> None:
    async with await ready(checkpoints=0) as executor:
        result = await executor.run(code)
        assert (result.timed_out, result.state_lost) == (True, True)
        assert "NameError" in ((await executor.run("x")).error or "")


async def test_a_process_that_ends_loses_only_its_step() -> None:
    async with local(imports=["os"]) as executor:
        assert await value_of(executor, "x = 1\nx") == 1
        result = await executor.run("import os\nx = 2\nos._exit(3)")
        assert (result.undone, result.state_lost) == (True, False)
        assert "exit code 3" in (result.error or "")
        assert await value_of(executor, "x") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds a process's memory")
async def test_a_step_that_runs_out_of_memory_loses_only_itself() -> None:
    async with local(within(max_memory_bytes=2**26)) as executor:
        assert await value_of(executor, "x = 1\nx") == 1
        result = await executor.run("x = 'a' * 10 ** 9")
        assert (result.out_of_memory, result.undone) == (True, True)
        assert await value_of(executor, "x") == 1


async def test_states_are_kept_and_gone_back_to() -> None:
    async with local(checkpoints=2) as executor:
        for number in range(5):
            await value_of(executor, f"x = {number}")
        executor.rewind(2)
        assert await value_of(executor, "x") == 2
        with pytest.raises(CallerError, match="cannot rewind"):
            executor.rewind(3)


# what may be imported


async def test_imports_are_those_of_the_list() -> None:
    async with local() as executor:
        assert await value_of(executor, "import json, math\njson.dumps(math.floor(2.5))") == "2"
        for code in ("import os", "from os import path", "def f():\n    import subprocess"):
            error = (await executor.run(code)).error or ""
            assert "is not allowed here" in error


async def test_the_import_is_checked_again_when_it_happens() -> None:
    result = await run("x = 1\n__import__('os')")
    assert "import of 'os' is not allowed here" in (result.error or "")


async def test_modules_are_added_by_name_and_found_where_the_host_finds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_of_this_test.py").write_text("answer = 42")
    monkeypatch.syspath_prepend(tmp_path)
    async with local(imports=["only_of_this_test"]) as executor:
        assert await value_of(executor, "import only_of_this_test as own\nown.answer") == 42


def test_all_imports_at_once_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="name the modules"):
        local(imports=["*"])


@pytest.mark.parametrize("option", [{"engine": "kernel"}, {"without": ["S1"]}, {"require": ["S2"]}])
def test_options_of_locks_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"no option {next(iter(option))}"):
        get_executor(Sandbox("local", **option))


# output and answers


async def test_output_is_bounded_in_memory_and_in_the_result() -> None:
    heard: list[str] = []
    async with local(within(max_output_bytes=1000)) as executor:
        code = "for n in range(200_000): print(n)\nprint('last')"
        result = await executor.run(code, on_output=heard.append)
    assert result.error is None
    assert len(result.output) < 3_100
    assert result.output.startswith("0\n1\n2\n")
    assert result.output.endswith("last\n")
    assert "left out here" in result.output
    assert sum(map(len, heard)) <= 1000


@pytest.mark.parametrize("code", ["_final_result = 5", "is_final = True", "final_answer = 5"])
async def test_an_answer_cannot_be_forged(code: str) -> None:
    assert not (await run(code)).is_final


async def test_the_first_answer_counts_and_ends_the_block() -> None:
    result = await run("final_answer(5, unit='m')\nfinal_answer(6)")
    assert (result.is_final, result.final_value, result.final_metadata) == (True, 5, {"unit": "m"})


# the same contract as at the other levels


async def test_values_cross_as_data_and_tools_are_called_on_the_host() -> None:
    async def double(value: int) -> int:
        await asyncio.sleep(0)
        return 2 * value

    result = await run("print(double(n)[0] if 0 else double(n))\nobject", double=double, n=21)
    assert result.output == "42\n"
    assert result.value == "<not data, repr only> <class 'object'>"


async def test_files_come_in_and_go_out(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("text")
    async with local(files=[tmp_path / "data"]) as executor:
        result = await executor.run("open('copy', 'w').write(open('data').read())")
    assert [(each.name, each.data) for each in result.artifacts] == [("copy", b"text")]


async def test_figures_come_as_at_the_other_levels() -> None:
    async with local(imports=["matplotlib"]) as executor:
        result = await executor.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nNone")
    assert [each.name for each in result.artifacts] == ["step-1-figure-1.png"]


async def test_the_hosts_decimals_random_numbers_and_folder_are_its_own() -> None:
    random.seed(5)
    expected = random.random()  # noqa: S311 - no secret
    random.seed(5)
    before = decimal.getcontext().prec, Path.cwd(), dict(os.environ)
    async with local(imports=["os"]) as executor:
        code = "import random, decimal, os\nrandom.seed(1)\ndecimal.getcontext().prec = 3\n"
        await value_of(executor, f"{code}os.chdir('/')\nos.environ['HOME'] = 'none'")
    assert random.random() == expected  # noqa: S311 - no secret
    assert (decimal.getcontext().prec, Path.cwd(), dict(os.environ)) == before


@pytest.mark.parametrize("level", TrustLevel)
async def test_one_step_runs_at_a_time_at_every_level(level: TrustLevel) -> None:
    async with get_executor(Sandbox(level)) as executor:
        first = asyncio.ensure_future(executor.run("1"))
        await asyncio.sleep(0)
        with pytest.raises(CallerError, match="runs a step"):
            await executor.run("2")
        assert (await first).value == 1


@pytest.mark.parametrize("level", TrustLevel)
async def test_a_closed_executor_starts_again_without_variables_at_every_level(
    level: TrustLevel,
) -> None:
    async with get_executor(Sandbox(level)) as executor:
        await executor.run("x = 1")
    assert "NameError" in ((await executor.run("x")).error or "")
    await executor.aclose()


# processes


async def test_nothing_of_a_session_is_left_running() -> None:
    before = descendants(os.getpid())
    async with local(imports=["os", "time"]) as executor:
        for number in range(12):  # more than are kept
            await value_of(executor, f"x = {number}")
        child = "import os, time\npid = os.fork()\nif pid == 0: time.sleep(600)\npid"
        pid = await value_of(executor, child)
        running = descendants(os.getpid())
        assert is_running(pid)
        zombies = [each for each in running - before if not is_running(each)]
        assert len(zombies) <= 1
    await soon(lambda: not is_running(pid))
    await soon(lambda: not executor_processes(before))


async def test_the_processes_of_a_session_that_has_ended_are_collected() -> None:
    def ended() -> set[int]:
        return {zombie for pid in descendants(os.getpid()) for zombie in uncollected(pid)}

    before = ended()
    for _ in range(3):
        async with local() as executor:
            for number in range(10):
                await value_of(executor, f"x = {number}")
    await soon(lambda: ended() <= before)


def executor_processes(before: set[int]) -> list[str]:
    """The sessions that run besides those of before; one always waits to become the next."""
    names: list[str] = []
    for pid in descendants(os.getpid()) - before:
        try:
            names.append(Path(f"/proc/{pid}/comm").read_text())
        except OSError:  # it has ended
            continue
    return [name for name in names if name == "session\n"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_a_session_ends_with_a_host_that_is_killed() -> None:
    program = """
        import asyncio
        from tinyagent import Sandbox, get_executor

        async def main():
            async with get_executor(Sandbox("local", imports=["os"])) as executor:
                await executor.run("x = 1")
                executor.inject("show", lambda pid: print(pid, flush=True))
                await executor.run("import os\\nshow(os.getpid())\\nwhile True: pass")

        asyncio.run(main())
    """
    with subprocess.Popen(  # noqa: ASYNC220 - it only waits for a line
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE
    ) as host:
        assert host.stdout is not None
        pid = int(host.stdout.readline())
        host.send_signal(signal.SIGKILL)
    await soon(lambda: not is_running(pid))


# other systems


async def test_it_works_without_descriptors_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, where the ends of children are found by looking after them."""
    monkeypatch.setattr(kernel, "BOOT", f"import os; del os.pidfd_open; {BOOT}")
    monkeypatch.setattr(templates, "_templates", {})
    async with await ready(imports=["os"]) as executor:
        assert (await executor.run("while True: pass")).timed_out
        result = await executor.run("import os\nos._exit(3)")
        assert "exit code 3" in (result.error or "")
        assert (await executor.run("x")).value == 1
    templates.close_templates()


_WITHOUT = """
import asyncio, os, signal, socket, sys
for name in ("fcntl", "resource"):
    sys.modules[name] = None
for module, name in ((os, "fork"), (os, "register_at_fork"), (socket, "send_fds")):
    delattr(module, name)
sys.platform = "nowhere"
import tinyagent
from tinyagent.execution.doctor.examine import examine_all

async def main():
    async with tinyagent.get_executor(tinyagent.Sandbox("local")) as executor:
        try:
            await executor.run("1")
        except tinyagent.SandboxUnavailable as error:
            print(error)
    for level in await examine_all(lambda _: None):
        print(level.trust_level, level.unavailable)

asyncio.run(main())
"""


def test_where_there_are_no_forks_it_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    first, *levels = done.stdout.splitlines()
    reason = "it needs os.fork and Unix sockets, which this system does not have"
    assert reason in first
    assert levels[0].startswith("local nothing here can run code at local: plain: it needs os.fork")
