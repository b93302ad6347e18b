"""The template: a warm interpreter, one a host, that forks a session at each request.

It loads what sessions will need, moves into namespaces and a root of its own where the kernel lets
it, and then only forks, kills and collects. It never runs a model's code and ends with its host.
One process is forked ahead and waits: a request makes it a session, and the next one is forked.
"""

from __future__ import annotations

import array
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from . import landlock, linux, mounts, namespaces, seccomp
from .adapt import copy_without_modes
from .confine import Cell
from .folders import remove_folder
from .link import watch_process
from .waiting import MAX_MESSAGE, make_home, tell_failure, wait_for_order
from .warmup import warm_up

_PAUSE_MS = 5  # without a request: until then, the session that was asked for needs the processor
_INT = array.array("i").itemsize


def main(control: socket.socket) -> None:
    """Serve the host until it closes `control`, a socket of packets, each a JSON object."""
    order = json.loads(control.recv(MAX_MESSAGE))
    try:
        template = Template(control, _prepare(order))
    except OSError as error:
        control.send(json.dumps({"failed": str(error)}).encode())
        return
    control.send(json.dumps(template.report(order["preload"])).encode())
    template.serve()


def _prepare(order: dict[str, Any]) -> Cell:
    """Load what is asked for, and lock the template up as far as it is wanted."""
    sys.dont_write_bytecode = True
    copy_without_modes()
    without = frozenset[str](order["without"])
    stack = seccomp.stack_floor()
    apart = "namespaces" not in without
    if apart:
        namespaces.enter()
        namespaces.fork_inside()
    for name in order["preload"]:
        with suppress(ImportError):
            importlib.import_module(name)
    paths = mounts.python_paths()
    if apart:
        mounts.keep_to_ourselves()
        trees = mounts.hold(paths)
        namespaces.drop_root()
        mounts.enter_root(trees)
        paths = ["/", "/dev/null"]  # which may be written, too
    files = 0 if "landlock" in without else landlock.abi()
    if not apart and not files and os.geteuid() == 0 and _can(namespaces.become_nobody):
        namespaces.become_nobody()
    return Cell(
        proc=mounts.open_proc(),
        namespaces=apart,
        readable=tuple(os.open(path, os.O_PATH | os.O_CLOEXEC) for path in paths),
        landlock=files,
        filters=None if "seccomp" in without else _filters(stack),
    )


def _filters(stack: int) -> tuple[bytes, bytes] | None:
    """The system-call filters without and with `fork`; None where the kernel takes none."""
    try:
        filters = (
            seccomp.program(forks=False, stack=stack),
            seccomp.program(forks=True, stack=stack),
        )
    except OSError:  # a machine whose system calls are not known
        return None
    for each in (*filters, seccomp.fork_requests()):
        seccomp.prepare(each)
    return filters if _can(partial(seccomp.install, filters[1])) else None


def _can(lock: Callable[[], object]) -> bool:
    """Whether a process can lock itself up like this; tried in a child."""
    child = os.fork()
    if child == 0:
        with suppress(OSError):
            lock()
            os._exit(0)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0


class Waiting(NamedTuple):
    """A process that has been forked ahead, and the socket to tell it what session to become."""

    pid: int
    orders: socket.socket


class Template:
    """Forks sessions, kills them when it is told to, and collects them when they have ended."""

    def __init__(self, control: socket.socket, cell: Cell) -> None:
        self._control = control
        self._cell = cell
        self._sessions: dict[int, int] = {}
        self._watched: dict[int, int] = {}
        self._own_pids = os.open("self/ns/pid", os.O_RDONLY, dir_fd=cell.proc)
        if cell.namespaces:
            make_home(mounts.SANDBOX)
        self._null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        linux.set_name("template")
        warm_up()
        self._base = "" if cell.namespaces else tempfile.mkdtemp(prefix="tinyagent-")
        os.dup2(self._null, 2)
        gc.collect()
        gc.freeze()
        self._waiting: Waiting | None = self._fork_ahead()
        self._may_fork_ahead = False

    def report(self, preload: list[str]) -> dict[str, Any]:
        """What is in force for each session."""
        return {
            "namespaces": self._cell.namespaces,
            "landlock": self._cell.landlock,
            "seccomp": self._cell.filters is not None,
            "forks": self._cell.filters is not None and _can(seccomp.listen_to_forks),
            "folder": self._base,
            "user": os.geteuid(),
            "preloaded": [name for name in preload if name in sys.modules],
        }

    def serve(self) -> None:
        """Do what the host asks, until it is gone."""
        while True:
            ready = self._poll.poll(_PAUSE_MS if self._may_fork_ahead else None)
            if not ready:
                self._may_fork_ahead = False
                with suppress(OSError):  # the next request tries again, and tells
                    self._waiting = self._fork_ahead()
            for descriptor, _ in ready:
                if descriptor != self._control.fileno():
                    self._collect(descriptor)
                elif not self._obey():
                    self._end()
                    return

    def _obey(self) -> bool:
        room = socket.CMSG_SPACE(_INT)
        message, ancillary, _flags, _address = self._control.recvmsg(MAX_MESSAGE, room)
        descriptors = array.array("i")
        for _level, _kind, payload in ancillary:
            descriptors.frombytes(payload[: len(payload) - len(payload) % _INT])
        if not message:
            return False
        order = json.loads(message)
        if "kill" in order:
            pid = self._sessions.get(order["kill"])
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
        elif "pause" in order:
            pid = self._sessions.get(order["pause"])
            if pid is not None:
                os.kill(pid, signal.SIGSTOP if order["stop"] else signal.SIGCONT)
        else:
            self._spawn(order["id"], message, descriptors[0])
        return True

    def _spawn(self, number: int, message: bytes, descriptor: int) -> None:
        try:
            waiting = self._waiting or self._fork_ahead()
            self._waiting, self._may_fork_ahead = None, True
            self._sessions[number] = waiting.pid
            with waiting.orders:
                socket.send_fds(waiting.orders, [message], [descriptor])
        except OSError as error:
            tell_failure(descriptor, error)
        finally:
            os.close(descriptor)

    def _fork_ahead(self) -> Waiting:
        parent = os.getpid()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                if self._cell.namespaces:
                    linux.unshare(linux.CLONE_NEWPID)
                pid = linux.fork()
                if pid == 0:
                    wait_for_order(theirs, self._cell, self._base, parent)
            finally:
                if self._cell.namespaces:
                    linux.setns(self._own_pids, linux.CLONE_NEWPID)
        watch = watch_process(pid)
        self._poll.register(watch, select.POLLIN)
        self._watched[watch] = pid
        return Waiting(pid, ours)

    def _collect(self, watch: int) -> None:
        """A process has ended: nothing of it stays."""
        self._poll.unregister(watch)
        os.close(watch)
        pid = self._watched.pop(watch)
        os.waitpid(pid, 0)
        if self._waiting is not None and pid == self._waiting.pid:
            self._waiting.orders.close()
            self._waiting = None
        for number in [number for number, owner in self._sessions.items() if owner == pid]:
            del self._sessions[number]
            if self._base:
                remove_folder(os.path.join(self._base, str(number)))

    def _end(self) -> None:
        for pid in self._watched.values():
            os.kill(pid, signal.SIGKILL)
        for watch in list(self._watched):
            self._collect(watch)
        if self._base:
            remove_folder(self._base)
