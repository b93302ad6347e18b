"""`tinyagent exec` and `tinyagent doctor` as a user has them: processes and exit codes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tinyagent.execution.doctor.bench import processes_called

COMMAND = Path(sys.executable).with_name("tinyagent")
PROCESS = pytest.mark.skipif(sys.platform != "linux", reason="needs a process with kernel locks")


class Done(NamedTuple):
    """A process that has ended."""

    code: int
    out: str
    err: str


async def _start(*arguments: str, cwd: Path | None = None) -> Process:
    return await asyncio.create_subprocess_exec(
        COMMAND, *arguments, cwd=cwd, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=_wide()
    )


def _wide() -> dict[str, str]:
    return os.environ | {"COLUMNS": "300", "NO_COLOR": "1"}


async def _run(*arguments: str, code: str = "", cwd: Path | None = None) -> Done:
    process = await _start(*arguments, cwd=cwd)
    out, err = await process.communicate(code.encode())
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


async def _exec(code: str, *arguments: str, cwd: Path | None = None) -> Done:
    """Run code that stands on standard input."""
    return await _run("exec", "-", *arguments, code=code, cwd=cwd)


@pytest.mark.parametrize("trust", ["local", pytest.param("isolated", marks=PROCESS)])
async def test_what_a_script_prints_and_answers_goes_to_standard_output(
    trust: str, tmp_path: Path
) -> None:
    (tmp_path / "script.py").write_text("print('one')\nprint('two', end='')\nfinal_answer([3])\n")
    done = await _run("exec", "script.py", "--trust", trust, cwd=tmp_path)
    assert done == (0, "one\ntwo\n[3]\n", "")


@PROCESS
async def test_output_comes_as_it_is_printed() -> None:
    process = await _start("exec", "-")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"print('first')\nwhile True: pass\n")
    process.stdin.write_eof()
    assert await process.stdout.readline() == b"first\n"
    process.send_signal(signal.SIGINT)
    out, err = await process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert err == b"Interrupted; the script was ended.\n"


@PROCESS
async def test_an_interrupt_ends_the_session() -> None:
    name = f"ta{os.getpid()}"
    code = f"import ctypes\nctypes.CDLL(None).prctl(15, b'{name}', 0, 0, 0)\n"
    process = await _start("exec", "-", "--allow", "ctypes")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{code}print('up')\nwhile True: pass\n".encode())
    process.stdin.write_eof()
    await process.stdout.readline()
    assert len(processes_called(name)) == 1
    process.send_signal(signal.SIGINT)
    await process.communicate()
    assert (process.returncode, processes_called(name)) == (130, [])


@PROCESS
async def test_an_error_shows_the_scripts_own_lines() -> None:
    done = await _exec("x = 0\nprint('so far')\n1 / x\n")
    assert (done.code, done.out) == (1, "so far\n")
    assert "1 / x" in done.err
    assert done.err.endswith("ZeroDivisionError: division by zero\n")


async def test_local_code_that_fails_is_exit_code_1() -> None:
    done = await _exec("1 / 0", "--trust", "local")
    assert (done.code, done.out) == (1, "")
    assert "ZeroDivisionError" in done.err


@PROCESS
@pytest.mark.parametrize(
    ("code", "option", "words"),
    [
        ("while True: pass", ("--timeout", "0.3"), "stopped after 0.3 s"),
        ("x = bytearray(2**30)", ("--memory", "64"), "MemoryError"),
    ],
)
async def test_a_limit_is_exit_code_3(code: str, option: tuple[str, str], words: str) -> None:
    done = await _exec(code, *option)
    assert (done.code, done.out) == (3, "")
    assert words in done.err


@PROCESS
async def test_a_module_off_the_list_is_refused_with_the_option_that_allows_it() -> None:
    done = await _exec("import socket")
    assert done.code == 1
    assert "--allow MODULE" in done.err
    done = await _exec("import socket; print(socket.__name__)", "--allow", "socket")
    assert done == (0, "socket\n", "")


@PROCESS
async def test_files_go_in_and_come_out_when_asked(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("3")
    code = "n = int(open('in.txt').read())\nopen('out.txt', 'w').write(str(n + 1))"
    done = await _exec(code, "--file", "in.txt", cwd=tmp_path)
    assert done == (0, "", "Files not saved (see --artifacts): out.txt\n")
    assert not (tmp_path / "out.txt").exists()
    done = await _exec(code, "--file", "in.txt", "--artifacts", "made/here", cwd=tmp_path)
    assert done == (0, "", "Saved made/here/out.txt (1 bytes)\n")
    assert (tmp_path / "made" / "here" / "out.txt").read_text() == "4"


@PROCESS
async def test_an_artifact_that_cannot_be_saved_is_reported(tmp_path: Path) -> None:
    (tmp_path / "made").write_text("in the way")
    done = await _exec("open('o', 'w').close()", "--artifacts", "made", cwd=tmp_path)
    assert done.code == 1
    assert "--artifacts 'made'" in done.err


@PROCESS
async def test_output_beyond_the_limit_is_reported() -> None:
    done = await _exec("for _ in range(120): print('x' * 9_999)")
    assert (done.code, done.err) == (0, "Output beyond 1,000,000 bytes was left out.\n")
    assert len(done.out) == 1_000_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("missing.py",), "'missing.py' cannot be read: No such file"),
        (("-", "--trust", "full"), "'full' is not one of 'local', 'isolated', 'sandboxed'"),
        (("-", "--timeout", "0"), "timeout_seconds must be more than 0"),
        (("-", "--file", "missing.txt"), "there is no file 'missing.txt'"),
        (
            ("-", "--engine", "magic", "--trust", "sandboxed"),
            "engine 'magic' does not exist; use one of",
        ),
        (("-", "--engine", "kernel", "--trust", "local"), "no option engine"),
        (("-", "--without", "S1", "--trust", "local"), "no option without"),
        (("-", "--require", "S99"), "there is no promise 'S99'"),
        (("-", "--without", "S2", "--require", "S2"), "S2 is in `without` and in `require`"),
    ],
)
async def test_bad_usage_is_exit_code_2(arguments: tuple[str, ...], words: str) -> None:
    done = await _run("exec", *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert "Traceback" not in done.err


async def test_the_doctor_shows_people_and_machines_the_same() -> None:
    people, machines = await _run("doctor"), await _run("doctor", "--json")
    content: dict[str, Any] = json.loads(machines.out)
    assert people.code == machines.code == (not all(level["sound"] for level in content["levels"]))
    assert [level["trust_level"] for level in content["levels"]][:2] == ["local", "isolated"]
    assert people.out.startswith("Verdict: ")
    assert content["here"]["python"] in people.out
    for level in content["levels"]:
        assert level["trust_level"] in people.out
        assert bool(level["unavailable"]) is not bool(level["promises"])
        for promise in level["promises"]:
            assert f" {promise['id']} {promise['promise'].split()[0]} " in people.out
    assert all(f"- {line}" in people.out for line in content["how_to_get_more"])


@PROCESS
async def test_the_doctor_shows_levels_that_came_to_the_same_in_one_table() -> None:
    people = await _run("doctor")
    tables = people.out.split("\u250f")[1:]
    rows = [
        re.findall(r"^\u2502 ([^\u2502]*?) *\u2502 ([^\u2502]*?) *\u2502", t, re.MULTILINE)
        for t in tables
    ]
    assert all(rows)
    assert len({tuple(each) for each in rows}) == len(rows)
    assert "isolated: " in people.out
    assert "sandboxed by kernel: " in people.out
