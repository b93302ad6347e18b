from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.tinyagent.execution.sandbox.worker.kernel.confined import output_of, run

from tinyagent.execution.sandbox.worker.kernel import linux, syscalls

HEADERS = {
    "x86_64": ("x86_64-linux-gnu/asm/unistd_64.h", "asm/unistd_64.h"),
    "aarch64": ("asm-generic/unistd.h",),
}
OWN_MOUNTS = """
    user, group = os.getuid(), os.getgid()
    linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWNS)
    maps = {"setgroups": "deny", "uid_map": f"0 {user} 1", "gid_map": f"0 {group} 1"}
    for name, line in maps.items():
        with open(f"/proc/self/{name}", "w") as file:
            file.write(line)
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
"""


@pytest.fixture(scope="module")
def _user_namespaces(tmp_path_factory: pytest.TempPathFactory) -> None:
    attempt = run("linux.unshare(linux.CLONE_NEWUSER)", tmp_path_factory.mktemp("attempt"))
    if attempt.returncode:
        pytest.skip("this machine lets nobody make user namespaces")


@pytest.mark.usefixtures("_user_namespaces")
class TestNamespaces:
    def test_a_new_network_has_nothing_but_itself(self, tmp_path: Path) -> None:
        code = """
            import socket
            linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWNET)
            print([name for _, name in socket.if_nameindex()])
        """
        assert output_of(code, tmp_path) == "['lo']"

    def test_one_can_go_back_into_a_namespace(self, tmp_path: Path) -> None:
        code = """
            linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWNET)
            path = "/proc/self/ns/net"
            first, name = os.open(path, os.O_RDONLY), os.readlink(path)
            linux.unshare(linux.CLONE_NEWNET)
            assert os.readlink(path) != name
            linux.setns(first, linux.CLONE_NEWNET)
            print(os.readlink(path) == name)
        """
        assert output_of(code, tmp_path) == "True"

    def test_a_mount_is_there_until_it_is_taken_away(self, tmp_path: Path) -> None:
        code = """
            os.mkdir("place")
            linux.mount("tmpfs", "place", "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=64k")
            open("place/file", "w").close()
            print(os.listdir("place"))
            linux.umount2("place")
            print(os.listdir("place"))
        """
        assert output_of(code, tmp_path, before=OWN_MOUNTS) == "['file']\n[]"

    def test_a_pivoted_root_shows_nothing_of_the_old_one(self, tmp_path: Path) -> None:
        code = """
            os.mkdir("root")
            linux.mount("tmpfs", "root", "tmpfs")
            os.chdir("root")
            linux.pivot_root(".", ".")
            linux.umount2(".")
            print(os.listdir("/"))
        """
        assert output_of(code, tmp_path, before=OWN_MOUNTS) == "[]"

    def test_dropped_capabilities_are_gone_and_do_not_come_back(self, tmp_path: Path) -> None:
        code = """
            linux.unshare(linux.CLONE_NEWUSER)
            linux.drop_capabilities()
            status = open("/proc/self/status").read().split()
            kinds = ("Inh", "Prm", "Eff", "Amb")
            print({status[status.index(f"Cap{kind}:") + 1] for kind in kinds})
            try:
                linux.unshare(linux.CLONE_NEWNET)
            except PermissionError as error:
                print(error)
        """
        zero = "0" * 16
        assert (
            output_of(code, tmp_path) == f"{{'{zero}'}}\n[Errno 1] unshare: Operation not permitted"
        )


def test_who_has_no_capabilities_can_drop_them_as_well(tmp_path: Path) -> None:
    code = """
        linux.drop_capabilities()
        linux.drop_capabilities()
        status = open("/proc/self/status").read().split()
        print(status[status.index("CapEff:") + 1])
    """
    assert output_of(code, tmp_path) == "0" * 16


def test_privileges_and_dumps_are_given_up(tmp_path: Path) -> None:
    code = """
        linux.set_no_new_privs()
        linux.set_dumpable(False)
        print(linux.prctl("PR_GET_NO_NEW_PRIVS", 39), linux.prctl("PR_GET_DUMPABLE", 3))
        linux.set_dumpable(True)
        print(linux.prctl("PR_GET_DUMPABLE", 3))
    """
    assert output_of(code, tmp_path) == "1 0\n1"


def test_a_child_dies_with_its_parent(tmp_path: Path) -> None:
    # The child keeps standard output open: output_of() comes back only because it is killed.
    code = """
        import signal
        reading, writing = os.pipe()
        if os.fork() == 0:
            linux.set_parent_death_signal(signal.SIGKILL)
            os.write(writing, b".")
            signal.pause()
        os.read(reading, 1)
        print("parent leaves", flush=True)
        os._exit(0)
    """
    assert output_of(code, tmp_path) == "parent leaves"


@pytest.mark.parametrize(("threads", "outcome"), [(0, []), (1, ["hook"])])
def test_a_fork_does_what_other_threads_ask_for(
    threads: int, outcome: list[str], tmp_path: Path
) -> None:
    code = f"""
        import random, signal, threading
        outcome = []
        os.register_at_fork(after_in_child=lambda: outcome.append("hook"))
        for _ in range({threads}):
            threading.Thread(target=signal.pause, daemon=True).start()
        random.seed(1)
        if linux.fork() == 0:
            print(outcome, random.random() == random.Random(1).random(), threading.active_count())
            sys.stdout.flush()
            os._exit(0)
        os.wait()
        os._exit(0)
    """
    assert output_of(code, tmp_path, before="    import sys") == f"{outcome} True 1"


def test_a_fork_too_many_is_an_error(tmp_path: Path) -> None:
    code = """
        import resource
        if os.geteuid() == 0:
            os.setresuid(65534, 65534, 65534)
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        try:
            linux.fork()
        except BlockingIOError as error:
            print(error)
    """
    assert output_of(code, tmp_path) == "[Errno 11] fork: Resource temporarily unavailable"


def test_a_process_is_listed_by_its_name(tmp_path: Path) -> None:
    code = """
        linux.set_name("spare")
        print(open("/proc/self/comm").read())
    """
    assert output_of(code, tmp_path) == "spare"


@pytest.mark.parametrize("call", ["as it is", "refused by a container"])
def test_descriptors_are_closed_from_first_to_last(call: str, tmp_path: Path) -> None:
    refuse = """
        def refuse(*arguments):
            raise PermissionError
        linux.syscall = refuse
    """
    code = """
        opened = [os.dup(1) for _ in range(6)]
        linux.close_range(opened[1], opened[3])
        print([os.path.exists(f"/proc/self/fd/{number}") for number in opened])
        linux.close_range(3)
        print(sorted(os.listdir("/proc/self/fd"), key=int)[:3], len(os.listdir("/proc/self/fd")))
    """
    before = refuse if call == "refused by a container" else ""
    first, second = output_of(code, tmp_path, before=before).splitlines()
    assert first == "[True, False, False, False, True, True]"
    assert second == "['0', '1', '2'] 4"  # the fourth is the listing's own


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linux.setns(-1), r"setns: Bad file descriptor"),
        (lambda: linux.unshare(1), r"unshare: Invalid argument"),
        (lambda: linux.umount2("/nowhere at all"), r"umount2 /nowhere at all: "),
        (lambda: linux.mount(None, "/nowhere at all"), r"mount /nowhere at all: "),
        (lambda: linux.pivot_root("/nowhere at all", "/"), r"pivot_root: "),
        (lambda: linux.prctl("PR_NONSENSE", 12345), r"prctl PR_NONSENSE: Invalid argument"),
        (lambda: linux.syscall("no_such_call"), r"no system call no_such_call"),
    ],
)
def test_errors_name_the_call(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(OSError, match=message):
        call()


@pytest.fixture
def _forgotten_machine() -> Iterator[None]:
    syscalls.machine.cache_clear()
    yield
    syscalls.machine.cache_clear()


@pytest.mark.usefixtures("_forgotten_machine")
def test_an_unknown_machine_has_no_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    there = os.uname_result(("Linux", "host", "6.0", "#1", "riscv64"))
    monkeypatch.setattr(os, "uname", lambda: there)
    with pytest.raises(OSError, match="no table of system calls for linux on riscv64") as caught:
        syscalls.number("read")
    assert caught.value.errno == errno.ENOSYS


@pytest.mark.parametrize(
    ("machine", "known"),
    [
        ("x86_64", {"read": 0, "execve": 59, "openat": 257, "seccomp": 317, "rseq": 334}),
        ("aarch64", {"read": 63, "execve": 221, "openat": 56, "seccomp": 277, "rseq": 293}),
    ],
)
def test_numbers_are_those_of_the_machine(machine: str, known: dict[str, int]) -> None:
    numbers = syscalls.machines()[machine].numbers
    alike = {"pidfd_send_signal": 424, "clone3": 435, "landlock_create_ruleset": 444}
    assert numbers.items() >= (known | alike).items()
    assert len(set(numbers.values())) == len(numbers)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_numbers_are_those_of_the_headers(machine: str) -> None:
    folder = Path("/usr/include")
    header = next((folder / name for name in HEADERS[machine] if (folder / name).exists()), None)
    if header is None:
        pytest.skip("the kernel's headers are not installed (linux-libc-dev)")
    text = header.read_text(encoding="ascii")
    defined = re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)$", text, re.MULTILINE)
    numbers = syscalls.machines()[machine].numbers
    theirs = {name: int(number) for name, number in defined if int(number) <= 450}
    ours = {name: theirs.get(name, number) for name, number in numbers.items() if number <= 450}
    assert numbers == ours
    assert len(theirs.keys() & numbers.keys()) > 0.9 * len(numbers)
