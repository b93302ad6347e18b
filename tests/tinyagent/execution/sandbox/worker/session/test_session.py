from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from tests.support.processes import descendants
from tests.support.waits import until as wait_until
from tests.tinyagent.execution.sandbox.worker.serving import Served, serving, until, value_of

from tinyagent.execution.sandbox.worker.codec.wire import Frame, Kind, pack
from tinyagent.execution.sandbox.worker.session.link import Link


@pytest.fixture
def session(tmp_path: Path) -> Generator[Served]:
    with serving(tmp_path) as served:
        yield served


InFork = Callable[[Link, str], Link]


@pytest.fixture
def in_fork() -> Generator[InFork]:
    """Has a fork of the process behind a link run the code; gives the link to the fork."""
    links: list[Link] = []

    def run(holder: Link, code: str) -> Link:
        ours, theirs = socket.socketpair()
        ours.settimeout(20)
        links.append(Link(ours))
        body = {
            "step": 1,
            "code": code,
            "tools": [],
            "values": {},
            "fork": True,
            "seed": False,
            "token": "",
        }
        with theirs:
            socket.send_fds(holder.sock, [pack(Frame(Kind.RUN, body))], [theirs.fileno()])
        return links[-1]

    yield run
    for link in links:
        link.close()


def test_steps_run_in_the_session_itself(session: Served) -> None:
    session.value("n = 1")
    assert session.value("n + 1") == 2
    assert session.value("import os\nos.getpid()") == session.process.pid


def test_it_is_hardened_before_the_first_step_and_only_once(session: Served) -> None:
    code = "import ctypes\ngetenv = ctypes.CDLL(None).getenv\ngetenv.restype = ctypes.c_char_p\n"
    assert session.value(code + "str(getenv(b'HARDENED'))") == "b'1'"
    session.value("import os\nos.putenv('HARDENED', '2')")
    assert session.value("str(getenv(b'HARDENED'))") == "b'2'"


def test_files_are_put_into_the_folder_in_pieces(session: Served, tmp_path: Path) -> None:
    session.link.send(Kind.FILE, {"name": "a", "append": False}, b"one")
    session.link.send(Kind.FILE, {"name": "a", "append": True}, b"two")
    session.link.send(Kind.FILE, {"name": "sub/b", "append": False}, b"")
    assert session.value("open('a').read()") == "onetwo"
    assert (tmp_path / "sub/b").read_bytes() == b""


def test_it_ends_when_the_host_is_gone(session: Served) -> None:
    session.link.close()
    assert session.process.wait(10) == 0


def test_a_fork_has_the_variables_and_its_parent_keeps_its_own(
    session: Served, in_fork: InFork
) -> None:
    session.value("n = 1")
    child = in_fork(session.link, "import os\nn += 1\nn, os.getpid()")
    frames = {frame.kind: frame for frame in (child.receive(), child.receive())}
    assert value_of([frames[Kind.DONE]]) == (2, frames[Kind.FORKED].body["pid"])
    grandchild = in_fork(child, "n += 1\nn")
    assert value_of(until(grandchild, Kind.DONE)) == 3
    assert value_of(until(in_fork(child, "n"), Kind.DONE)) == 2
    assert session.value("n") == 1


def test_the_end_of_a_fork_is_reported_to_the_host(session: Served, in_fork: InFork) -> None:
    for code, status in (("os._exit(3)", 3), ("os.kill(os.getpid(), 9)", -signal.SIGKILL)):
        child = in_fork(session.link, f"import os\n{code}")
        (forked,) = until(child, Kind.FORKED)
        ended = until(session.link, Kind.EXITED)[-1].body
        assert ended["pid"] == forked.body["pid"]
        assert os.waitstatus_to_exitcode(ended["status"]) == status


def test_a_fork_whose_socket_is_closed_ends_with_its_forks(
    session: Served, in_fork: InFork
) -> None:
    child = in_fork(session.link, "n = 1")
    until(child, Kind.DONE)
    grandchild = in_fork(child, "n = 2")
    until(grandchild, Kind.DONE)
    assert len(descendants(session.process.pid)) == 2
    grandchild.close()
    child.close()
    wait_until(lambda: not descendants(session.process.pid))
    assert until(session.link, Kind.EXITED)[-1].body["status"] == 0


@pytest.mark.parametrize("threads", [0, 1])
def test_a_seed_holds_in_forks(session: Served, in_fork: InFork, threads: int) -> None:
    session.value("import random, threading\nrandom.seed(1)")
    session.value(f"for _ in range({threads}): threading.Thread(target=input, daemon=True).start()")
    one = value_of(until(in_fork(session.link, "random.random()"), Kind.DONE))
    assert one == value_of(until(in_fork(session.link, "random.random()"), Kind.DONE))
    assert one == session.value("random.Random(1).random()")
