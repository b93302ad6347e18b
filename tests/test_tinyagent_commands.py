"""Both commands: version, help, completion, mistakes, a missing extra, and Ctrl-C at any time."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from importlib.metadata import packages_distributions, requires, version
from pathlib import Path

import pytest

import tinyagent_commands

BOTH = pytest.mark.parametrize("command", ["tinyagent", "skillian"])
NAMES = {"tinyagent": ["run", "exec", "worker", "runs", "doctor"]}
NAMES["skillian"] = ["demo", "ask", "chat", "compare", "doctor", "mcp", "serve", "worker"]
HEAVY = {"duckdb", "numpy", "pandas", "pyarrow", "pydantic_settings", "rapidfuzz", "sqlglot"}
LOADED = """
import sys
sys.argv = ["skillian", *{arguments!r}]
from tinyagent_commands import skillian
try:
    skillian()
finally:
    print(*sorted({{name.partition(".")[0] for name in sys.modules}}), file=sys.stderr)
"""
OPENED = """
import sys
import duckdb
connect = duckdb.connect

def opened(*args, **settings):
    print("DuckDB", file=sys.stderr)
    return connect(*args, **settings)

duckdb.connect = opened
"""
CALLED = "import tinyagent_commands; tinyagent_commands.skillian()"
WITHOUT = """
import sys
import tinyagent_commands
sys.modules |= dict.fromkeys(tinyagent_commands._EXTRA)
sys.argv = ["skillian", *{arguments!r}]
tinyagent_commands.skillian()
"""
INTERRUPTED = """
import os, signal, sys

class Press:
    def find_spec(self, name, *_):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Press())
sys.argv = [{command!r}, *{arguments!r}]
import tinyagent_commands
getattr(tinyagent_commands, {command!r})()
"""
CLOSES_FOR_EVER = """
import asyncio, sys, tinyagent_commands

async def work():
    print("works", flush=True)
    try:
        await asyncio.sleep(3600)
    finally:
        print("closes", flush=True)
        await asyncio.sleep(3600)

tinyagent_commands.run(work())
"""


def _run(command: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name(command), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "TERM": "dumb", **environment},
        check=False,
        timeout=120,
    )


def _python(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=120,
    )


@BOTH
def test_each_prints_its_version(command: str) -> None:
    done = _run(command, "--version")
    assert (done.returncode, done.stdout) == (0, f"{command} {version('tinyagent-skillian')}\n")


def test_closed_standard_streams_do_not_change_the_exit_code() -> None:
    for arguments, code in (("--version", 0), ("--help", 0), ("nonsense", 2)):
        script = f'exec "{sys.executable}" -c "{CALLED}" {arguments} <&- >&- 2>&-'
        assert subprocess.run(["/bin/sh", "-c", script], check=False).returncode == code


@BOTH
def test_each_explains_itself(command: str) -> None:
    done = _run(command, "-h")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(name in done.stdout for name in NAMES[command])
    assert done.stdout == _run(command, "--help").stdout
    assert _run(command, NAMES[command][0], "-h").returncode == 0


@BOTH
def test_each_completes_its_commands(command: str) -> None:
    asked = {"COMP_WORDS": f"{command} do", "COMP_CWORD": "1"}
    done = _run(command, **asked, **{f"_{command.upper()}_COMPLETE": "complete_bash"})
    assert (done.returncode, done.stdout.split()) == (0, ["doctor"])


@BOTH
@pytest.mark.parametrize("arguments", [("nonsense",), ("--nonsense",), ("doctor", "--nonsense")])
def test_an_error_is_one_sentence_and_a_hint(command: str, arguments: tuple[str, ...]) -> None:
    done = _run(command, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    message, hint = done.stderr.splitlines()
    assert re.match(r"error: (No such command|there is no option).*nonsense", message)
    assert re.fullmatch(rf"See: {command}( doctor)? --help", hint)


@BOTH
def test_no_command_shows_the_help(command: str) -> None:
    done = _run(command)
    assert done.returncode == 2
    assert "doctor" in done.stdout + done.stderr
    assert "error" not in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["compare", "--help"]])
def test_help_loads_no_data_library(arguments: list[str], tmp_path: Path) -> None:
    done = _python(LOADED.format(arguments=arguments), tmp_path)
    assert done.returncode == 0, done.stderr
    assert HEAVY.isdisjoint(done.stderr.split())


def test_a_comparison_of_two_small_files_loads_and_opens_little(tmp_path: Path) -> None:
    for name, value in (("a.csv", 1), ("b.csv", 2)):
        (tmp_path / name).write_text(f"id,x\n1,{value}\n")
    program = OPENED + LOADED.format(arguments=["compare", "a.csv", "b.csv"])
    done = _python(program, tmp_path)
    assert (done.returncode, "1 row differs" in done.stdout) == (1, True)
    opened, loaded = done.stderr.splitlines()
    assert opened == "DuckDB"
    assert {"duckdb", "sqlglot"} <= set(loaded.split())
    later = {"aiohttp", "dotenv", "numpy", "pyarrow", "pydantic_settings", "python_calamine"}
    assert (later | {"rapidfuzz", "sqlalchemy", "yaml"}).isdisjoint(loaded.split())


def test_the_check_sees_what_a_command_loads(tmp_path: Path) -> None:
    done = _python(LOADED.format(arguments=["sources", "list"]), tmp_path)
    assert {"duckdb", "sqlglot"} <= set(done.stderr.split())


def test_all_packages_of_the_extra_are_known() -> None:
    modules: dict[str, set[str]] = {}
    for module, dists in packages_distributions().items():
        for dist in dists:
            modules.setdefault(re.sub(r"[-_.]+", "-", dist).lower(), set()).add(module)
    needed = [
        re.split(r"[^\w-]", line)[0].lower()
        for line in requires("tinyagent-skillian") or ()
        if re.search(r"extra == .skillian.", line)
    ]
    assert len(needed) > 5
    known = tinyagent_commands._EXTRA
    assert len(known) == len(needed)
    assert [name for name in needed if not modules[name] & known] == []


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], *([n, "--help"] for n in NAMES["skillian"])]
)
def test_help_needs_no_extra(arguments: list[str], tmp_path: Path) -> None:
    done = _python(WITHOUT.format(arguments=arguments), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        *(["demo"], ["ask", "x"], ["chat"], ["compare", "a.csv", "b.csv"], ["doctor"], ["mcp"]),
        *(["serve"], ["worker"], ["sources", "list"], ["sources", "infer", "files:///x"]),
        *(["skills", "list"], ["skills", "new", "mine"], ["skills", "check", "."]),
    ],
    ids=" ".join,
)
def test_without_the_extra_a_command_says_what_to_install(
    arguments: list[str], tmp_path: Path
) -> None:
    done = _python(WITHOUT.format(arguments=arguments), tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("error: skillian needs the extra 'skillian'")
    assert line.endswith("run: pip install '.[skillian]'")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "arguments", "module"),
    [
        ("tinyagent", ["--help"], "tinyagent"),
        ("tinyagent", ["--help"], "typer"),
        ("tinyagent", ["doctor"], "tinyagent.execution.doctor.examine"),
        ("skillian", ["--help"], "skillian.cli"),
        ("skillian", ["sources", "list"], "duckdb"),
        ("skillian", ["sources", "list"], "skillian.data.query.catalogue"),
    ],
)
def test_ctrl_c_during_an_import_ends_without_a_traceback(
    command: str, arguments: list[str], module: str, tmp_path: Path
) -> None:
    program = INTERRUPTED.format(command=command, arguments=arguments, module=module)
    done = _python(program, tmp_path)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert "KeyboardInterrupt" not in done.stderr


def test_a_second_ctrl_c_does_not_wait_for_what_is_being_closed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CLOSES_FOR_EVER],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "works\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "closes\n"
        process.send_signal(signal.SIGINT)
        assert (process.wait(60), process.stderr.read()) == (130, "")
