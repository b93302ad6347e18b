"""The filter's verdicts on all machines, against a table of their own: widening it shows here."""

from __future__ import annotations

import errno
import functools
import itertools
from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.tinyagent.execution.sandbox.worker.kernel import simulator
from tests.tinyagent.execution.sandbox.worker.kernel.simulator import ALLOW, ERRNO, KILL

from tinyagent.execution.sandbox.worker.kernel import seccomp, syscalls

MACHINES = sorted(syscalls.machines())
WORD = 2**32 - 1
STACK = 0x7FFC_1234_5000

HARMLESS = {
    "files": """
        access chdir close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2
        fadvise64 fallocate fchdir fdatasync fstat fstatfs fsync ftruncate getcwd getdents
        getdents64 lseek lstat mkdir mkdirat newfstatat pread64 preadv preadv2 pwrite64 pwritev
        pwritev2 read readlink readlinkat readv rename renameat rmdir sendfile stat statfs statx
        umask unlink unlinkat write writev
    """,
    "waiting": """
        epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2
        pipe pipe2 poll ppoll pselect6 select
    """,
    "the sockets that are there": """
        getpeername getsockname getsockopt recvfrom recvmsg
    """,
    "memory": "brk madvise mbind membarrier msync munmap",
    "threads": """
        futex_waitv getcpu rseq sched_getaffinity sched_yield set_robust_list
        set_tid_address
    """,
    "own signals and time": """
        alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep pause
        restart_syscall rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend
        rt_sigtimedwait setitimer sigaltstack time times
    """,
    "asking": """
        getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getrandom getresgid
        getresuid getrlimit getrusage getsid gettid getuid sysinfo uname
    """,
    "the end of processes": "exit exit_group pidfd_open wait4 waitid",
}
ABSENT = {"clone3", "openat2"}
OF_A_CLIENT = {"socket", "connect", "shutdown", "setsockopt", "sendmsg", "sendto"}
# Numbers that matter to some call, so that chance finds the edges of its rule.
EDGES = [
    0, 1, 2, 3, 4, 5, 6, 7, 9, 0x80, 0x109, 0x189, 0x100, 0x0100_0002, 0x4_0022,
    STACK >> 32, STACK & WORD,
    0o1000, 0o1001, 0o1002, 0o1003, 0o2004001, 15, 16, 36, 37, 38, 39, 1024, 1030, 1031,
    0x5401, 0x5402, 0x5412, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x5452,
    0x003D_0F00, 0x007D_0F00, 0x0001_0000, 0x0120_0011, 0x0120_0012, 0x1001_0000, 0x11,
    0x8_0001, 0x8_0801, 0x2000_0000, 0x8000_0001, 0x807D_0F00, 262,
]  # fmt: skip


def lower(value: int) -> int:
    return value & WORD


def expected(name: str, arguments: Sequence[int], *, forks: bool) -> int:
    """What is promised for this call."""
    if name in ABSENT:
        return ERRNO | errno.ENOSYS
    if name in set(" ".join(HARMLESS.values()).split()):
        return ALLOW
    first, second, third = arguments[:3]
    if name == "fcntl" and lower(second) in {6, 7, 37, 38}:
        return ERRNO  # seems done
    if name == "mprotect" and not third & 0x0300_0006:
        return ERRNO
    by_argument = {
        "clone": is_thread(first) or (forks and first == 0x0120_0011),
        "fcntl": lower(second) in {0, 1, 2, 3, 4, 5, 36, 1030},
        "futex": bool(second & 0x80) or lower(second) & ~0x100 in {0, 9},
        "mmap": arguments[3] & 0x23 not in {0x21, 0x23} and not arguments[3] & 0x4_0100,
        "mprotect": third & 0x0300_0002 == 2,
        "mremap": first < STACK,
        "sendto": not arguments[3] & 1,
        "ioctl": lower(second) in {0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451},
        "open": not empties_unwritten(second),
        "openat": not empties_unwritten(third),
        "prctl": lower(first) in {15, 16},
        "prlimit64": lower(first) == 0 and third == 0,
    }
    if by_argument.get(name):
        return ALLOW
    return ERRNO | (errno.ENOTTY if name == "ioctl" else errno.EPERM)


def expected_of_a_client(name: str, arguments: Sequence[int]) -> int:
    """What is promised for this call, if the session has a network."""
    first, second, third = map(lower, arguments[:3])
    if name == "setsockopt":
        return ALLOW if (second, third) == (6, 1) else ERRNO  # others seem done
    is_client = {
        "socket": first == 2 and second & ~0x8_0800 == 1 and third in {0, 6},
        "sendmsg": not third & 0x2000_0001,
        "sendto": not arguments[3] & 0x2000_0001,
    }
    return ALLOW if is_client.get(name, True) else ERRNO | errno.EPERM


def is_thread(flags: int) -> bool:
    return bool(flags & 0x1_0000) and flags & ~0x007D_0F00 == 0


def empties_unwritten(flags: int) -> bool:
    return bool(flags & 0o1000) and flags & 3 in {0, 3}


@functools.cache
def program(machine: str, *, forks: bool, network: bool = False) -> bytes:
    found = syscalls.machines()[machine]
    return seccomp.program(forks=forks, network=network, machine=found, stack=STACK)


def answer(
    machine: str, number: int, arguments: Sequence[int], *, forks: bool, network: bool = False
) -> int:
    audit = syscalls.machines()[machine].audit
    filters = program(machine, forks=forks, network=network)
    return simulator.verdict(filters, number, arguments, audit)


def promised(
    machine: str, number: int, arguments: Sequence[int], *, forks: bool, network: bool = False
) -> int:
    names = {number: name for name, number in syscalls.machines()[machine].numbers.items()}
    if number not in names:
        return ERRNO | errno.ENOSYS
    if network and names[number] in OF_A_CLIENT:
        return expected_of_a_client(names[number], arguments)
    return expected(names[number], arguments, forks=forks)


def _whole(upper: int, low: int) -> int:
    return upper << 32 | low


halves = st.one_of(st.sampled_from(EDGES), st.integers(0, WORD))
wholes = st.builds(_whole, st.one_of(st.just(0), st.just(0), halves), halves)
six = st.lists(wholes, min_size=6, max_size=6)
machines = st.sampled_from(MACHINES)
RULED = [
    "clone",
    "fcntl",
    "futex",
    "ioctl",
    "mmap",
    "mprotect",
    "mremap",
    "openat",
    "prctl",
    "prlimit64",
    "sendto",
]
BY_THE_FIRST = {"clone", "mremap", "prctl", "prlimit64"}
THIRDS = (0, 2, 6, 0x0100_0002, 0x0200_0000, 0o1000, 0o1001, 1 << 40)


@pytest.mark.parametrize("fill", [0, 2**64 - 1])
@pytest.mark.parametrize("machine", MACHINES)
def test_each_number_gets_the_promised_verdict(machine: str, fill: int) -> None:
    for number in [*range(1024), *range(0x4000_0000, 0x4000_0400)]:
        for forks in (False, True):
            output = answer(machine, number, [fill] * 6, forks=forks)
            assert output == promised(machine, number, [fill] * 6, forks=forks), number


@pytest.mark.parametrize("fill", [0, 2**64 - 1])
@pytest.mark.parametrize("machine", MACHINES)
def test_a_network_adds_the_calls_of_a_tcp_client_only(machine: str, fill: int) -> None:
    for number in [*range(1024), *range(0x4000_0000, 0x4000_0400)]:
        output = answer(machine, number, [fill] * 6, forks=True, network=True)
        assert output == promised(machine, number, [fill] * 6, forks=True, network=True), number


@pytest.mark.parametrize("name", sorted(OF_A_CLIENT))
@pytest.mark.parametrize("machine", MACHINES)
def test_the_calls_of_a_tcp_client_are_weighed_as_promised(machine: str, name: str) -> None:
    number = syscalls.machines()[machine].numbers[name]
    for first, second, third in itertools.product((0, 1, 2, 10, 1 << 32 | 2), EDGES, EDGES):
        arguments = [first, second, third, second, 0, 0]
        output = answer(machine, number, arguments, forks=True, network=True)
        assert output == expected_of_a_client(name, arguments), arguments


@given(machines, st.integers(0, WORD), six, st.booleans())
def test_numbers_of_no_call_are_of_no_call(
    machine: str,
    number: int,
    arguments: list[int],
    forks: bool,  # noqa: FBT001 - drawn
) -> None:
    output = answer(machine, number, arguments, forks=forks)
    assert output == promised(machine, number, arguments, forks=forks)


@pytest.mark.parametrize("name", [*RULED, "open"])
@settings(max_examples=300)
@given(machines, six, st.booleans())
def test_arguments_are_weighed_as_promised(
    name: str,
    machine: str,
    arguments: list[int],
    forks: bool,  # noqa: FBT001 - drawn
) -> None:
    number = syscalls.machines()[machine].numbers.get(name)
    if number is not None:
        output = answer(machine, number, arguments, forks=forks)
        assert output == expected(name, arguments, forks=forks)


@pytest.mark.parametrize("name", RULED)
@pytest.mark.parametrize("machine", MACHINES)
def test_each_edge_is_weighed_as_promised(machine: str, name: str) -> None:
    number = syscalls.machines()[machine].numbers[name]
    firsts = EDGES if name in BY_THE_FIRST else (0, 1 << 32 | 2)
    for first, second, third in itertools.product(firsts, EDGES, THIRDS):
        arguments = [first, second, third, second, 0, 0]
        for forks in (False, True):
            output = answer(machine, number, arguments, forks=forks)
            assert output == expected(name, arguments, forks=forks), arguments


@given(machines, st.integers(0, WORD), st.integers(0, WORD), six)
def test_calls_of_another_architecture_end_the_process(
    machine: str, architecture: int, number: int, arguments: list[int]
) -> None:
    assume(architecture != syscalls.machines()[machine].audit)
    for stranger in (architecture, 0x4000_0003, 0x4000_0028):  # i386 and arm, beside any
        output = simulator.verdict(program(machine, forks=True), number, arguments, stranger)
        assert output == KILL


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_is_short_and_its_ways_are_shorter(machine: str) -> None:
    instructions = simulator.check(program(machine, forks=True))
    assert len(instructions) < 500
    assert simulator.longest_way(program(machine, forks=True)) < 50


def test_the_table_of_calls_knows_those_it_names() -> None:
    known = {name for machine in syscalls.machines().values() for name in machine.numbers}
    named = {*" ".join(HARMLESS.values()).split(), *ABSENT, *RULED, "open"}
    assert named - known == set()
