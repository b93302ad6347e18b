"""The filter on this kernel: what it refuses, and what else it lets pass."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest
from tests.tinyagent.execution.sandbox.worker.kernel.confined import output_of, run, start

from tinyagent.execution.sandbox.worker.kernel import syscalls

try:
    NUMBERS = syscalls.machine().numbers
except OSError as error:
    pytest.skip(str(error), allow_module_level=True)

# Refused to all; with arguments that do no harm should they get through.
REFUSED: dict[str, tuple[int, ...]] = {
    "accept4": (-1,), "acct": (-1,), "add_key": (), "bind": (-1,), "bpf": (), "capset": (),
    "chroot": (), "connect": (-1,), "delete_module": (), "execve": (), "execveat": (-1,),
    "fanotify_init": (), "fchmod": (-1,), "fchmodat": (-1, 1), "fchown": (-1,),
    "fchownat": (-1, 1), "finit_module": (-1,), "fsetxattr": (-1,), "fsopen": (),
    "init_module": (), "inotify_init1": (), "io_setup": (), "io_uring_setup": (),
    "ioprio_set": (), "kcmp": (), "kexec_load": (0, 0, 0, -1), "keyctl": (99,), "kill": (0, 0),
    "landlock_create_ruleset": (), "linkat": (-1, 1, -1, 1), "listen": (-1,), "memfd_create": (),
    "memfd_secret": (-1,), "mknodat": (-1, 1), "mlock": (0, 0), "mlockall": (0,), "mount": (),
    "mount_setattr": (-1,), "move_mount": (-1, 1, -1, 1), "mq_open": (), "msgget": (0, 0),
    "name_to_handle_at": (-1, 1), "open_by_handle_at": (-1,), "open_tree": (-1, 1),
    "perf_event_open": (), "personality": (0xFFFFFFFF,), "pidfd_getfd": (-1,),
    "pidfd_send_signal": (-1,), "pivot_root": (), "process_madvise": (-1,),
    "process_vm_readv": (), "process_vm_writev": (), "ptrace": (1, 0), "quotactl": (),
    "request_key": (), "rt_sigqueueinfo": (0, 0), "rt_tgsigqueueinfo": (0, 0, 0),
    "sched_setaffinity": (0, 0), "sched_setscheduler": (0, 0), "seccomp": (99,),
    "semget": (0, 0), "sendmmsg": (-1,), "sendmsg": (-1,), "setgid": (-1,), "setgroups": (-1,),
    "setns": (-1,), "setpgid": (-1,), "setpriority": (9,), "setrlimit": (99,), "setsid": (),
    "setsockopt": (-1,), "setuid": (-1,), "shmget": (0, 0), "shutdown": (-1,), "socket": (99,),
    "splice": (-1,), "swapon": (), "symlinkat": (1, -1, 1), "sync": (), "syncfs": (-1,),
    "tgkill": (0, 0, 0), "timer_create": (), "tkill": (0, 0), "truncate": (1, 0),
    "umount2": (), "unshare": (1,), "userfaultfd": (0xFF,), "utimensat": (-1, 1),
}  # fmt: skip
ABSENT = {"clone3": 435, "openat2": 437, "fchmodat2": 452, "tomorrow's": 9999, "of x32": 0x40000027}
ASK = """
    import ctypes, errno, json
    call = ctypes.CDLL(None, use_errno=True).syscall
    def ask(number, *arguments):
        ctypes.set_errno(0)
        call(ctypes.c_long(number), *map(ctypes.c_long, [*arguments, 0, 0, 0, 0, 0, 0][:6]))
        return ctypes.get_errno()
    def outcome(function, *arguments):
        try:
            function(*arguments)
        except OSError as error:
            return errno.errorcode[error.errno]
        return "done"
"""


def answers(calls: Mapping[str, tuple[int, ...]], folder: Path, *locks: str) -> dict[str, int]:
    """The errors of raw system calls, by name."""
    output = output_of(
        f"print(json.dumps({{name: ask(*call) for name, call in {calls!r}.items()}}))",
        folder,
        *locks,
        before=ASK,
    )
    errors: dict[str, int] = json.loads(output)
    return errors


@pytest.mark.parametrize("lock", ["calls", "forks"])
def test_dangerous_calls_are_refused(lock: str, tmp_path: Path) -> None:
    calls = {name: (NUMBERS[name], *arguments) for name, arguments in REFUSED.items()}
    assert answers(calls, tmp_path, lock) == dict.fromkeys(REFUSED, errno.EPERM)
    if os.geteuid() == 0:  # to whom the kernel itself would not say that
        unhindered = answers(calls, tmp_path)
        assert [name for name, error in unhindered.items() if error == errno.EPERM] == []


def test_newer_calls_seem_not_to_exist(tmp_path: Path) -> None:
    calls = {name: (number,) for name, number in ABSENT.items()}
    assert answers(calls, tmp_path, "calls") == dict.fromkeys(ABSENT, errno.ENOSYS)


def test_processes_are_not_made(tmp_path: Path) -> None:
    code = """
        import subprocess
        print(outcome(os.fork), outcome(subprocess.run, ["/bin/true"]))
        print(outcome(os.posix_spawn, "/bin/true", ["true"], {}))
    """
    output = output_of(code, tmp_path, "files", "calls", before=ASK, readable=(Path("/bin"),))
    assert output == "EPERM EPERM\nEPERM"


def test_a_fork_is_a_plain_one_where_it_is_let_pass(tmp_path: Path) -> None:
    clone = NUMBERS["clone"]
    code = f"""
        import subprocess
        for flags in (
            0x11 | 0x10000000, 0x1200011 | 0x20000000, 0x1200011 | 0x40000000, 0x1200011 | 0x8000,
            0x11 | 0x100, 0x11 | 0x4000 | 0x100, 0x1200011 | 1 << 32, 0x1200012, 0x10F00 | 0x20000,
        ):
            print(ask({clone}, flags), end=" ")
        if os.fork() == 0:
            try:
                os.kill(os.getppid(), 9)
            except PermissionError:
                os._exit(7)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
        watch = os.fork()
        if watch == 0:
            os._exit(3)
        print(os.waitid(os.P_PIDFD, os.pidfd_open(watch), os.WEXITED).si_status)
        print(outcome(subprocess.run, ["/bin/true"]))
    """
    refused = f"{errno.EPERM} " * 9
    output = output_of(
        code, tmp_path, "files", "forks", before=ASK, readable=(Path("/bin"),)
    ).splitlines()
    assert output[:2] == [refused + "7", "3"]
    assert output[2] in {"EPERM", "EACCES"}  # by the filter, or by Landlock in the fork


def test_threads_that_were_there_before_are_filtered_too(tmp_path: Path) -> None:
    before = """
        import threading
        locked = threading.Event()
        def wait():
            locked.wait()
            print(outcome(os.setsid))
        thread = threading.Thread(target=wait)
        thread.start()
    """
    code = "locked.set(); thread.join()"
    assert output_of(code, tmp_path, "calls", before=dedent(ASK) + dedent(before)) == "EPERM"


def test_a_thread_with_its_own_filter_is_an_error(tmp_path: Path) -> None:
    before = """
        import ctypes, struct, threading
        from worker.kernel import bpf
        everything = bpf.verdict(0x7FFF0000)
        buffer = ctypes.create_string_buffer(everything)
        header = struct.pack("@HP", 1, ctypes.addressof(buffer))
        ready, done = threading.Event(), threading.Event()
        def wait():
            linux.set_no_new_privs()
            linux.syscall("seccomp", 1, 0, header)
            ready.set()
            done.wait()
        threading.Thread(target=wait).start()
        ready.wait()
        try:
            seccomp.install(everything)
        except OSError as error:
            print(error)
        done.set()
    """
    assert "has another filter" in output_of("", tmp_path, before=before)


def test_nobody_is_reached_through_sockets(tmp_path: Path) -> None:
    code = """
        import socket
        for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
            print(outcome(socket.socket, family), end=" ")
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            print(outcome(socket.socketpair, socket.AF_UNIX, kind), end=" ")
        left.settimeout(20)
        left.sendall(b"text")
        print(right.recv(4), left.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == left.type)
        print(outcome(socket.send_fds, left, [b"."], [0]), outcome(left.shutdown, socket.SHUT_RD))
        print(outcome(left.setsockopt, socket.SOL_SOCKET, socket.SO_SNDBUF, 1))
    """
    before = f"{ASK}    import socket\n    left, right = socket.socketpair()\n"
    output = output_of(code, tmp_path, "calls", before=before)
    assert output == "EPERM " * 7 + "b'text' True\nEPERM EPERM\nEPERM"


def test_descriptors_are_received(tmp_path: Path) -> None:
    before = """
        import socket
        host, session = socket.socketpair()
        socket.send_fds(host, [b"."], [1])
    """
    code = """
        _, (descriptor,), _, _ = socket.recv_fds(session, 1, 1)
        os.write(descriptor, b"received")
    """
    assert output_of(code, tmp_path, "files", "calls", before=before) == "received"


def test_signals_are_sent_to_nobody(tmp_path: Path) -> None:
    code = """
        import signal
        print(outcome(os.kill, os.getpid(), 0), outcome(os.kill, os.getppid(), 0))
        print(outcome(signal.raise_signal, signal.SIGTERM), outcome(os.killpg, 0, 0))
        own = os.pidfd_open(os.getpid())
        print(outcome(signal.pidfd_send_signal, own, 0))
    """
    output = output_of(code, tmp_path, "calls", before=ASK)
    assert output.split() == ["EPERM"] * 5


def test_files_keep_what_landlock_does_not_keep(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    code = """
        print(outcome(os.symlink, "/etc/passwd", "link"), outcome(os.link, "file", "link"))
        print(outcome(os.chmod, "file", 0o777), outcome(os.chown, "file", -1, -1))
        print(outcome(os.utime, "file"), outcome(os.setxattr, "file", "user.a", b""))
        print(outcome(os.truncate, "file", 0), outcome(os.open, "file", os.O_TRUNC))
        print(outcome(os.open, "file", os.O_TRUNC | os.O_RDWR | os.O_WRONLY))
        print(outcome(os.mknod, "node"), outcome(os.mkfifo, "pipe"))
    """
    assert set(output_of(code, tmp_path, "calls", before=ASK).split()) == {"EPERM"}
    assert (tmp_path / "file").read_text() == "text"


def test_limits_descriptors_and_terminals_stay_as_they_are(tmp_path: Path) -> None:
    code = """
        import fcntl, resource, termios
        most = resource.getrlimit(resource.RLIMIT_NOFILE)
        print(outcome(resource.prlimit, 0, resource.RLIMIT_NOFILE, most))
        print(outcome(resource.prlimit, os.getppid(), resource.RLIMIT_NOFILE))
        for command in (fcntl.F_SETOWN, fcntl.F_SETSIG, fcntl.F_SETLEASE, fcntl.F_NOTIFY):
            print(outcome(fcntl.fcntl, 1, command, 0))
        print(outcome(fcntl.ioctl, 1, termios.TIOCSTI, b"x"))
        print(outcome(fcntl.ioctl, 1, termios.FIOASYNC, b"1234"))
        print(outcome(linux.prctl, "PR_SET_DUMPABLE", 4, 1))
    """
    *most, terminal, ioctl, prctl = output_of(code, tmp_path, "calls", before=ASK).split()
    assert set(most) == {"EPERM"}
    assert (terminal, ioctl, prctl) == ("ENOTTY", "ENOTTY", "EPERM")


def test_record_locks_seem_granted_and_are_not_taken(tmp_path: Path) -> None:
    code = """
        import fcntl, sqlite3
        with open("file", "w") as own, open("/dev/null", "r+") as null:
            for file in (own, null):
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            print(outcome(fcntl.flock, null, fcntl.LOCK_SH))
        database = sqlite3.connect("base")
        database.execute("create table t as select 1 as a")
        database.commit()
        print(sqlite3.connect("base").execute("select a from t").fetchall(), flush=True)
        sys.stdin.read()
    """
    process = start(code, tmp_path, "files", "calls", before=ASK)
    with process:
        output = [process.stdout.readline() for _ in range(2)] if process.stdout else []
        assert output == ["EPERM\n", "[(1,)]\n"]
        for path in (tmp_path / "file", Path("/dev/null")):
            with path.open("r+") as file:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        process.communicate("")


def test_no_memory_is_taken_that_the_limit_does_not_count(tmp_path: Path) -> None:
    before = """
        import resource
        with open("/proc/self/maps") as maps:
            stack = [line.split()[0] for line in maps if line.endswith("[stack]\\n")][0]
        start = int(stack.partition("-")[0], 16)
        with open("/proc/self/statm") as statm:
            data = int(statm.read().split()[5]) * 4096
        resource.setrlimit(resource.RLIMIT_DATA, (data + 2**26, data + 2**26))
    """
    code = """
        import mmap
        libc = ctypes.CDLL(None, use_errno=True)
        for name in ("mmap", "mremap"): getattr(libc, name).restype = ctypes.c_void_p
        def failed(place): return place in (None, 2**64 - 1)
        def map(flags, size): return libc.mmap(None, ctypes.c_size_t(size), 3, flags, -1, 0)
        own = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        print(failed(map(own | 0x100, 2**20)), failed(map(own | 0x40000, 2**21)))
        one, many = ctypes.c_size_t(4096), ctypes.c_size_t(2**29)
        moved = libc.mremap(ctypes.c_void_p(start), one, many, 1)
        print(failed(moved))
        for rights in (mmap.PROT_READ, 0, mmap.PROT_READ | mmap.PROT_EXEC, 3 | 0x1000000):
            for megas in range(200):
                place = map(own, 2**20)
                if failed(place): break
                libc.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(2**20), rights)
            print(megas < 100, end=" ")
    """
    output = output_of(code, tmp_path, "calls", before=dedent(ASK) + dedent(before))
    assert output.split() == ["True"] * 7


def test_nobody_is_woken_through_a_file_that_all_may_map(tmp_path: Path) -> None:
    futex = NUMBERS["futex"]
    code = f"""
        word = ctypes.c_int(1)
        place = ctypes.addressof(word)
        print(ask({futex}, place, 1, 1), ask({futex}, place, 0x81, 1), ask({futex}, place, 3, 1, 1))
        print(ask({futex}, place, 0, 0) == errno.EAGAIN)
        print(outcome(left.send, b"x", socket.MSG_OOB), left.send(b"x"))
    """
    before = f"{dedent(ASK)}\nimport socket\nleft, right = socket.socketpair()"
    assert output_of(code, tmp_path, "calls", before=before) == "1 0 1\nTrue\nEPERM 1"


@pytest.mark.skipif("x86_64" not in os.uname().machine, reason="int 0x80 is of x86")
def test_the_calls_of_another_architecture_end_the_process(tmp_path: Path) -> None:
    code = """
        import ctypes, mmap
        own = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        rights = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        page = mmap.mmap(-1, 4096, flags=own, prot=rights)
        page.write(bytes.fromhex("b814000000 cd80 c3"))  # getpid of i386
        place = ctypes.addressof(ctypes.c_char.from_buffer(page))
        print(ctypes.CFUNCTYPE(ctypes.c_int)(place)() == os.getpid(), flush=True)
    """
    if run(code, tmp_path).stdout != "True\n":
        pytest.skip("this kernel runs no calls of i386")
    assert run(code, tmp_path, "calls").returncode == -signal.SIGSYS


def test_a_filter_that_is_not_valid_is_an_error(tmp_path: Path) -> None:
    output = output_of("print(outcome(seccomp.install, b''))", tmp_path, before=ASK)
    assert output == "EINVAL"
