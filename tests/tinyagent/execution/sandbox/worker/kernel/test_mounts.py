from __future__ import annotations

import json
import os
from pathlib import Path

from tests.tinyagent.execution.sandbox.worker.serving import output_of

from tinyagent.execution.sandbox.worker.kernel import mounts

ENTER = """
    import json, os
    from worker.kernel import mounts, namespaces
    namespaces.enter()
    namespaces.fork_inside()
    mounts.keep_to_ourselves()
    trees = mounts.hold(mounts.python_paths())
    namespaces.drop_root()
    mounts.enter_root(trees)
"""
FURNISH = """
    from worker.kernel import linux
    if os.fork():
        os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
    linux.unshare(linux.CLONE_NEWNS)
    proc = mounts.open_own_proc()
    mounts.make_working_folder(1 << 20)
    os.chdir(mounts.SANDBOX)
"""


def test_python_is_all_that_is_shown() -> None:
    paths = mounts.python_paths()
    assert all(Path(path).exists() for path in paths)
    assert any(os.__file__.startswith(f"{path}/") for path in paths)
    for name in ("/", "/etc", "/root", "/home", "/var", "/proc", "/sys", "/dev", str(Path.home())):
        assert name not in paths
    assert not any(str(Path(__file__)).startswith(path + "/") for path in paths)


def test_nested_paths_are_shown_once() -> None:
    paths = mounts.python_paths()
    for path in paths:
        assert not any(path.startswith(other + "/") for other in paths)
    assert mounts._outermost(["/b/c/", "/b", "/bc", "/a/../b/d"]) == ["/b", "/bc"]


def test_the_new_root_holds_nothing_else_and_is_read_only() -> None:
    code = """
    def error(function, *arguments):
        try:
            function(*arguments)
        except OSError as error:
            return error.strerror
        return "done"
    tops = {path.split("/")[1] for path in mounts.python_paths()}
    print(json.dumps({
        "strange": sorted(set(os.listdir("/")) - tops - {"sandbox"}),
        "write": error(open, "/x", "w"),
        "library": error(open, os.__file__, "a") != "done",
        "passwd": error(os.stat, "/etc/passwd"),
        "home": error(os.stat, "/home"),
        "null": open("/dev/null", "w").write("x"),
        "import": __import__("statistics").mean([1, 3]),
        "cwd": os.getcwd(),
    }), flush=True)
    """
    content = json.loads(output_of(ENTER + code))
    assert content == {
        "strange": [],
        "write": "Read-only file system",
        "library": True,
        "passwd": "No such file or directory",
        "home": "No such file or directory",
        "null": 1,
        "import": 2,
        "cwd": "/",
    }


def test_a_session_has_a_folder_in_memory_of_its_size_and_no_proc() -> None:
    code = """
    found = {"own": sorted(map(int, filter(str.isdigit, os.listdir(proc))))}
    found["proc"] = [path for path in ("/proc", "/proc/self", "self") if os.path.exists(path)]
    found["entries"] = os.listdir(".")
    written = 0
    try:
        with open("big", "wb", buffering=0) as file:
            while True: written += file.write(bytes(65536))
    except OSError as error:
        found["error"] = error.errno
    found["written"] = written
    print(json.dumps(found), flush=True)
    """
    content = json.loads(output_of(ENTER + FURNISH + code))
    assert content["proc"] == []
    assert content["own"][:2] == [1, 2]
    assert content["entries"] == []
    assert content["error"] == 28
    assert 2**19 <= content["written"] <= 2**20


def test_the_hosts_mounts_are_as_before() -> None:
    before = Path("/proc/self/mounts").read_text()
    output_of(ENTER + FURNISH)
    assert Path("/proc/self/mounts").read_text() == before


def test_a_mount_that_fails_is_named() -> None:
    code = """
    import os
    from worker.kernel import mounts
    try:
        mounts.hold(["/no/such/folder"])
    except OSError as error:
        print(error)
    """
    assert output_of(code) == "[Errno 2] open_tree: No such file or directory"
