from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
import zlib
from collections.abc import AsyncGenerator, Awaitable
from pathlib import Path
from typing import Any

import pytest
from tests.support.execution import isolated, value_of
from tests.tinyagent.execution.sandbox.snapshots.programs import PROGRAMS

from tinyagent.core.errors import ExecutionError
from tinyagent.core.threads import run_in_thread
from tinyagent.execution.sandbox.executor import ProcessExecutor


@pytest.fixture
async def session() -> AsyncGenerator[ProcessExecutor]:
    async with isolated() as executor:
        yield executor


@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_program_comes_back(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    async with isolated() as first, isolated() as second:
        await value_of(first, program.code)
        snapshot = await first.dump(tmp_path / "session")
        assert {each.name for each in snapshot.refused} == set(program.refused)
        assert all(each.reason for each in snapshot.refused)
        assert set(await second.load(tmp_path / "session")) == set(snapshot.kept)
        expected = await value_of(first, program.check)
        assert await value_of(second, program.check) == expected
        again = await second.dump(tmp_path / "again")  # what was restored can be kept again
        assert again.kept == snapshot.kept


def test_at_least_44_of_50_programs_come_back_whole() -> None:
    assert len(PROGRAMS) >= 50
    assert sum(not program.refused for program in PROGRAMS.values()) >= 44


async def test_another_process_of_the_host_loads_it(
    session: ProcessExecutor, tmp_path: Path
) -> None:
    await value_of(session, "def f(x):\n    return x + 1\nrows = [1, 2]")
    await session.dump(tmp_path / "session")
    program = (
        "import asyncio, sys\nfrom tinyagent.execution import ProcessExecutor\n"
        "async def main():\n"
        "    async with ProcessExecutor() as executor:\n"
        "        print(await executor.load(sys.argv[1]))\n"
        "        print((await executor.run('f(rows[-1])')).value)\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "session")]
    done = await run_in_thread(
        subprocess.run, args=command, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "('f', 'rows')\n3\n"


async def test_loading_replaces_what_was_there(session: ProcessExecutor, tmp_path: Path) -> None:
    await value_of(session, "a = 1")
    await session.dump(tmp_path / "session")
    await value_of(session, "a = 2\nb = 3")
    assert await session.load(tmp_path / "session") == ("a",)
    assert await value_of(session, "[a, 'b' in globals()]") == [1, False]


async def test_tools_are_not_kept(session: ProcessExecutor, tmp_path: Path) -> None:
    session.inject("tool", lambda: 5)
    session.inject("given", [1])
    await value_of(session, "x = tool()")
    snapshot = await session.dump(tmp_path / "session")
    assert set(snapshot.kept) == {"given", "x"}
    await session.load(tmp_path / "session")
    assert await value_of(session, "tool() + x") == 10


CHANGES: dict[str, Any] = {
    "nothing": b"",
    "not a snapshot": b"hello",
    "only the first line": b"tinyagent session 1\n",
    "a manifest that is not JSON": b"tinyagent session 1\n{\n",
    "a manifest without a hash": b"tinyagent session 1\n{}\n",
    "a manifest with another field": b'tinyagent session 1\n{"python": "3", "packages": "", '
    b'"sha256": "", "x": ""}\n',
    "a manifest of numbers": b'tinyagent session 1\n{"python": 3, "packages": 0, "sha256": 1}\n',
    "a nested manifest": b"tinyagent session 1\n" + b"[" * 100_000 + b"\n",
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_file_that_is_not_a_snapshot_is_refused(
    session: ProcessExecutor, tmp_path: Path, name: str
) -> None:
    (tmp_path / "session").write_bytes(CHANGES[name])
    with pytest.raises(ExecutionError, match="load: "):
        await session.load(tmp_path / "session")


def packed(data: bytes, **manifest: str) -> bytes:
    """A file whose manifest fits its data."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256(data).hexdigest()
    head = {"python": python, "packages": "", "sha256": digest, **manifest}
    return b"tinyagent session 1\n" + json.dumps(head).encode() + b"\n" + data


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ({"python": "2.7"}, "is of Python 2.7"),
        ({"packages": "abc"}, "other packages"),
        ({"sha256": "0"}, "is damaged"),
    ],
)
async def test_a_snapshot_of_elsewhere_is_refused(
    session: ProcessExecutor, tmp_path: Path, manifest: dict[str, str], words: str
) -> None:
    (tmp_path / "session").write_bytes(packed(zlib.compress(b"{}"), **manifest))
    with pytest.raises(ExecutionError, match=words):
        await session.load(tmp_path / "session")


async def test_a_bomb_is_refused(session: ProcessExecutor, tmp_path: Path) -> None:
    bomb = zlib.compress(bytes(1 << 30), 9)
    (tmp_path / "session").write_bytes(packed(bomb + b"x"))
    with pytest.raises(ExecutionError, match="load: "):
        await session.load(tmp_path / "session")


async def test_modules_that_may_not_be_imported_are_refused(
    session: ProcessExecutor, tmp_path: Path
) -> None:
    body = {
        "libraries": [["m", ["module", "socket"]]],
        "definitions": [],
        "values": [],
        "order": ["m"],
    }
    (tmp_path / "session").write_bytes(packed(zlib.compress(json.dumps(body).encode())))
    with pytest.raises(ExecutionError, match="'socket', which is not allowed"):
        await session.load(tmp_path / "session")


async def test_what_a_hostile_file_runs_is_in_the_session(
    session: ProcessExecutor, tmp_path: Path
) -> None:
    target = tmp_path / "made on the host"
    text = f"def f(x=open({str(target)!r}, 'w')):\n    pass\n"
    body = {"libraries": [], "definitions": [["f", text]], "values": [], "order": ["f"]}
    (tmp_path / "session").write_bytes(packed(zlib.compress(json.dumps(body).encode())))
    with pytest.raises(ExecutionError, match="f cannot be defined"):
        await session.load(tmp_path / "session")
    assert not target.exists()


async def test_a_dump_leaves_the_session_as_it_is(session: ProcessExecutor, tmp_path: Path) -> None:
    await value_of(session, "a = 1")
    await value_of(session, "a = 2")
    for _ in range(10):
        await session.dump(tmp_path / "session")
    session.rewind()
    assert await value_of(session, "a") == 1


async def test_more_than_the_limit_is_refused_with_its_size(
    session: ProcessExecutor, tmp_path: Path
) -> None:
    await value_of(session, "import os\nnoise = os.urandom(33_000_000)")
    with pytest.raises(ExecutionError, match=r"takes \d\d,\d{3},\d{3} bytes.*32,000,000"):
        await session.dump(tmp_path / "session")
    assert not (tmp_path / "session").exists()
    await value_of(session, "del noise")
    assert "os" in (await session.dump(tmp_path / "session")).kept


async def test_another_python_is_tried_when_it_is_allowed(
    session: ProcessExecutor, tmp_path: Path
) -> None:
    body = {"libraries": [], "definitions": [], "values": [["a", 5]], "order": ["a"]}
    data = zlib.compress(json.dumps(body).encode())
    (tmp_path / "session").write_bytes(packed(data, python="3.1", packages="abc"))
    assert await session.load(tmp_path / "session", allow_other=True) == ("a",)


def fuzzed(data: Any, draw: random.Random) -> Any:
    """The data with a part replaced."""
    if type(data) in {list, dict} and data and draw.random() < 0.8:
        copy: Any = data.copy()
        key = draw.choice(list(copy)) if type(data) is dict else draw.randrange(len(copy))
        copy[key] = fuzzed(copy[key], draw)
        return copy
    choices: list[Any] = [
        None,
        -1,
        10**30,
        "x",
        [],
        {},
        ["list"],
        ["again", 999],
        ["list", 0, 5],
        ["of", "os", "system"],
    ]
    return draw.choice(choices)


async def refusal_of(loading: Awaitable[object]) -> str:
    """The error of loading a file; "" if it was loaded."""
    try:
        await loading
    except ExecutionError as error:
        return str(error)
    return ""


async def test_a_fuzzed_file_gives_only_errors_that_say_so(tmp_path: Path) -> None:
    code = "\n".join(
        PROGRAMS[name].code for name in ("lists", "dates", "enums", "arrays", "classes")
    )
    path = tmp_path / "session"
    draw = random.Random(11)  # noqa: S311 - it is not a secret
    async with isolated() as executor:
        await value_of(executor, code)
        await executor.dump(path)
        raw = path.read_bytes()
        body = json.loads(zlib.decompress(raw.split(b"\n", 2)[2]))
        for number in range(150):
            if number % 3:
                path.write_bytes(packed(zlib.compress(json.dumps(fuzzed(body, draw)).encode())))
            else:
                place = draw.randrange(len(raw))
                path.write_bytes(raw[:place] + bytes([draw.randrange(256)]) + raw[place + 1 :])
            message = await refusal_of(executor.load(path))
            assert not message or message.startswith("load: ")
            assert await value_of(executor, "1 + 1") == 2
