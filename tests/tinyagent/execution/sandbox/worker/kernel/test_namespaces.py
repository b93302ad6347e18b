from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.tinyagent.execution.sandbox.worker.serving import output_of

KINDS = ("user", "mnt", "pid", "net", "ipc", "uts")
ENTER = """
    import json, os
    from worker.kernel import linux, mounts, namespaces
    namespaces.enter()
"""


def own(kind: str) -> str:
    return Path(f"/proc/self/ns/{kind}").readlink().name


def test_all_namespaces_are_left_for_new_ones() -> None:
    code = f"""
    namespaces.fork_inside()
    mounts.keep_to_ourselves()
    trees = mounts.hold(mounts.python_paths())
    namespaces.drop_root()
    mounts.enter_root(trees)
    found = [os.readlink(f"{{mounts.PROC}}/self/ns/{{kind}}") for kind in {KINDS!r}]
    print(json.dumps([os.getpid(), *found]), flush=True)
    """
    pid, *content = json.loads(output_of(ENTER + code))
    assert pid == 1
    assert len(set(content)) == len(KINDS)
    assert set(content).isdisjoint(own(kind) for kind in KINDS)


def test_the_network_has_no_way_out() -> None:
    code = """
    import socket
    print([name for _, name in socket.if_nameindex()])
    try:
        socket.create_connection(("127.0.0.1", 1), 1)
    except OSError as error:
        print(error.strerror)
    """
    assert output_of(ENTER + code) == "['lo']\nNetwork is unreachable"


@pytest.mark.skipif(os.geteuid() != 0, reason="root only has a root to drop")
def test_no_file_is_roots_own_any_more() -> None:
    code = """
    namespaces.fork_inside()
    namespaces.drop_root()
    try:
        open("/etc/shadow").close()
    except OSError as error:
        print(error.strerror, os.geteuid(), os.getgroups(), flush=True)
    """
    assert output_of(ENTER + code) == "Permission denied 0 []"


def test_a_session_is_its_own_user_without_any_rights_outside() -> None:
    code = """
    namespaces.fork_inside()
    mounts.keep_to_ourselves()
    trees = mounts.hold(mounts.python_paths())
    namespaces.drop_root()
    mounts.enter_root(trees)
    if os.fork():
        os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
    proc = mounts.open_proc()
    namespaces.enter_own_users(proc)
    setgroups = open(mounts.PROC + "/self/setgroups").read().strip()
    print(os.getuid(), os.getgid(), setgroups, flush=True)
    try:
        linux.checked(linux.libc().sethostname(b"x", 1), "sethostname")
    except OSError as error:
        print(error, flush=True)
    """
    first, second = output_of(ENTER + code).splitlines()
    assert first == "1000 1000 deny"
    assert second == "[Errno 1] sethostname: Operation not permitted"


def test_the_exit_code_of_the_one_inside_comes_out() -> None:
    code = """
    import os
    from worker.kernel import namespaces
    pid = os.fork()
    if pid == 0:
        namespaces.enter()
        namespaces.fork_inside()
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """
    assert output_of(code) == "7"


def test_the_one_inside_ends_with_the_one_outside() -> None:
    code = """
    import os, select, signal
    from worker.kernel import namespaces
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        namespaces.enter()
        namespaces.fork_inside()  # the one outside closes all that it has
        os.write(write, b"x")
        signal.pause()
    os.close(write)
    assert os.read(read, 1) == b"x"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    print(select.select([read], [], [], 10)[0] == [read], os.read(read, 1))
    """
    assert output_of(code) == "True b''"
