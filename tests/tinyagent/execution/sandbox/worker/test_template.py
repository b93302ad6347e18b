from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support.processes import descendants
from tests.support.waits import until as wait_until
from tests.tinyagent.execution.sandbox.worker.serving import WORKERS, until, value_of

from tinyagent.execution.sandbox.worker.codec.wire import Frame, Kind, pack
from tinyagent.execution.sandbox.worker.session.link import Link

_START = (
    "import sys, socket; sys.path.insert(0, sys.argv[1]); from worker.template import main;"
    " del sys.path[0]; main(socket.socket(fileno=int(sys.argv[2])))"
)
NO_LOCKS = "all"
_LIMITS = {
    "cpu_seconds": 20,
    "max_output_bytes": 1000,
    "max_memory_bytes": 2**28,
    "max_processes": 8,
    "max_file_bytes": 2**20,
    "checkpoints": 0,
}


class Running(NamedTuple):
    """A template, the host's end of its socket, and what it has reported."""

    control: socket.socket
    process: subprocess.Popen[bytes]
    report: dict[str, Any]
    links: list[Link]

    def send(self, **order: Any) -> None:
        self.control.sendall(pack(Frame(Kind.ORDER, order)))

    def spawn(self, number: int, **limits: int) -> Link:
        """A session, ready."""
        link = self.ask(number, **limits)
        assert link.receive().kind is Kind.READY
        return link

    def ask(self, number: int, **limits: int) -> Link:
        """A session that may not start."""
        ours, theirs = socket.socketpair()
        ours.settimeout(20)
        order = {"id": number, "limits": {**_LIMITS, **limits}, "imports": ["*"], "folders": []}
        with theirs:
            data = pack(Frame(Kind.ORDER, order))
            socket.send_fds(self.control, [data], [theirs.fileno()])
        self.links.append(Link(ours))
        return self.links[-1]


Start = Callable[..., Running]


@pytest.fixture
def start(request: pytest.FixtureRequest) -> Start:
    """Starts a template without some locks."""

    def run(*without: str, preload: tuple[str, ...] = ("json",)) -> Running:
        ours, theirs = socket.socketpair()
        ours.settimeout(20)
        with theirs:
            command = [sys.executable, "-I", "-c", _START, WORKERS, str(theirs.fileno())]
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        locks = NO_LOCKS not in without
        order = {"locks": locks, "preload": preload, "without": without, "path": sys.path}
        ours.sendall(pack(Frame(Kind.ORDER, order)))
        report = Link(ours).receive()
        assert report.kind is Kind.REPORT
        running = Running(ours, process, report.body, [])
        request.addfinalizer(lambda: end(running))
        return running

    return run


def end(running: Running) -> None:
    for link in running.links:
        link.close()
    running.control.close()
    with running.process:
        running.process.wait(10)


def run(link: Link, code: str) -> Any:
    body = {"step": 1, "code": code, "tools": [], "values": {}, "fork": False, "token": ""}
    link.send(Kind.RUN, body)
    return value_of(until(link, Kind.DONE))


@pytest.fixture(
    params=[(), ("namespaces",), (NO_LOCKS,)],
    ids=["all locks", "without namespaces", "no locks"],
)
def template(request: pytest.FixtureRequest, start: Start) -> Running:
    return start(*request.param)


def test_it_reports_what_it_has_loaded_and_what_is_in_force(start: Start) -> None:
    report = start(preload=("json", "colorsys", "no_such_module")).report
    assert report["preloaded"] == ["json", "colorsys"]
    assert report["namespaces"] is True
    assert report["seccomp"] is True
    report = start("namespaces", "landlock", "seccomp").report
    assert (report["namespaces"], report["landlock"], report["seccomp"]) == (False, 0, False)


def test_sessions_know_nothing_of_each_other(template: Running) -> None:
    one, other = template.spawn(1), template.spawn(2)
    run(one, "import builtins\nn = 1\nbuiltins.shared = 1\nopen('file', 'w').close()")
    assert run(
        other,
        "import os\nos.listdir(), 'n' in globals(), hasattr(builtins, 'shared')".replace(
            "hasattr(builtins", "hasattr(__builtins__"
        ),
    ) == ([], False, False)
    assert run(one, "import os\nos.listdir()") == ["file"]


def test_a_session_has_its_own_home_and_nothing_of_the_hosts(template: Running) -> None:
    code = "import os, tempfile\nfolder = os.getcwd()\n"
    session = template.spawn(1)
    environment = run(session, f"{code}dict(os.environ)")
    folder = run(session, "folder")
    assert environment["HOME"].startswith(folder)
    assert run(session, "tempfile.gettempdir()").startswith(folder)
    assert run(session, "with tempfile.TemporaryFile() as file: pass") is None
    assert run(session, "os.path.realpath('.') == folder") is True
    assert not any(name.startswith("TINYAGENT") for name in environment)


def test_a_session_has_no_descriptors_but_its_own(template: Running) -> None:
    code = (
        "import os\nfound = []\nfor number in range(3, 300):\n    try:\n        os.fstat(number)\n"
        "    except OSError: continue\n    found.append(number)\nlen(found)"
    )
    assert run(template.spawn(1), code) == 1


def test_a_killed_session_is_collected_with_its_folder(template: Running) -> None:
    before = descendants(template.process.pid)
    link = template.spawn(1)
    run(link, "open('file', 'w').write('x')")
    (session,) = descendants(template.process.pid) - before
    folder = Path(f"/proc/{session}/cwd").readlink()
    template.send(kill=1)
    wait_until(lambda: descendants(template.process.pid) == before)
    if not template.report["namespaces"]:
        wait_until(lambda: not folder.exists())
    template.send(kill=1)
    template.send(kill=77)
    assert run(template.spawn(2), "1") == 1


def waiting_processes(template: Running) -> list[int]:
    """Those that are forked ahead: they are called as the template, which forks nothing else."""
    found: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile
            head, _, tail = (folder / "stat").read_text().rpartition(")")
            if head.endswith("(template") and tail.split()[0] != "Z":
                found[int(folder.name)] = int(tail.split()[1])
    known = {template.process.pid, *descendants(template.process.pid)}
    return [pid for pid, parent in found.items() if parent in found and parent in known]


def test_one_process_is_forked_ahead_and_becomes_the_next_session(template: Running) -> None:
    wait_until(lambda: len(waiting_processes(template)) == 1)
    (ahead,) = waiting_processes(template)
    session = template.spawn(1)
    assert ahead in descendants(template.process.pid)
    wait_until(lambda: len(waiting_processes(template)) == 1)
    assert run(session, "1") == 1


def test_one_that_was_killed_while_it_waited_is_replaced(template: Running) -> None:
    wait_until(lambda: len(waiting_processes(template)) == 1)
    os.kill(waiting_processes(template)[0], signal.SIGKILL)
    wait_until(lambda: not waiting_processes(template))
    assert run(template.spawn(1), "1") == 1
    wait_until(lambda: len(waiting_processes(template)) == 1)


def test_the_waiting_process_ends_with_the_template(template: Running) -> None:
    wait_until(lambda: len(waiting_processes(template)) == 1)
    (ahead,) = waiting_processes(template)
    template.control.close()
    assert template.process.wait(10) == 0
    assert not Path(f"/proc/{ahead}").exists()


def test_no_two_sessions_draw_the_same_random_numbers(template: Running) -> None:
    draws = [run(template.spawn(n), "import random\nrandom.random()") for n in range(3)]
    assert len(set(draws)) == 3


def test_a_session_that_ends_by_itself_is_collected(template: Running) -> None:
    before = descendants(template.process.pid)
    link = template.spawn(1)
    body = {
        "step": 1,
        "code": "import os\nos._exit(3)",
        "tools": [],
        "values": {},
        "fork": False,
        "token": "",
    }
    link.send(Kind.RUN, body)
    wait_until(lambda: descendants(template.process.pid) == before)
    assert link.sock.recv(10) == b""


def test_a_session_that_cannot_start_says_why(template: Running) -> None:
    link = template.ask(1, no_such_limit=1)
    frame: Frame = link.receive()
    assert frame.kind is Kind.FAILED
    assert "no_such_limit" in frame.body["error"]
    assert run(template.spawn(2), "1") == 1


def test_when_the_host_is_gone_it_ends_with_all_sessions(template: Running) -> None:
    for number in range(3):
        body = {
            "step": 1,
            "code": "while True: pass",
            "tools": [],
            "values": {},
            "fork": False,
            "token": "",
        }
        template.spawn(number).send(Kind.RUN, body)
    processes = {template.process.pid, *descendants(template.process.pid)}
    assert len(processes) >= 4
    folders: set[Path] = set()
    for pid in processes:
        with suppress(FileNotFoundError):  # the template's helpers come and go
            folders.add(Path(f"/proc/{pid}/cwd").readlink())
    template.control.close()
    assert template.process.wait(10) == 0
    wait_until(lambda: not descendants(template.process.pid))
    if not template.report["namespaces"]:
        assert not any(path.exists() for path in folders if "tinyagent-" in str(path))


def test_each_session_has_its_own_process_namespace(start: Start) -> None:
    template = start()
    for number in range(2):
        assert run(template.spawn(number), "import os\nos.getpid()") == 1
    own = start("namespaces")
    assert run(own.spawn(1), "import os\nos.getpid()") > 1
