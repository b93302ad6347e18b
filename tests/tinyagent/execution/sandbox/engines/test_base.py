"""Starting a program of ours, and ending all of it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.support.processes import descendants, is_running
from tests.support.waits import until

from tinyagent.core.errors import SandboxUnavailable
from tinyagent.execution.sandbox.engines.base import (
    ENVIRONMENT,
    Group,
    last_words,
    start_with_socket,
)

PARENT = """
import subprocess, sys
sys.stderr.write("started"); sys.stderr.flush()
subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"])
"""


def test_a_group_ends_with_all_that_it_started() -> None:
    process = Group([sys.executable, "-c", PARENT])
    until(lambda: descendants(process.pid))
    (child,) = descendants(process.pid)
    assert last_words(process) == "started"  # its pipe is held by the child: this waits for both
    until(lambda: not is_running(child))
    process.kill()  # of what has ended, nothing


def test_a_started_process_uses_the_socket_and_has_its_own_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_KEY", "hidden")
    code = (
        "import os, socket, sys; control = socket.socket(fileno=int(sys.argv[1]));"
        " control.send(','.join(sorted(os.environ)).encode() + control.recv(9))"
    )
    process, control = start_with_socket(
        lambda descriptor: [sys.executable, "-I", "-c", code, str(descriptor)]
    )
    with control:
        control.send(b"!")
        names = control.recv(4096).decode()
    assert last_words(process) == "no reason given"
    assert set(names.rstrip("!").split(",")) - {"LC_CTYPE"} == set(ENVIRONMENT)


def test_a_program_that_does_not_exist_is_named() -> None:
    with pytest.raises(SandboxUnavailable, match=r"/nowhere/bwrap cannot be run: .*No such file"):
        start_with_socket(lambda descriptor: ["/nowhere/bwrap", str(descriptor)])


def test_a_group_has_no_terminal() -> None:
    code = "import os, sys; sys.stderr.write(str(os.getsid(0) == os.getpid()))"
    process = Group([sys.executable, "-c", code])
    assert isinstance(process, subprocess.Popen)
    process.wait(10)
    assert last_words(process) == "True"
