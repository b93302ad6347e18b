"""seccomp: a process gives up all system calls except those that plain Python makes.

From Linux 5.11 on, the kernel keeps a table of the calls that are allowed whatever their arguments,
so that the filter is run for the few others only.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import struct

from . import bpf, linux, syscalls

_SET_MODE_FILTER = 1
_FILTER_FLAG_TSYNC = 1
_FILTER_FLAG_NEW_LISTENER = 8

_ALLOWED = """
    read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close close_range
    creat stat fstat lstat newfstatat statx access faccessat faccessat2 readlink
    readlinkat statfs fstatfs getdents getdents64 getcwd chdir fchdir umask mkdir mkdirat rmdir
    unlink unlinkat rename renameat ftruncate fallocate fadvise64 fsync fdatasync dup dup2
    dup3 pipe pipe2 sendfile copy_file_range poll ppoll select pselect6 epoll_create epoll_create1
    epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2
    recvfrom recvmsg getsockname getpeername getsockopt
    munmap brk madvise msync mbind membarrier
    futex_waitv set_robust_list set_tid_address rseq sched_yield sched_getaffinity getcpu
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack
    restart_syscall alarm getitimer setitimer pause
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times
    getpid gettid getppid getpgrp getpgid getsid getuid geteuid getgid getegid getresuid getresgid
    getgroups getrlimit getrusage getrandom uname sysinfo
    exit exit_group wait4 waitid pidfd_open
"""
# Whoever calls these falls back to a form that can be filtered, as on a kernel without them.
_ABSENT = "clone3 openat2"

_WORD = 2**32 - 1
_THREAD = 0x0001_0000
_THREAD_FLAGS = 0x007D_0F00  # what the C libraries' pthread_create passes, the thread flag with it
_FORK_FLAGS = 0x0120_0011  # what glibc's fork passes: SIGCHLD, CHILD_SETTID, CHILD_CLEARTID
_O_ACCMODE, _O_TRUNC = 0o3, 0o1000
_PR_SET_NAME, _PR_GET_NAME = 15, 16
_SHARED, _SHARED_VALIDATED, _ANONYMOUS = 0x1, 0x3, 0x20
_GROWSDOWN, _HUGETLB = 0x100, 0x4_0000
_PROT_WRITE, _PROT_EXEC, _PROT_GROWS = 0x2, 0x4, 0x0300_0000
_FUTEX_WAIT, _FUTEX_WAIT_BITSET, _FUTEX_PRIVATE, _FUTEX_REALTIME = 0, 9, 0x80, 0x100
_MSG_OOB, _MSG_FASTOPEN = 0x1, 0x2000_0000
_AF_INET, _SOCK_STREAM, _SOCK_FLAGS = 2, 1, 0x8_0800  # with SOCK_NONBLOCK, SOCK_CLOEXEC
_TCP, _TCP_NODELAY = 6, 1
# TCGETS FIONREAD FIONBIO FIONCLEX FIOCLEX TIOCGWINSZ
_IOCTLS = (0x5401, 0x541B, 0x5421, 0x5450, 0x5451, 0x5413)
_FCNTLS = (*range(6), 36, 1030)  # DUPFD GETFD SETFD GETFL SETFL GETLK, OFD_GETLK, DUPFD_CLOEXEC
_LOCKS = (6, 7, 37, 38)  # SETLK SETLKW, and the same by open file
_BELOW_THE_STACK = 2**26  # more than a main stack has, less than the kernel leaves free below it

_ERRNO = 0x0005_0000
_ALLOW = bpf.verdict(0x7FFF_0000)
_ASK = bpf.verdict(0x7FC0_0000)  # the process that holds the listener
_KILL = bpf.verdict(0x8000_0000)  # the whole process
_DONE = bpf.verdict(_ERRNO)  # the call is skipped, and seems to have succeeded
_EPERM = bpf.verdict(_ERRNO | errno.EPERM)
_ENOSYS = bpf.verdict(_ERRNO | errno.ENOSYS)
_ENOTTY = bpf.verdict(_ERRNO | errno.ENOTTY)


def install(filter_program: bytes) -> None:
    """Put the filter over all threads of this process, and all it starts, for good.

    Raises:
        OSError: The kernel has no such filters, or a thread has one that this thread lacks.
    """
    linux.set_no_new_privs()
    header, _buffer = prepare(filter_program)
    outcome = linux.syscall("seccomp", _SET_MODE_FILTER, _FILTER_FLAG_TSYNC, header)
    if outcome > 0:
        raise OSError(errno.EBUSY, f"seccomp: thread {outcome} has another filter")


def listen_to_forks() -> int:
    """From now on, whoever reads the descriptor that this gives is asked before a fork happens.

    Raises:
        OSError: The kernel cannot, or a filter of this thread has a listener already.
    """
    linux.set_no_new_privs()
    header, _buffer = prepare(fork_requests())
    return linux.syscall("seccomp", _SET_MODE_FILTER, _FILTER_FLAG_NEW_LISTENER, header)


@functools.cache
def fork_requests() -> bytes:
    """The filter of `listen_to_forks`: what `program` refuses, it still refuses."""
    machine = syscalls.machine()
    clone = bpf.has_any(0, _THREAD, _ALLOW, _ASK)
    numbers = bpf.by_number({machine.numbers["clone"]: clone}, _ALLOW)
    return bpf.by_architecture(machine.audit, numbers, _KILL)


def stack_floor() -> int:
    """The address that the main stack of this process, and of its forks, never reaches down to."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            if line.endswith("[stack]\n"):
                return int(line.split()[0].partition("-")[2], 16) - _BELOW_THE_STACK
    raise OSError(errno.ENOENT, "/proc/self/maps shows no stack")


@functools.cache
def prepare(filter_program: bytes) -> tuple[bytes, object]:
    """The argument of the system call, and the memory it points to: made once, kept by forks."""
    buffer = ctypes.create_string_buffer(filter_program, len(filter_program))
    header = struct.pack("@HP", len(filter_program) // bpf.WORD, ctypes.addressof(buffer))
    return header, buffer


def program(
    *,
    forks: bool,
    network: bool = False,
    machine: syscalls.Machine | None = None,
    stack: int | None = None,
) -> bytes:
    """The filter, as the kernel reads it.

    Args:
        forks: Whether the process may fork itself.
        network: Whether it may connect by TCP, within its network namespace.
        machine: Where it runs; by default, this machine.
        stack: The `stack_floor` of the process; by default, this process's.

    Raises:
        OSError: The calls of this machine are not known.
    """
    machine = machine or syscalls.machine()
    verdicts = dict.fromkeys(machine.numbers, _EPERM)
    verdicts |= dict.fromkeys(_ALLOWED.split(), _ALLOW)
    verdicts |= dict.fromkeys(_ABSENT.split(), _ENOSYS)
    verdicts |= _rules(forks=forks, stack=stack_floor() if stack is None else stack)
    if network:
        verdicts |= _tcp()
    # A number without a name is of a newer call, whose callers know how to do without it.
    numbers = {machine.numbers[name]: verdicts[name] for name in verdicts.keys() & machine.numbers}
    return bpf.by_architecture(machine.audit, bpf.by_number(numbers, _ENOSYS), _KILL)


def _rules(*, forks: bool, stack: int) -> dict[str, bpf.Block]:
    """The calls whose verdict depends on their arguments."""
    sets_nothing = bpf.upper_is_zero(2, bpf.one_of(2, (0,), _ALLOW, _EPERM), _EPERM)
    return {
        "clone": _clone(forks=forks),
        "fcntl": _fcntl(),
        "futex": _futex(),
        "ioctl": bpf.one_of(1, _IOCTLS, _ALLOW, _ENOTTY),
        "mmap": _mmap(),
        "mprotect": _mprotect(),
        # A stack that was moved away grows beyond every limit but that of addresses.
        "mremap": bpf.at_least(0, stack, _EPERM, _ALLOW),
        "open": _open(1),
        "openat": _open(2),
        "prctl": bpf.one_of(0, (_PR_SET_NAME, _PR_GET_NAME), _ALLOW, _EPERM),
        "prlimit64": bpf.one_of(0, (0,), sets_nothing, _EPERM),
        "sendto": bpf.has_any(3, _MSG_OOB, _EPERM, _ALLOW),
    }


def _tcp() -> dict[str, bpf.Block]:
    """The calls of a TCP client: no other kind of socket, and none that listens."""
    protocol = bpf.one_of(2, (0, _TCP), _ALLOW, _EPERM)
    stream = bpf.one_of(1, (_SOCK_STREAM,), protocol, _EPERM, mask=~_SOCK_FLAGS & _WORD)
    no_delay = bpf.one_of(2, (_TCP_NODELAY,), _ALLOW, _DONE)
    return {
        "socket": bpf.one_of(0, (_AF_INET,), stream, _EPERM),
        "connect": _ALLOW,
        "shutdown": _ALLOW,
        "sendmsg": bpf.has_any(2, _MSG_OOB | _MSG_FASTOPEN, _EPERM, _ALLOW),
        "sendto": bpf.has_any(3, _MSG_OOB | _MSG_FASTOPEN, _EPERM, _ALLOW),
        # Other options (sizes of buffers, which are limited) seem to be set, and are not.
        "setsockopt": bpf.one_of(1, (_TCP,), no_delay, _DONE),
    }


def _clone(*, forks: bool) -> bpf.Block:
    """Threads in the same process and the same namespaces; perhaps a plain fork."""
    fork = bpf.one_of(0, (_FORK_FLAGS,), _ALLOW, _EPERM) if forks else _EPERM
    thread = bpf.has_any(0, _THREAD, _ALLOW, _EPERM)
    either = bpf.one_of(0, (0,), thread, fork, mask=~_THREAD_FLAGS & _WORD)
    return bpf.upper_is_zero(0, either, _EPERM)


def _fcntl() -> bpf.Block:
    """Record locks seem to be granted, and are not taken.

    A lock belongs to the file itself, so one on a file that all may read (`/dev/null`, a library)
    would be seen by other sessions and by the host. The files that the code makes are its own:
    SQLite and others only need to hear that their locks are granted.
    """
    return bpf.one_of(1, _FCNTLS, _ALLOW, bpf.one_of(1, _LOCKS, _DONE, _EPERM))


def _futex() -> bpf.Block:
    """Nobody outside the process is woken: a page of a library is a meeting place for all.

    Threads wait for the end of another by a futex that is not private; the kernel wakes them.
    """
    waits = (_FUTEX_WAIT, _FUTEX_WAIT_BITSET)
    shared = bpf.one_of(1, waits, _ALLOW, _EPERM, mask=~_FUTEX_REALTIME & _WORD)
    return bpf.has_any(1, _FUTEX_PRIVATE, _ALLOW, shared)


def _mmap() -> bpf.Block:
    """Only memory that RLIMIT_DATA counts: neither shared without a file, nor a stack."""
    shared = (_SHARED | _ANONYMOUS, _SHARED_VALIDATED | _ANONYMOUS)
    private = bpf.one_of(3, shared, _EPERM, _ALLOW, mask=_SHARED_VALIDATED | _ANONYMOUS)
    return bpf.has_any(3, _GROWSDOWN | _HUGETLB, _EPERM, private)


def _mprotect() -> bpf.Block:
    """Memory that could be written to stays so: RLIMIT_DATA counts no other.

    The dynamic loader takes the right to write from some pages of each library; it hears that this
    is done. Code that is made at run time must keep the right to write, too.
    """
    fixed = bpf.has_any(2, _PROT_EXEC, _EPERM, _DONE)
    plain = bpf.has_any(2, _PROT_WRITE, _ALLOW, fixed)
    return bpf.has_any(2, _PROT_GROWS, _EPERM, plain)


def _open(place: int) -> bpf.Block:
    """Not to empty a file without writing to it, which Landlock lets pass before Linux 6.2."""
    modes = (_O_TRUNC, _O_TRUNC | _O_ACCMODE)
    return bpf.one_of(place, modes, _EPERM, _ALLOW, mask=_O_TRUNC | _O_ACCMODE)
