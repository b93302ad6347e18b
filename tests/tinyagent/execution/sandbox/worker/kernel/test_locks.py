from __future__ import annotations

import errno
import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.tinyagent.execution.sandbox.worker.serving import output_of

from tinyagent.execution.sandbox.worker.kernel import landlock

CELL = """
    import ctypes, json, os, resource, signal
    from worker.kernel import locks, landlock, linux, mounts, seccomp
    from worker.processes import SessionLimits
    limits = SessionLimits(
        cpu_seconds=7, max_output_bytes=1000, max_memory_bytes=64 << 20, max_processes=3,
        max_file_bytes=1 << 20, checkpoints=2)
    paths = [*mounts.python_paths()]
    cell = locks.PreparedLocks(
        proc=mounts.open_proc(),
        namespaces=False,
        readable=tuple(os.open(path, os.O_PATH) for path in paths),
        landlock=landlock.abi(),
        filters=(seccomp.program(forks=False), seccomp.program(forks=True)),
        keeper=None,
    )

    def outcome(function, *arguments):
        try:
            function(*arguments)
        except (OSError, MemoryError) as error:
            return type(error).__name__
        return "done"
"""


def found(code: str) -> Any:
    return json.loads(output_of(CELL + code))


def test_processes_are_counted_only_if_the_session_has_its_own_users() -> None:
    answer = found("""
    before = resource.getrlimit(resource.RLIMIT_NPROC)
    locks.limit_resources(cell.proc, limits, has_namespaces=cell.namespaces)
    print(json.dumps([before, resource.getrlimit(resource.RLIMIT_NPROC)]))
    """)
    assert answer[0] == answer[1]


def test_limits_are_set_hard_and_counted_from_what_is_in_use() -> None:
    answer = found("""
    locks.limit_resources(cell.proc, limits, has_namespaces=True)
    names = ("CPU", "FSIZE", "NPROC", "CORE", "NOFILE", "MEMLOCK")
    hard = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in names}
    with open("/proc/self/status") as status:
        data = [int(line.split()[1]) for line in status if line.startswith("VmData:")][0] << 10
    over = resource.getrlimit(resource.RLIMIT_DATA)[0] - data
    print(json.dumps({**hard, "over": over, "big": outcome(bytes, 70 << 20),
                      "small": outcome(bytes, 40 << 20)}))
    """)
    assert answer["CPU"] == [7, 7]
    assert answer["FSIZE"] == [1 << 20] * 2
    assert answer["NPROC"] == [8, 8 + 32 * 4]  # the warden gives branches the difference
    assert answer["CORE"] == [1, 1]  # with 0, a program that takes core dumps would be started
    assert answer["MEMLOCK"] == [0, 0]
    assert answer["NOFILE"][0] <= 256
    assert abs(answer["over"] - (64 << 20)) < 8 << 20
    assert (answer["big"], answer["small"]) == ("MemoryError", "done")


def test_a_limit_that_is_lower_already_stays() -> None:
    answer = found("""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    locks.limit_resources(cell.proc, limits, has_namespaces=cell.namespaces)
    print(json.dumps(resource.getrlimit(resource.RLIMIT_FSIZE)))
    """)
    assert answer == [1000, 1000]


def test_a_file_stops_at_its_limit_with_an_error(tmp_path: Path) -> None:
    answer = found(f"""
    os.chdir({str(tmp_path)!r})
    locks.limit_resources(cell.proc, limits, has_namespaces=cell.namespaces)
    def fill():
        with open("file", "wb", buffering=0) as file:
            while True: assert file.write(bytes(65536))
    print(json.dumps([outcome(fill), os.path.getsize("file")]))
    """)
    assert answer == ["OSError", 1 << 20]


@pytest.mark.skipif(landlock.abi() == 0, reason="this kernel has no Landlock")
def test_locked_up_it_has_its_folder_and_python_and_no_rights(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "other").write_text("other")
    answer = found(f"""
    os.chdir({str(tmp_path / "own")!r})
    locks.lock(cell, ".", None)
    with open(os.open("self/status", os.O_RDONLY, dir_fd=cell.proc)) if False else open("x", "w"):
        pass
    print(json.dumps({{
        "own": outcome(open, "file", "w"),
        "other": outcome(open, "../other"),
        "passwd": outcome(open, "/etc/passwd"),
        "python": outcome(open, os.__file__),
        "write": outcome(open, os.__file__, "a"),
        "chown": outcome(os.chown, "file", 1, 1),
        "privs": linux.prctl("PR_GET_NO_NEW_PRIVS", 39),
        "dump": linux.prctl("PR_GET_DUMPABLE", 3),
    }}))
    """)
    assert answer == {
        "own": "done",
        "other": "PermissionError",
        "passwd": "PermissionError",
        "python": "done",
        "write": "PermissionError",
        "chown": "PermissionError",
        "privs": 1,
        "dump": 1,
    }


@pytest.mark.skipif(landlock.abi() == 0, reason="this kernel has no Landlock")
def test_only_the_wardens_view_of_proc_stays_readable(tmp_path: Path) -> None:
    for given, expected in (("None", "PermissionError"), ("cell.proc", "done")):
        answer = found(
            f"""
        os.chdir({str(tmp_path)!r})
        locks.lock(cell, ".", {given})
        print(json.dumps(outcome(lambda: os.open("1/stat", os.O_RDONLY, dir_fd=cell.proc))))
        """.replace("\n        ", "\n    ")
        )
        assert answer == expected


def test_without_a_warden_nothing_forks() -> None:
    answer = found("""
    locks.filter_calls(cell, None)
    def fork():
        if os.fork() == 0: os._exit(0)
    print(json.dumps([outcome(fork), outcome(os.execv, "/bin/true", ["true"])]))
    """)
    assert answer == ["PermissionError", "PermissionError"]


def test_the_warden_is_handed_what_forks_are_granted_by() -> None:
    answer = found("""
    import socket
    warden, handed = socket.socketpair()
    child = os.fork()
    if child == 0:
        locks.filter_calls(cell, handed)
        try:
            os.fork()
        except OSError as error:
            os._exit(error.errno)
    (listener,) = socket.recv_fds(warden, 1, 1)[1]
    os.close(listener)  # nobody is there to grant it
    print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
    """)
    assert answer == errno.ENOSYS


def test_each_process_has_its_own_descriptors_and_is_ended_first() -> None:
    answer = found("""
    import fcntl
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 2): os.dup2(null, number)
    before, said = os.dup(2), os.dup(1)
    locks.stand_alone(cell.proc)
    os.dup2(said, 1)
    fcntl.fcntl(2, fcntl.F_SETFL, os.O_NONBLOCK)
    shared = fcntl.fcntl(before, fcntl.F_GETFL) & os.O_NONBLOCK
    with open("/proc/self/oom_score_adj") as file:
        print(json.dumps([shared, int(file.read())]))
    """)
    assert answer == [0, 1000]


def test_a_cell_without_these_locks_leaves_them_out(tmp_path: Path) -> None:
    answer = found(f"""
    os.chdir({str(tmp_path)!r})
    cell = cell._replace(landlock=0, filters=None)
    locks.lock(cell, ".", None)
    locks.filter_calls(cell, None)
    print(json.dumps([outcome(open, "/etc/passwd"), outcome(os.kill, os.getpid(), 0)]))
    """)
    assert answer == ["done", "done"]


def test_it_dies_with_its_parent() -> None:
    code = """
    import os, select, signal
    from worker.kernel import locks
    read, write = os.pipe()
    middle = os.fork()
    if middle == 0:
        parent = os.getpid()
        if os.fork() == 0:
            locks.die_with_parent(parent)
            os.write(write, b"x")
            while True: signal.pause()
        while True: signal.pause()
    os.close(write)
    assert os.read(read, 1) == b"x"
    os.kill(middle, signal.SIGKILL)
    os.waitpid(middle, 0)
    print(select.select([read], [], [], 10)[0] == [read], os.read(read, 1))
    """
    assert output_of(dedent(code)) == "True b''"


def test_it_ends_at_once_if_its_parent_has_ended_already() -> None:
    code = """
    import os
    from worker.kernel import locks
    pid = os.fork()
    if pid == 0:
        locks.die_with_parent(999_999_999)
        os._exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """
    assert output_of(dedent(code)) == "0"
