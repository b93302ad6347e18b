"""Branches of a session: what each has of its own, and what they share."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.support.execution import ended_well, hurry, isolated, value_of, within

from tinyagent import Sandbox
from tinyagent.core.errors import CallerError, ConfigurationError
from tinyagent.execution.sandbox.executor import ProcessExecutor

LEVELS = ["local", "isolated", "sandboxed"]


@pytest.fixture
async def executor() -> AsyncGenerator[ProcessExecutor]:
    async with isolated() as executor:
        yield executor


@pytest.mark.parametrize("level", LEVELS)
async def test_each_branch_goes_on_with_variables_and_files_of_its_own(level: str) -> None:
    async with ProcessExecutor(Sandbox(level, limits=within(), imports=["os"])) as executor:
        await value_of(executor, "rows = [1]\nopen('log', 'w').write('base')")
        branches = await executor.fork(3)
        code = "rows.append({0})\nopen('log', 'a').write(' {0}')\nopen('own{0}', 'w').write('')"
        await asyncio.gather(
            *(value_of(branch, code.format(number)) for number, branch in enumerate(branches))
        )
        listing = "import os\nrows, open('log').read(), sorted(os.listdir())"
        for number, branch in enumerate(branches):
            expected = ([1, number], f"base {number}", ["log", f"own{number}"])
            assert await value_of(branch, listing) == expected
        assert await value_of(executor, listing) == ([1], "base", ["log"])


async def test_before_any_step_and_from_a_branch_it_forks_as_well(
    executor: ProcessExecutor,
) -> None:
    [first] = await executor.fork(1)
    assert await value_of(first, "x = 1\nx") == 1
    [second] = await first.fork(1)
    assert await value_of(second, "x + 1") == 2
    assert (await executor.run("x")).error is not None


async def test_random_numbers_differ_between_branches(executor: ProcessExecutor) -> None:
    await value_of(executor, "import random\nrandom.seed(1)")
    branches = await executor.fork(3)
    numbers = [await value_of(each, "random.random()") for each in (executor, *branches)]
    assert len(set(numbers)) == 4
    assert numbers[0] == random.Random(1).random()  # noqa: S311 - the parent's continue


async def test_tools_and_data_are_there_and_may_differ(executor: ProcessExecutor) -> None:
    executor.inject("double", lambda n: 2 * n)
    executor.inject("data", [1, 2])
    branches = await executor.fork(2)
    branches[0].inject("data", [3])
    branches[0].inject("double", lambda n: 20 * n)
    results = [await value_of(each, "double(sum(data))") for each in (executor, *branches)]
    assert results == [6, 60, 6]


async def test_an_array_of_a_hundred_megabytes_is_shared() -> None:
    async with isolated(imports=["numpy"]) as executor:
        await value_of(executor, "import numpy as np\nrows = np.ones(13_000_000)\n0")
        branches = await executor.fork(8)
        sums = await asyncio.gather(*(value_of(each, "float(rows.sum())") for each in branches))
        assert sums == [13e6] * 8  # copies would take 936 MB of the 1 GiB, and their forks more


@pytest.mark.parametrize("level", LEVELS)
async def test_a_step_of_a_branch_that_ends_badly_loses_only_itself(level: str) -> None:
    async with ProcessExecutor(Sandbox(level, limits=within(), imports=["os"])) as executor:
        await value_of(executor, "x = 1")
        late, dead, other = await executor.fork(3)
        hurry(late, 0.3)
        results = await asyncio.gather(
            late.run("x = 2\nwhile True: pass"),
            dead.run("x = 3\nimport os\nos._exit(1)"),
            other.run("x = 4"),
        )
        assert results[0].timed_out
        assert results[1].error is not None
        assert ended_well(results[2])
        hurry(late, 20)
        values = [await value_of(each, "x") for each in (executor, late, dead, other)]
        assert values == [1, 1, 1, 4]


async def test_a_running_branch_is_killed_and_the_others_continue(
    executor: ProcessExecutor,
) -> None:
    await value_of(executor, "x = 1")
    killed, waiting, other = await executor.fork(3)
    started = asyncio.Event()
    running = asyncio.create_task(
        killed.run("print('here')\nwhile True: pass", on_output=lambda _: started.set())
    )
    await started.wait()
    queue = [asyncio.create_task(each.run("x += 1\nx")) for each in (waiting, other)]
    await asyncio.sleep(0)
    waiting.kill()
    killed.kill()
    assert (await running).state_lost
    assert (await queue[0]).state_lost
    assert (await queue[1]).value == 2
    assert (await killed.run("x")).error is not None  # it has a new session of its own
    assert await value_of(executor, "x") == 1


async def test_a_cancelled_step_of_a_branch_leaves_the_others(executor: ProcessExecutor) -> None:
    await value_of(executor, "x = 1")
    [branch] = await executor.fork(1)
    started = asyncio.Event()
    running = asyncio.create_task(
        branch.run("print('here')\nwhile True: pass", on_output=lambda _: started.set())
    )
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await value_of(executor, "x") == 1
    assert await value_of(branch, "x") == 1


async def test_branches_outlive_their_parent(executor: ProcessExecutor) -> None:
    await value_of(executor, "x = 1\nopen('f', 'w').write('text')")
    branches = await executor.fork(2)
    await executor.aclose()
    assert [await value_of(each, "x, open('f').read()") for each in branches] == [(1, "text")] * 2
    await branches[0].aclose()
    assert await value_of(branches[1], "x") == 1
    assert (await executor.run("x")).error is not None


async def test_rewinding_a_branch_stops_at_its_fork(executor: ProcessExecutor) -> None:
    await value_of(executor, "x = 1")
    [branch] = await executor.fork(1)
    with pytest.raises(CallerError, match="cannot rewind"):
        branch.rewind()
    await value_of(branch, "x = 2")
    branch.rewind()
    assert await value_of(branch, "x") == 1


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("f = open('f', 'w')", "'/sandbox/f' open"),
        ("import tempfile\nf = tempfile.TemporaryFile()", "open: close it"),
        ("f = open('/dev/null')\nimport os.path\ng = open(os.path.__file__)", "os?path.py' open"),
    ],
)
async def test_what_forks_would_share_is_refused(
    executor: ProcessExecutor, code: str, reason: str
) -> None:
    await executor.run(code)
    with pytest.raises(CallerError, match="open") as refusal:
        await executor.fork(2)
    assert reason.rsplit("'", maxsplit=1)[-1] in str(refusal.value)
    assert ended_well(await executor.run("f.close()\ng = None"))
    assert len(await executor.fork(2)) == 2


async def test_pipes_mappings_and_other_working_directories_are_refused() -> None:
    async with isolated(imports=["os", "mmap"]) as executor:
        for code, undo, reason in (
            ("ends = os.pipe()", "os.close(ends[0])\nos.close(ends[1])", "pipe"),
            ("os.mkdir('sub')\nos.chdir('sub')", "os.chdir('..')", "working directory"),
            (
                _MAPPED,
                "m.close()",
                "open|mapped",
            ),
            ("s = os.dup(next(n for n in range(3, 20) if socket(n)))", "os.close(s)", "open"),
        ):
            await value_of(executor, _SOCKET + code + "\n0")
            with pytest.raises(CallerError, match=reason):
                await executor.fork(1)
            await value_of(executor, undo + "\n0")
        assert len(await executor.fork(1)) == 1


_MAPPED = """
open('m', 'wb').write(b'x' * 4096)
with open('m', 'r+b') as f:
    m = mmap.mmap(f.fileno(), 4096)
"""
_SOCKET = """
import os
import mmap
def socket(number):
    try:
        return os.fstat(number).st_mode & 0o170000 == 0o140000
    except OSError:
        return False
"""


@pytest.mark.parametrize("level", ["isolated", "sandboxed"])
async def test_the_files_and_memory_of_other_branches_are_not_to_be_found(level: str) -> None:
    async with ProcessExecutor(Sandbox(level, limits=within(), imports=["os", "gc"])) as executor:
        one, other = await executor.fork(2)
        await value_of(one, "mark = 'only' + 'here'\nopen('onlyhere', 'w').write(mark * 1000)\n0")
        found = await value_of(other, _SEARCH)
        assert found == []
        # Nor from a process that one has left, nor by a path that leads up.
        await one.run(
            "import threading, time\nthreading.Thread(target=time.sleep, args=(9,)).start()"
        )
        assert await value_of(other, _SEARCH) == []


_SEARCH = """
import os
import gc
found = []
for top in ("/", ".", "..", "../..", "/sandbox", "/proc", "/proc/1/root", "/proc/self/fd"):
    for folder, names, files in os.walk(top):
        found += [f"{folder}/{name}" for name in (*names, *files) if "only" in name]
        if folder.count("/") > 2:
            names.clear()
for path in ("/sandbox/hidden", "/sandbox/shown", "../hidden", "/proc/1/fd", "/proc/self/cwd/.."):
    if os.path.exists(path):
        found.append(path)
for number in range(3, 64):
    try:
        found += [name for name in os.listdir(number) if "only" in name]
    except OSError:
        pass
found += [name for name in globals() if name == "mark"]
found
"""


async def test_copies_of_files_count_towards_their_limit() -> None:
    async with isolated(within(max_file_bytes=4 << 20)) as executor:
        await value_of(executor, "open('f', 'wb').write(bytes(range(256)) * 4096 * 1)\n0")
        with pytest.raises(CallerError, match="the files cannot be copied"):
            await executor.fork(8)
        assert await value_of(executor, "len(open('f', 'rb').read())") == 1 << 20
        assert len(await executor.fork(1)) == 1


async def test_branches_that_grow_keep_to_one_limit_together() -> None:
    async with isolated(within(max_memory_bytes=1 << 27)) as executor:
        branches = await executor.fork(4)
        results = [await each.run("rows = bytearray(b'x' * (60 << 20))\n0") for each in branches]
        refused = [each for each in results if each.error is not None]
        assert refused
        assert all(each.undone and each.out_of_memory for each in refused)
        why = "too much memory together|the step and the other branches took more than"
        assert all(re.search(why, each.error or "") for each in refused)  # before, or midway
        grown = [each for each, result in zip(branches, results, strict=True) if not result.error]
        await asyncio.gather(*(each.aclose() for each in grown[1:]))
        assert await value_of(grown[0], "len(rows)") == 60 << 20


async def test_files_with_holes_modes_and_times_are_copied(executor: ProcessExecutor) -> None:
    await value_of(
        executor,
        "from pathlib import Path\nPath('a/b').mkdir(parents=True)\n"
        "with open('a/b/f', 'wb') as f:\n    f.seek(200 << 20)\n    f.write(b'end')\n0",
    )
    branches = await executor.fork(3)  # 600 MB without the holes: more than the limit
    look = "Path('a/b/f').stat().st_size, Path('a/b/f').stat().st_mtime_ns"
    seen = {await value_of(each, look) for each in (executor, *branches)}
    assert len(seen) == 1
    assert not (await branches[0].run("1")).artifacts  # nothing is delivered twice


async def test_an_executor_that_cannot_have_branches_says_why(tmp_path: Path) -> None:
    async with isolated(checkpoints=0) as executor:
        with pytest.raises(ConfigurationError, match="checkpoints=0"):
            await executor.fork(2)
    async with isolated(workspace=tmp_path) as executor:
        with pytest.raises(ConfigurationError, match="workspace"):
            await executor.fork(2)
    async with isolated() as executor:
        with pytest.raises(ConfigurationError, match="n must be 1 or more"):
            await executor.fork(0)
        with pytest.raises(CallerError, match="at most 32"):
            await executor.fork(32)


async def test_a_tool_of_one_branch_cannot_run_code_in_another(executor: ProcessExecutor) -> None:
    [branch] = await executor.fork(1)

    async def nested() -> Any:
        return (await branch.run("1")).value

    executor.inject("nested", nested)
    result = await executor.run("nested()")
    assert "take turns" in (result.error or "")
    assert await value_of(branch, "2") == 2


async def test_many_rounds_leave_nothing(executor: ProcessExecutor) -> None:
    await value_of(executor, "x = 1\nopen('f', 'wb').write(bytes(1 << 20))\n0")
    for _ in range(5):  # of 256 MiB, 8 MiB each
        branches = await executor.fork(2)
        for branch in branches:
            await branch.aclose()
    session = executor._session
    assert session is not None
    assert await value_of(executor, "x") == 1
    assert session.first.others(session.number) == []
    assert len(session.first.chains) == 1


@pytest.mark.parametrize("seed", range(4))
async def test_any_order_of_forks_steps_and_closes_is_as_in_a_model(seed: int) -> None:
    choose = random.Random(seed)  # noqa: S311 - the same each time
    async with isolated(imports=["os"]) as executor:
        await value_of(executor, "import os\nitems = []\n0")
        models: dict[ProcessExecutor, tuple[list[int], dict[str, str]]] = {executor: ([], {})}
        for number in range(40):
            branch = choose.choice(list(models))
            items, files = models[branch]
            action = choose.choice(["fork", "add", "write", "remove", "close", "fail"])
            if action == "fork" and len(models) < 8:
                for child in await branch.fork(choose.randint(1, 2)):
                    models[child] = (list(items), dict(files))
            elif action == "add":
                await value_of(branch, f"items.append({number})\n0")
                items.append(number)
            elif action == "write":
                name = choose.choice("abc")
                code = f"with open('{name}', 'a') as f:\n    f.write('{number} ')\ndel f"
                await value_of(branch, code)
                files[name] = files.get(name, "") + f"{number} "
            elif action == "remove" and files:
                name = choose.choice(sorted(files))
                await value_of(branch, f"os.remove('{name}')")
                del files[name]
            elif action == "close" and len(models) > 1:
                await branch.aclose()
                del models[branch]
            elif action == "fail":
                assert (await branch.run("items.append(0)\nos._exit(1)")).undone
        for branch, expected in models.items():
            look = "items, {name: open(name).read() for name in sorted(os.listdir())}"
            assert await value_of(branch, look) == expected
            await branch.aclose()
