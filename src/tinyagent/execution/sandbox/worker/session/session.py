"""A session process: waits for steps, and runs each in itself or in a fork of itself.

With checkpoints, the process that holds the variables gets each step together with a new socket and
forks. The child runs the step over the new socket and holds the variables from then on. If it is
lost, the host continues with the parent, and no frame of the lost step reaches the next one.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..branches import BranchFolders
from ..codec.wire import Frame, Kind, pack
from ..kernel import linux
from ..kernel.warden import Warden
from ..processes import TICK_SECONDS, StepProcesses, seed_random_numbers, watch_process
from .link import HostGone, Link, readable
from .step import Namespace, Rules, run_step
from .view import View

_FORK_TRIES = 10
_MOST_OF_ERROR = 2000


class SessionProcess:
    """A process of a session.

    Args:
        link: To the host.
        rules: What the code may do, as the host sets it.
        harden: Applies the last lock; called before any code runs, with the way to the warden in a
            fork that has one.
        warden: Only in the first process, and only if steps run in forks.
        view: Of a workspace, if there is one.
    """

    def __init__(
        self,
        link: Link,
        rules: Rules,
        harden: Callable[[socket.socket | None], None],
        warden: Warden | StepProcesses | None,
        view: View | None = None,
    ) -> None:
        self._link = link
        self._rules = rules
        self._harden: Callable[[socket.socket | None], None] | None = harden
        self._handover: socket.socket | None = None
        self._warden = warden
        self._view = view
        self._namespace = Namespace(rules)
        self._children: dict[int, int] = {}
        self._announce = warden.announce if isinstance(warden, StepProcesses) else _nothing

    def serve(self) -> None:
        """Serve the host until it is gone."""
        self._link.send(Kind.READY, {})
        with suppress(HostGone, OSError):
            while True:
                self._obey(self._next())

    def _obey(self, frame: Frame) -> None:
        if frame.kind is Kind.RUN:
            self._run(frame)
        elif frame.kind is Kind.FILE:
            self._write(frame)
        elif frame.kind is Kind.SEED and self._view is not None:
            self._view.seed(frame.body, frame.blob)
        elif frame.kind is Kind.SCAN and self._view is not None:
            self._view.report(self._link.send)
        elif frame.kind is Kind.PAUSE and self._warden is not None:
            self._warden.pause(stop=frame.body["stop"])
        elif frame.kind is Kind.END and self._warden is not None:
            self._warden.note(
                frame.body["keep"],
                watch=frame.body["watch"],
                wake=frame.body["wake"],
                others=frame.body["others"],
            )
            if frame.body["sweep"]:
                killed = self._warden.sweep()
                self._collect()  # until then, ended processes count towards the limit
                pool = self._warden.thread_pool()
                self._link.send(Kind.SWEPT, {"killed": killed, "memory": False, "pool": pool})

        elif frame.kind in {Kind.TURN, Kind.BRANCH} and self._warden is not None:
            error = ""
            try:
                _change_branches(frame, self._warden.branches)
            except (OSError, ValueError) as fault:
                error = str(fault)[:_MOST_OF_ERROR] or type(fault).__name__
            is_full = not error and self._warden.is_full()
            self._link.send(Kind.TURNED, {"error": error, "full": is_full})

    def _next(self) -> Frame:
        """The next frame; meanwhile children are collected and memory is watched."""
        if self._warden is None and not self._children:
            return self._link.receive()
        own = self._link.sock.fileno()
        while not self._link.waits():
            watching = self._warden is not None and self._warden.watching
            asking = () if self._warden is None else self._warden.descriptors
            watches = [watch for watch in self._children.values() if watch >= 0]
            ticks = watching or len(watches) < len(self._children)
            ready = readable([own, *watches, *asking], TICK_SECONDS if ticks else None)
            for descriptor in set(asking).intersection(ready):
                self._attend(descriptor)
            if watching and self._warden is not None and self._warden.relieve():
                self._link.send(Kind.SWEPT, {"killed": 0, "memory": True, "pool": ""})
            self._collect()
            if own in ready:
                break
        return self._link.receive()

    def _attend(self, descriptor: int) -> None:
        if self._warden is not None:
            self._warden.attend(descriptor)

    def _collect(self) -> None:
        """Report the steps whose process has ended; the warden collects all others as well."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if pid in self._children:
                    self._unwatch(pid)
                    self._link.send(Kind.EXITED, {"pid": pid, "status": status})

    def _unwatch(self, pid: int) -> None:
        watch = self._children.pop(pid)
        if watch >= 0:
            os.close(watch)

    def _run(self, frame: Frame) -> None:
        order = {**frame.body, "blob": frame.blob}
        if not order["fork"]:
            self._run_here(order)
            return
        descriptor = self._link.descriptors.popleft()
        try:
            pid = self._fork()
        except OSError as error:
            os.close(descriptor)
            self._link.send(Kind.FAILED, {"error": f"no process for the step: {error}"})
            return
        if pid:
            with suppress(OSError):  # the host has given up the step
                os.write(descriptor, pack(Frame(Kind.FORKED, {"pid": pid})))
            os.close(descriptor)
            self._children[pid] = watch_process(pid)
            return
        self._become_holder(descriptor)
        if order["seed"]:
            seed_random_numbers()
        self._run_here(order)

    def _fork(self) -> int:
        """Fork; at the limit of processes, wait for threads and children that are about to end."""
        for _ in range(_FORK_TRIES):
            with suppress(BlockingIOError):
                return linux.fork()
            time.sleep(TICK_SECONDS)
            self._collect()
        return linux.fork()

    def _become_holder(self, descriptor: int) -> None:
        self._link.move(descriptor)
        for pid in list(self._children):
            self._unwatch(pid)
        if self._view is not None:
            self._view.close()
            self._view = None
        if self._warden is not None:
            self._handover = self._warden.leave()
            self._warden = None
        self._announce()

    def _run_here(self, order: dict[str, Any]) -> None:
        if self._harden is not None:
            self._harden(self._handover)
            self._harden = None
            if self._handover is not None:
                self._handover.close()
        run_step(self._link, self._namespace, order)

    def _write(self, frame: Frame) -> None:
        """Put a piece of a file into the working folder, before any code has run."""
        path = os.path.join(self._rules.folder, frame.body["name"])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab" if frame.body["append"] else "wb") as file:
            file.write(frame.blob)
        self._namespace.files.know_all()


def _change_branches(frame: Frame, branches: BranchFolders | None) -> None:
    if branches is None:
        raise OSError("this session has no folders for branches")
    living = {str(each) for each in frame.body["living"]}
    if frame.kind is Kind.TURN:
        branches.enter(str(frame.body["branch"]), living)
    else:
        branches.copy(frame.body["pids"], [str(each) for each in frame.body["new"]], living)


def _nothing() -> None:
    """The warden finds all processes itself."""
