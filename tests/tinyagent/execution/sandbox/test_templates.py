from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from functools import partial
from pathlib import Path
from textwrap import dedent

import pytest
from tests.support.cost import cost_of
from tests.support.execution import hurry, isolated, value_of, within
from tests.support.processes import descendants, is_running
from tests.support.waits import soon, until

from tinyagent import Sandbox
from tinyagent.core.errors import SandboxUnavailable
from tinyagent.execution.sandbox import templates
from tinyagent.execution.sandbox.engines.kernel import KernelEngine
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.execution.sandbox.templates import (
    ALWAYS,
    Spec,
    TemplateHandle,
    modules_for,
    template_for,
)
from tinyagent.execution.sandbox.worker.codec.wire import Kind
from tinyagent.execution.sandbox.worker.session.imports import allowed
from tinyagent.execution.sandbox.worker.session.link import Link
from tinyagent.execution.trust import ISOLATED_IMPORTS

ORDER = {
    "limits": {
        "cpu_seconds": 10,
        "max_output_bytes": 1000,
        "max_memory_bytes": 2**28,
        "max_processes": 8,
        "max_file_bytes": 2**20,
        "checkpoints": 2,
    },
    "imports": ["json"],
}


@pytest.fixture
def own() -> Generator[TemplateHandle]:
    """A template of the test's own, which it may end."""
    template = TemplateHandle(Spec(KernelEngine(), ("json", "no_such_module")))
    yield template
    template.close()


ABOUT_FILES = ("S1", "S3", "S14")


@pytest.fixture(params=[("namespaces",), ("namespaces", "landlock")], ids="-".join)
def weak(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Generator[TemplateHandle]:
    """A template as on kernels that lack these, used by the executors of the test."""
    preload = modules_for((), "")
    template = TemplateHandle(Spec(KernelEngine(), preload, frozenset(request.param)))
    if not (template.report["landlock"] or template.report["user"]):
        template.close()
        pytest.skip("code of root would run as root here: it is refused (test_missing_locks.py)")
    for known in (preload, ()):
        monkeypatch.setitem(templates._templates, Spec(KernelEngine(), known), template)
    yield template
    template.close()


def working_folders(template: TemplateHandle) -> set[Path]:
    """Of its sessions, as the host sees them."""
    processes = {template._process.pid, *descendants(template._process.pid)}
    paths: set[Path] = set()
    for pid in processes:
        with suppress(FileNotFoundError):  # the template's helpers come and go
            paths.add(Path(f"/proc/{pid}/cwd").readlink())
    return {path for path in paths if path.parent.name.startswith("tinyagent-")}


def test_it_reports_what_is_in_force(own: TemplateHandle) -> None:
    assert own.report["namespaces"] is True
    assert own.report["seccomp"] is True
    assert own.report["landlock"] >= 1
    assert own.report["preloaded"] == ["json"]


def test_the_same_kind_is_started_once() -> None:
    engine = KernelEngine()
    one = template_for(Spec(engine, ALWAYS))
    assert template_for(Spec(KernelEngine(), ALWAYS)) is one
    assert template_for(Spec(engine, ("json",))) is not one
    one.close()
    assert not one.is_alive
    assert template_for(Spec(engine, ALWAYS)) is not one


def test_a_session_is_forked_killed_and_collected(own: TemplateHandle) -> None:
    before = descendants(own._process.pid)
    number, sock = own.spawn(ORDER)
    sock.settimeout(10)
    link = Link(sock)
    assert link.receive().kind is Kind.READY
    assert len(descendants(own._process.pid)) == len(before) + 1
    own.kill(number)
    assert sock.recv(10) == b""
    until(lambda: descendants(own._process.pid) == before)
    own.kill(number)
    own.kill(999)
    link.close()
    assert own.is_alive


def test_a_session_ends_with_its_socket(own: TemplateHandle) -> None:
    before = descendants(own._process.pid)
    _number, sock = own.spawn(ORDER)
    sock.close()
    until(lambda: descendants(own._process.pid) == before)


def test_closing_ends_all_sessions(own: TemplateHandle) -> None:
    socks = [own.spawn(ORDER)[1] for _ in range(3)]
    until(lambda: len(descendants(own._process.pid)) == 4)
    processes = descendants(own._process.pid)
    own.close()
    until(lambda: not any(map(is_running, processes)))
    assert not own.is_alive
    own.close()
    own.kill(1)
    with pytest.raises(OSError, match=r"Bad file|Broken pipe"):
        own.spawn(ORDER)
    for sock in socks:
        sock.close()


def test_impossible_limits_are_reported_by_the_session(own: TemplateHandle) -> None:
    limits = {**ORDER["limits"], "max_file_bytes": -1}  # type: ignore[dict-item]
    _number, sock = own.spawn({**ORDER, "limits": limits})
    sock.settimeout(10)
    link = Link(sock)
    frame = link.receive()
    assert frame.kind is Kind.FAILED
    assert "Error" in frame.body["error"]
    link.close()
    assert own.is_alive


def test_what_does_not_start_is_reported_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho 'out of luck' >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(SandboxUnavailable, match="kernel engine does not start: out of luck"):
        TemplateHandle(Spec(KernelEngine(), ()))


@pytest.mark.parametrize("which", ["the first process", "the one inside"])
async def test_when_the_template_dies_the_next_run_has_a_new_one(which: str) -> None:
    async with isolated(imports=["colorsys"]) as executor:
        executor.inject("given", 5)
        await value_of(executor, "n = 1")
        assert executor._session is not None
        outer = executor._session.first.template._process.pid
        family = descendants(outer)
        inner = next(iter(descendants(outer) - {pid for c in family for pid in descendants(c)}))
        os.kill(outer if which == "the first process" else inner, signal.SIGKILL)
        await soon(lambda: not any(map(is_running, family)))
        lost = await executor.run("n")
        assert lost.state_lost
        assert lost.error is not None
        assert await value_of(executor, "given") == 5


async def test_when_the_template_dies_during_a_step_the_step_ends() -> None:
    async with isolated(within(20), imports=["fnmatch"]) as executor:
        await value_of(executor, "n = 1")
        assert executor._session is not None
        pid = executor._session.first.template._process.pid
        executor.inject("end", lambda: os.kill(pid, signal.SIGKILL))
        result = await executor.run("end()\nwhile True: pass")
        assert result.state_lost
        assert not result.timed_out
        assert result.duration_seconds < 15
        assert await value_of(executor, "2") == 2


def test_a_fork_of_the_host_starts_its_own() -> None:
    program = """
        import asyncio, os
        from tinyagent.execution.sandbox.executor import ProcessExecutor
        from tinyagent.execution.sandbox.templates import _templates

        async def run(executor, code):
            result = await executor.run(code)
            assert result.error is None, result.error
            return result.value

        def template():
            return next(iter(_templates.values()))._process.pid

        async def child(known):
            async with ProcessExecutor() as executor:
                assert await run(executor, "6 * 7") == 42
                assert template() != known

        # the fork is made outside of any loop, as programs that fork do
        first = ProcessExecutor()
        runner = asyncio.Runner()
        runner.run(run(first, "n = 1"))
        known = template()
        pid = os.fork()
        if pid == 0:
            with asyncio.Runner() as own:
                own.run(child(known))
            raise SystemExit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert template() == known
        assert runner.run(run(first, "n + 1")) == 2
        runner.run(first.aclose())
        runner.close()
        print("both")
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert (done.stdout, done.returncode) == ("both\n", 0), done.stderr


async def test_without_namespaces_steps_run_in_the_session_itself(weak: TemplateHandle) -> None:
    async with isolated(without=ABOUT_FILES) as executor:
        assert await value_of(executor, "n = 1\nopen('file', 'w').write('text')") == 4
        assert await value_of(executor, "n + 1") == 2
        assert await value_of(executor, "open('file').read()") == "text"
        hurry(executor, 0.3)
        timed_out = await executor.run("while True: pass")
        hurry(executor, 20)
        assert timed_out.timed_out
        assert timed_out.state_lost
        assert "NameError" in ((await executor.run("n")).error or "")
        result = await executor.run("open('new', 'w').write('x')")
        assert [item.name for item in result.artifacts] == ["new"]
        await soon(lambda: len(working_folders(weak)) == 1)
        (folder,) = working_folders(weak)
        assert (folder / "new").read_text() == "x"
    await soon(lambda: not folder.exists())
    weak.close()
    assert not folder.parent.exists()


async def test_without_namespaces_the_other_locks_hold(weak: TemplateHandle) -> None:
    async with isolated(imports="*", without=ABOUT_FILES) as executor:
        for code in (
            "import os\nos.fork()",
            "import os\nos.execv('/bin/true', ['true'])",
            "import os\nos.kill(os.getppid(), 0)",
            "import socket\nsocket.socket()",
        ):
            assert "Error" in ((await executor.run(code)).error or "")
        if weak.report["landlock"]:
            for code in (
                "open('/etc/passwd')",
                "open('/tmp/x', 'w')",
                "import os\nos.listdir('/')",
            ):
                assert "PermissionError" in ((await executor.run(code)).error or "")


async def test_what_is_missing_is_reported_and_sandboxed_is_refused(weak: TemplateHandle) -> None:
    kept = {item.promise: item for item in isolated(without=ABOUT_FILES).guarantees}
    assert not kept["not even the names of host files"].enforced
    assert not kept["a step that fails loses only itself"].enforced
    assert not kept["limit of all files"].enforced
    assert kept["no network"].enforced
    assert kept["no network"].by == "system-call filter"
    assert kept["no host file but Python's"].enforced == bool(weak.report["landlock"])
    sandboxed = ProcessExecutor(Sandbox("sandboxed", engine="kernel"))
    with pytest.raises(SandboxUnavailable, match="user namespaces"):
        await sandboxed.run("1")
    with pytest.raises(SandboxUnavailable, match="user namespaces"):
        _ = sandboxed.guarantees


async def test_what_a_session_does_to_its_descriptors_no_other_session_sees() -> None:
    flags = "import fcntl, os\n[fcntl.fcntl(n, fcntl.F_GETFL) & os.O_NONBLOCK for n in (0, 1, 2)]"
    async with isolated(imports="*") as one, isolated(imports="*") as other:
        spoil = "import fcntl, os\nfor n in (0, 1, 2): fcntl.fcntl(n, fcntl.F_SETFL, os.O_NONBLOCK)"
        await value_of(one, spoil)
        assert await value_of(other, flags) == [0, 0, 0]
    async with isolated(imports="*") as later:
        assert await value_of(later, flags) == [0, 0, 0]


async def test_sandboxed_runs_where_all_locks_are_there() -> None:
    async with ProcessExecutor(Sandbox("sandboxed", engine="kernel", limits=within())) as executor:
        assert await value_of(executor, "n = 1") is None
        assert await value_of(executor, "n") == 1
        assert all(item.enforced for item in executor.guarantees)


def test_what_is_always_loaded_exists_and_may_be_imported() -> None:
    for name in ALWAYS:
        importlib.import_module(name)
        assert allowed(name, ISOLATED_IMPORTS)


@pytest.mark.parametrize(
    "code",
    [
        "import numpy as np",
        "x = 1\nfrom pandas import DataFrame",
        "def f():\n    import matplotlib.pyplot as plt",
    ],
)
def test_numpy_and_pandas_are_loaded_where_the_code_begins_with_them(code: str) -> None:
    assert modules_for((), code) == (*ALWAYS, "numpy", "pandas")


@pytest.mark.parametrize("code", ["", "print('import numpy')", "import numpyro", "# import pandas"])
def test_they_are_not_loaded_for_other_code(code: str) -> None:
    assert modules_for((), code) == ALWAYS


@pytest.mark.parametrize("blank", ["\n", " ", "\t\n", "import "])
def test_the_first_code_is_looked_through_in_linear_time(blank: str) -> None:
    few, many = (cost_of(partial(modules_for, (), blank * n + "1")) for n in (2_000, 16_000))
    assert many < 24 * max(few, 0.0005)


def test_extra_imports_are_loaded_in_one_order() -> None:
    assert modules_for(["socket", "ctypes"], "") == (*ALWAYS, "ctypes", "socket")
    assert modules_for(iter(["ctypes", "socket"]), "") == (*ALWAYS, "ctypes", "socket")
    assert modules_for(["*"], "") == ALWAYS
    assert modules_for(["pandas", "*"], "") == (*ALWAYS, "numpy", "pandas")


async def test_what_is_not_loaded_before_is_loaded_when_it_is_imported() -> None:
    async with isolated() as executor:
        assert await value_of(executor, "1") == 1
        code = "import numpy, pandas, sqlite3\nint(pandas.Series(numpy.arange(4)).sum())"
        assert await value_of(executor, code) == 6
