"""One probe for each promise: code that would succeed if the promise were not kept."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from tinyagent.core.threads import run_in_thread
from tinyagent.execution.definition import Sandbox
from tinyagent.execution.doctor.bench import (
    LIMITS,
    Bench,
    Probe,
    ProbeFailed,
    ProbeResult,
    processes_called,
)
from tinyagent.execution.doctor.limit_probes import (
    NAME_ITSELF,
    SHORT,
    memory_limit,
    process_limit,
    time_limit,
    whole,
)
from tinyagent.execution.sandbox.worker.kernel import syscalls

_END_SECONDS = 3.0
_CALLS = {
    "unshare": (0x1000_0000,),
    "setns": (0, 0),
    "mount": (0, 0, 0, 0, 0),
    "ptrace": (16, 1),
    "process_vm_readv": (1, 0, 0, 0, 0, 0),
    "bpf": (0, 0, 0),
    "perf_event_open": (0, 0, 0, 0, 0),
    "keyctl": (0, 0),
    "io_uring_setup": (0, 0),
    "userfaultfd": (0,),
    "memfd_create": (0, 0),
}
_NULL = """
import fcntl, os, struct
null = open("/dev/null", "r+")

def lock_of_null():
    query = struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0)
    return struct.unpack("hhqqi", fcntl.fcntl(null, fcntl.F_GETLK, query))[0] != fcntl.F_UNLCK
"""
_HOLD = """
import asyncio, sys
from tinyagent import Sandbox, get_executor

async def hold(level, engine, mark):
    sandbox = Sandbox(level, imports="*", engine=None if engine == "-" else engine)
    async with get_executor(sandbox) as executor:
        executor.inject("MARK", mark)
        executor.inject("ready", lambda: print(flush=True))
        await executor.run(sys.stdin.readline().encode().decode("unicode_escape"))

asyncio.run(hold(*sys.argv[1:]))
"""


@dataclass(frozen=True, slots=True)
class Attempts:
    """A probe that tries several acts, each of which must be refused.

    Args:
        acts: The code of each act, by its name.
        setup: Code that runs before each.
    """

    acts: Mapping[str, str]
    setup: str = "import os"

    async def __call__(self, bench: Bench) -> ProbeResult:
        """Try them in one session."""
        return await bench.attempts(self.acts, self.setup)


ATTEMPTS: Mapping[str, Attempts] = {
    "no host file but Python's": Attempts(
        {
            "open": "open(FILE).read()",
            "list its folder": "os.listdir(FOLDER)",
            "through /proc/self/root": "open('/proc/self/root' + FILE).read()",
            "through /proc/1/root": "open('/proc/1/root' + FILE).read()",
            "from ..": "open('../' * 40 + FILE[1:]).read()",
        }
    ),
    "not even the names of host files": Attempts(
        {
            "stat": "os.stat(FILE)",
            "stat its folder": "os.stat(FOLDER)",
            "access": "os.access(FILE, os.F_OK) or fail()",
            "readlink": "os.readlink('/proc/1/cwd')",
        }
    ),
    "nothing written outside the working folder": Attempts(
        {
            "make a file": "open(FOLDER + '/new', 'w')",
            "make a folder": "os.mkdir(FOLDER + '/folder')",
            "append": "open(FILE, 'a').write('!')",
            "truncate": "os.truncate(FILE, 0)",
            "chmod": "os.chmod(FILE, 0o600)",
            "utime": "os.utime(FILE)",
            "rename": "os.rename(FILE, FILE + '.old')",
            "remove": "os.unlink(FILE)",
            "among Python's files": "(open(PLANTED, 'x').close(), os.unlink(PLANTED))",
        },
        "import os\nPLANTED = LIBRARY + '/tinyagent_canary.py'",
    ),
    "no network": Attempts(
        {
            "TCP": "reach(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', TCP))",
            "UDP": "reach(socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', UDP))",
            "Unix socket": "reach(socket.AF_UNIX, socket.SOCK_STREAM, UNIX)",
            "abstract socket": "reach(socket.AF_UNIX, socket.SOCK_STREAM, ABSTRACT)",
        },
        """
import socket

def reach(family, kind, address):
    with socket.socket(family, kind) as sock:
        sock.settimeout(1)
        sock.connect(address)
        sock.send(b"!")
""",
    ),
    "no other program is started": Attempts(
        {
            "subprocess": "subprocess.run([sys.executable, '-c', ''], check=True)",
            "posix_spawn": "os.posix_spawn(sys.executable, [sys.executable, '-c', ''], {})",
            "shell": "os.system('exit 77') == 77 * 256 or fail()",
            "exec": "os.execv(sys.executable, [sys.executable, '-c', ''])",
        },
        "import os, subprocess, sys",
    ),
    "no other process is seen": Attempts(
        {
            "read /proc": "open(f'/proc/{VICTIM}/cmdline').read()",
            "process group": "os.getpgid(VICTIM)",
            "pidfd": "os.pidfd_open(VICTIM)",
        }
    ),
    "no other process is signalled": Attempts(
        {
            "signal 0": "os.kill(VICTIM, 0)",
            "SIGTERM": "os.kill(VICTIM, 15)",
            "the host": "os.kill(HOST, 0)",
        }
    ),
    "none of the host's environment": Attempts(
        {
            "os.environ": "os.environ[NAME]",
            "getenv": "ctypes.CDLL(None).getenv(NAME.encode()) or fail()",
            "/proc/self": "NAME.encode() in open('/proc/self/environ', 'rb').read() or fail()",
            "/proc/1": "NAME.encode() in open('/proc/1/environ', 'rb').read() or fail()",
            "the host's /proc": "open(f'/proc/{HOST}/environ', 'rb').read()",
        },
        "import ctypes, os",
    ),
    "not the name of the host": Attempts(
        {
            "uname": "os.uname().nodename == HOSTNAME or fail()",
            "gethostname": "socket.gethostname() == HOSTNAME or fail()",
        },
        "import os, socket",
    ),
    "limit of each file": Attempts({"2 MiB of 1 MiB": "open('large', 'wb').write(bytes(2**21))"}),
    "limit of all files": Attempts(
        {"8 files, 2 MiB of 1 MiB": "fill()"},
        """
def fill():
    for number in range(8):
        with open(f"part-{number}", "wb") as file:
            file.write(bytes(2**18))
""",
    ),
}
"""The probes that only try to do something, by the promise that each tries."""


async def privileges(bench: Bench) -> ProbeResult:
    """Make system calls that computing does not need."""
    numbers = syscalls.machine().numbers
    setup = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)

def call(number, *arguments):
    ctypes.set_errno(0)
    outcome = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    error = ctypes.get_errno()
    if outcome < 0 and error in (1, 13, 38):
        raise PermissionError(error, os.strerror(error))
"""
    acts = {
        name: f"call({numbers[name]}, *{arguments!r})"
        for name, arguments in _CALLS.items()
        if name in numbers
    }
    acts["setuid"] = "os.setuid(0)"
    acts["chroot"] = "os.chroot('.')"
    acts["sethostname"] = "__import__('socket').sethostname('canary')"
    return await bench.attempts(acts, setup)


async def sessions(bench: Bench) -> ProbeResult:
    """Find the file and the process of another open session."""
    async with bench.open(Sandbox(limits=LIMITS)) as other:
        lock = f"{_NULL}\nfcntl.lockf(null, fcntl.LOCK_EX)"
        code = f"{lock}\nopen('mine', 'w').write('x')\n[os.getcwd(), os.getpid()]"
        folder, pid = whole(await other.run(code)).value
        setup = f"{_NULL}\nTHEIRS, PID = {folder!r}, {pid}"
        acts = {
            "open its file": "open(THEIRS + '/mine').read()",
            "list folders": "[n for n in os.listdir('..') if os.path.exists(f'../{n}/mine')][0]",
            "see its lock": "lock_of_null() or fail()",
            "signal": "fail() if PID == os.getpid() else os.kill(PID, 15)",
        }
        finding = await bench.attempts(acts, setup)
        if not finding.held:
            return finding
        left = whole(await other.run("import os\nos.path.exists('mine')")).value
    return finding if left else ProbeResult(held=False, tried="the other session's file was lost")


async def failed_steps(bench: Bench) -> ProbeResult:
    """Lose three steps, and look whether the variables are as before."""
    losses = {
        "an exit": "x = 0\nimport os\nos._exit(3)",
        "a crash": "x = 0\nimport ctypes\nctypes.string_at(0)",
        "a time-out": "x = 0\nwhile True: pass",
    }
    codes = ["x = 41", *losses.values(), "x + 1"]
    *_, last = await bench.steps(*codes, limits=SHORT)
    tried = f"after {', '.join(losses)}: "
    if last.value == 42:  # noqa: PLR2004 - what the steps compute
        return ProbeResult(held=True, tried=f"{tried}the variables are as before")
    return ProbeResult(held=False, tried=f"{tried}the variables are gone")


async def end_of_host(bench: Bench) -> ProbeResult:
    """Kill a host with SIGKILL while its session works."""
    mark = bench.canaries.mark
    running: list[int] = await run_in_thread(_kill_host, bench=bench)
    if not running:
        raise ProbeFailed("the other host's session did not start")
    left: list[int] = await run_in_thread(_wait_for_end, mark=mark, running=running)
    state = "still runs" if left else "has ended"
    return ProbeResult(not left, f"host killed: its session's process {state}")


def _kill_host(bench: Bench) -> list[int]:
    """Start a host with a session, and kill it; returns the session's processes."""
    mark = bench.canaries.mark
    code = f"MARK = {mark!r}\n{NAME_ITSELF}\nready()\nwhile True: pass"
    arguments = [bench.trust_level, bench.engine or "-", mark]
    with subprocess.Popen(  # noqa: S603 - this interpreter, with our own program
        [sys.executable, "-P", "-c", _HOLD, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as host:
        if host.stdin is None or host.stdout is None:
            raise AssertionError("both are pipes")
        host.stdin.write(code.encode("unicode_escape") + b"\n")
        host.stdin.flush()
        host.stdout.readline()
        running = processes_called(mark)
        host.kill()
    return running


def _wait_for_end(mark: str, running: list[int]) -> list[int]:
    """Wait until the processes have ended; returns those that have not."""
    waiting = select.poll()
    descriptors: list[int] = []
    for pid in running:
        with suppress(OSError):
            descriptors.append(os.pidfd_open(pid))
            waiting.register(descriptors[-1], select.POLLIN)
    until = time.monotonic() + _END_SECONDS
    for _ in descriptors:
        for descriptor, _event in waiting.poll(max(until - time.monotonic(), 0) * 1000):
            waiting.unregister(descriptor)
    for descriptor in descriptors:
        os.close(descriptor)
    return processes_called(mark)


PROBES: Mapping[str, Probe] = {
    **ATTEMPTS,
    "no privileges, no other kernel interfaces": privileges,
    "time limit": time_limit,
    "memory limit": memory_limit,
    "process limit": process_limit,
    "sessions are hidden from each other": sessions,
    "a step that fails loses only itself": failed_steps,
    "ends with its host": end_of_host,
}
"""The probes, by the promise that each tries."""


NEEDED_IMPORTS = ("ctypes", "os")
"""What the probes import that is not on the list of LOCAL."""
_IMPORTS = {
    "import": "import subprocess",
    "from ... import": "from subprocess import run",
    "by function": "__import__('subprocess')",
}
_OUTPUT = replace(LIMITS, max_output_bytes=10_000)


async def output_limit(bench: Bench) -> ProbeResult:
    """Print much more than is kept."""
    (result,) = await bench.steps("for _ in range(1000): print('x' * 1000)", limits=_OUTPUT)
    size = len(result.output)
    return ProbeResult(
        size < 2 * _OUTPUT.max_output_bytes, f"1,001,000 bytes printed: {size:,} kept"
    )


async def imports(bench: Bench) -> ProbeResult:
    """Import a module that is not on the list."""
    for name, code in _IMPORTS.items():
        (result,) = await bench.steps(code)
        if result.error is None:
            return ProbeResult(held=False, tried=f"went through: {name}")
    return ProbeResult(held=True, tried=f"{', '.join(_IMPORTS)}: refused")


LOCAL_PROBES: Mapping[str, Probe] = {
    "time limit": time_limit,
    "output limit": output_limit,
    "imports from a list": imports,
    "a step that fails loses only itself": failed_steps,
}
"""The probes, by the promise that each tries."""
