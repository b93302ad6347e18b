"""The template: a warm interpreter that forks a session at each request of its host.

It loads the modules that sessions need, applies the locks that the kernel offers, and from then on
only forks, kills and collects processes. It never runs a model's code, and ends with its host. One
process is forked ahead and waits: a request makes it a session, and the next one is forked.
"""

from __future__ import annotations

import builtins
import gc
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from .codec.wire import Frame, FrameReader, Kind, pack
from .folders import BRANCHES, remove_folder
from .kernel.locks import KernelLocks
from .kernel.network import NetworkOrder
from .processes import (
    TICK_SECONDS,
    NoLocks,
    SessionLimits,
    close_all_but,
    name_process,
    seed_random_numbers,
    watch_process,
)
from .session.link import HostGone, Link
from .session.names import ask_the_host
from .session.session import SessionProcess
from .session.step import Namespace, Rules, run_step
from .session.view import enter_view

_PAUSE_MS = 5  # without a request: until then, the new session needs the processor
_TICK_MS = int(TICK_SECONDS * 1000)

Locks = KernelLocks | NoLocks


def main(control: socket.socket) -> None:
    """Serve the host over `control` until it closes it."""
    link = Link(control)
    order = link.receive().body
    sys.dont_write_bytecode = True
    try:
        template = Template(link, KernelLocks(order) if order["locks"] else NoLocks(order))
    except OSError as error:
        link.send(Kind.FAILED, {"error": str(error)})
        return
    link.send(Kind.REPORT, template.report(order["preload"]))
    template.serve()


class ReadyProcess(NamedTuple):
    """A process that was forked ahead, and the socket for the order that makes it a session."""

    pid: int
    orders: socket.socket


class Template:
    """Forks sessions, kills them on request, and collects them when they have ended.

    Args:
        link: To the host.
        locks: What each session applies.
    """

    def __init__(self, link: Link, locks: Locks) -> None:
        self._link = link
        self._locks = locks
        self._sessions: dict[int, int] = {}
        self._watched: dict[int, int] = {}
        self._poll = select.poll()
        self._poll.register(link.sock, select.POLLIN)
        name_process("template")
        warm_up()
        null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        os.dup2(null, 2)
        os.close(null)
        gc.collect()
        gc.freeze()
        self._waiting: ReadyProcess | None = self._fork_ahead()
        self._may_fork_ahead = False

    def report(self, preload: list[str]) -> dict[str, Any]:
        """The locks of each session."""
        return {
            **self._locks.report(),
            "folder": self._locks.folder,
            "user": os.geteuid(),
            "preloaded": [name for name in preload if name in sys.modules],
        }

    def serve(self) -> None:
        """Do what the host asks, until it is gone."""
        while True:
            ready = [descriptor for descriptor, _ in self._poll.poll(self._patience())]
            if not ready and self._may_fork_ahead:
                self._may_fork_ahead = False
                with suppress(OSError):  # the next request tries again, and reports a failure
                    self._waiting = self._fork_ahead()
            self._collect(ready)
            if self._link.sock.fileno() in ready:
                try:
                    self._obey(self._link.receive())
                    while self._link.waits():
                        self._obey(self._link.receive())
                except (HostGone, OSError):
                    self._end()
                    return

    def _patience(self) -> int | None:
        """How many milliseconds to wait for a request; None for any time."""
        if self._may_fork_ahead:
            return _PAUSE_MS
        return _TICK_MS if -1 in self._watched.values() else None

    def _obey(self, frame: Frame) -> None:
        order = frame.body
        if "kill" in order:
            pid = self._sessions.get(order["kill"])
            if pid is not None:
                self._locks.kill(pid)
        elif "pause" in order:
            pid = self._sessions.get(order["pause"])
            if pid is not None:
                os.kill(pid, signal.SIGSTOP if order["stop"] else signal.SIGCONT)
        else:
            count = 1 + sum("path" not in folder for folder in order["folders"])
            self._spawn(order, [self._link.descriptors.popleft() for _ in range(count)])

    def _spawn(self, order: dict[str, Any], descriptors: list[int]) -> None:
        """Make the waiting process a session.

        Args:
            order: Of the host. Of each of its `folders`, the host sends the mount along, or names
                the `path` for the keeper.
            descriptors: The session's end of its socket, and the mounts.
        """
        try:
            for place, folder in enumerate(order["folders"], start=1):
                if "path" in folder:
                    descriptors.insert(place, self._locks.mount(folder))
            waiting = self._waiting or self._fork_ahead()
            self._waiting, self._may_fork_ahead = None, True
            self._sessions[order["id"]] = waiting.pid
            with waiting.orders:
                socket.send_fds(waiting.orders, [pack(Frame(Kind.ORDER, order))], descriptors)
        except OSError as error:
            _report_failure(descriptors[0], error)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _fork_ahead(self) -> ReadyProcess:
        parent = os.getpid()
        ours, theirs = socket.socketpair()
        with theirs:
            pid = self._locks.fork()
            if pid == 0:
                _wait_for_order(Link(theirs), self._locks, parent)
        watch = watch_process(pid)
        if watch >= 0:
            self._poll.register(watch, select.POLLIN)
        self._watched[pid] = watch
        return ReadyProcess(pid, ours)

    def _collect(self, ready: list[int]) -> None:
        """Collect the processes that have ended."""
        for pid, watch in list(self._watched.items()):
            if watch in ready:
                self._locks.kill(pid)  # what the session has left running
                self._unwatch(pid)
            if self._watched[pid] < 0 and self._locks.collect(pid):
                self._forget(pid)

    def _unwatch(self, pid: int) -> None:
        watch, self._watched[pid] = self._watched[pid], -1
        if watch >= 0:
            self._poll.unregister(watch)
            os.close(watch)

    def _forget(self, pid: int) -> None:
        """Remove everything that belonged to a process that has ended."""
        self._unwatch(pid)
        del self._watched[pid]
        if self._waiting is not None and pid == self._waiting.pid:
            self._waiting.orders.close()
            self._waiting = None
        for number in [number for number, owner in self._sessions.items() if owner == pid]:
            del self._sessions[number]
            if self._locks.folder:
                own = os.path.join(self._locks.folder, str(number))
                remove_folder(own)
                remove_folder(own + BRANCHES)

    def _end(self) -> None:
        for pid in list(self._watched):
            self._locks.kill(pid)
            os.waitpid(pid, 0)
            self._forget(pid)
        if self._locks.folder:
            remove_folder(self._locks.folder)


def _wait_for_order(orders: Link, locks: Locks, parent: int) -> NoReturn:
    """Prepare for any order, wait for one, and serve as it says; never returns.

    Args:
        orders: Delivers one order, and with it the session's end of its socket to the host.
        locks: What the template has prepared.
        parent: The template.
    """
    try:
        close_all_but({orders.sock.fileno(), *locks.descriptors})
        seed_random_numbers()
        locks.enter(parent)
        Namespace(Rules("", frozenset("*"), 0))  # touches the pages that the real one will write to
        order = orders.receive().body
        link = Link(socket.socket(fileno=orders.descriptors[0]))
        names = [folder["name"] for folder in order["folders"]]
        trees = dict(zip(names, list(orders.descriptors)[1:], strict=True))
        name_process("session")
        _start_session(order, link, locks, trees).serve()
    except BaseException as error:  # noqa: BLE001 - reported to the host
        with suppress(HostGone):  # the template is gone
            if not orders.descriptors:
                orders.receive()
            _report_failure(orders.descriptors[0], error)
    finally:
        os._exit(0)


def _start_session(
    order: dict[str, Any], link: Link, locks: Locks, trees: dict[str, int]
) -> SessionProcess:
    limits = SessionLimits(**order["limits"])
    workspace = order.get("workspace")
    masks = workspace and workspace["masks"]
    masked = None if masks is None else [path.encode("latin-1") for path in masks]
    if "network" in order:
        _connect(NetworkOrder(**order["network"]), link, locks)
    folder = locks.lock_up(limits, order["id"], trees, masked)
    close_all_but({link.sock.fileno(), *link.passing, *locks.kept_descriptors})
    view = enter_view(folder, locks.upper) if workspace else None
    # What changes in a workspace is reported as its changes.
    delivered = "" if view is not None else folder
    rules = Rules(delivered, frozenset(order["imports"]), limits.max_output_bytes)
    return SessionProcess(link, rules, locks.harden, locks.warden(limits), view)


def _connect(order: NetworkOrder, link: Link, locks: Locks) -> None:
    """Prepare the session's network."""
    if isinstance(locks, NoLocks):
        raise PermissionError("without locks there is no network of the session's own")
    link.passing = locks.connect(order)
    known = frozenset({*order.addresses, *order.hosts.values()})
    ask_the_host((order.names, order.ports[0]), known)


def _report_failure(descriptor: int, error: BaseException) -> None:
    """Report to the host, over its socket, why there is no session."""
    link = Link(socket.socket(fileno=os.dup(descriptor)))
    with suppress(OSError):
        link.send(Kind.FAILED, {"error": f"{type(error).__name__}: {error}"})
    link.close()


_ROUNDS = 10  # after eight, the interpreter has fitted its instructions to what they work on
_CODE = """
def mean(values):
    return sum(values) / len(values)
print(f"{mean([1, 2.5]):.2f}", {"a": [True, None]})
try:
    undefined
except NameError as error:
    text = str(error)
mean([3])
"""


def warm_up() -> None:
    """Run a harmless step a few times, and one that fails."""
    ours, theirs = socket.socketpair()
    stdout, stderr, main = sys.stdout, sys.stderr, sys.modules["__main__"]
    real_import = builtins.__import__
    with ours, theirs:
        link = Link(theirs)
        namespace = Namespace(Rules("/nowhere", frozenset(), 1000))
        for number, code in enumerate((*[_CODE] * _ROUNDS, "1 / 0")):
            order: dict[str, Any] = {
                "step": number,
                "code": code,
                "tools": ["tool"],
                "values": {},
                "fork": True,
                "token": "",
                "seed": False,
            }
            frames = FrameReader().feed(pack(Frame(Kind.RUN, order)))
            run_step(link, namespace, {**frames[0].body, "blob": b""})
            ours.recv(1 << 16)
    sys.stdout, sys.stderr, sys.modules["__main__"] = stdout, stderr, main
    builtins.__import__ = real_import
