"""A workspace and the session that works on it: filling the view, and reading what has changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tinyagent.core.errors import (
    CallerError,
    ConfigurationError,
    ExecutionTimeout,
    SandboxUnavailable,
)
from tinyagent.core.execution import Change, ExecutionResult
from tinyagent.core.threads import run_in_thread
from tinyagent.execution.sandbox.host_folders import HostFolder
from tinyagent.execution.sandbox.session import SandboxSession
from tinyagent.execution.sandbox.worker.codec.wire import Frame, Kind, WireError
from tinyagent.execution.workspace.manifest import read_pieces
from tinyagent.execution.workspace.report import Report
from tinyagent.execution.workspace.workspace import TOO_LATE, OpenWorkspace, Workspace

Spawn = Callable[[dict[str, Any], Sequence[HostFolder]], SandboxSession]

_NAME = "workspace"
_LEAST_SECONDS = 0.1  # for what a step that was stopped has changed
_SLICE_SECONDS = 0.005
_LOST = "what it had changed in the workspace is lost"


class SessionWorkspace:
    """The workspace of an executor, for one session after the other.

    Args:
        workspace: The folder.

    Raises:
        ConfigurationError: It does not exist.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._open: OpenWorkspace | None = None
        self._room = 0
        self.uses_layers = True
        """Whether to try an overlay before a copy."""
        if not workspace.path.is_dir():
            raise ConfigurationError(f"workspace: there is no folder {str(workspace.path)!r}")

    async def start(self, order: dict[str, Any], spawn: Spawn, *, layered: bool) -> SandboxSession:
        """Start a session that sees the folder as it is now.

        Args:
            order: What the session is started with.
            spawn: Starts it.
            layered: Whether it may get an overlay of the folder itself; otherwise, and where the
                kernel refuses that, it gets a copy.

        Raises:
            ConfigurationError: The folder cannot be read, or it holds too much.
            SandboxUnavailable: The session does not start.
            WorkspaceConflict: An earlier commit was cut off and cannot be finished.
        """
        self.discard()
        opened: OpenWorkspace = await run_in_thread(self._workspace.open)
        self._open = opened
        self._room = order["limits"]["max_file_bytes"]
        if layered and self.uses_layers and opened.is_owned():
            with suppress(OSError, SandboxUnavailable, WireError):
                return await self._start_layered(opened, order, spawn)
            self.uses_layers = False
        return await self._start_copy(opened, order, spawn)

    async def _start_layered(
        self, opened: OpenWorkspace, order: dict[str, Any], spawn: Spawn
    ) -> SandboxSession:
        masks = [path.decode("latin-1") for path in sorted(opened.manifest.unshown)]
        folder = HostFolder(opened.path.resolve(), _NAME, read_only=True, owned=True)
        session = spawn({**order, "workspace": {"masks": masks}}, [folder])
        try:
            await session.first.wait_until_ready()
        except BaseException:
            session.close()
            raise
        return session

    async def _start_copy(
        self, opened: OpenWorkspace, order: dict[str, Any], spawn: Spawn
    ) -> SandboxSession:
        self._room += opened.manifest.size()
        limits = {**order["limits"], "max_file_bytes": self._room}
        session = spawn({**order, "limits": limits, "workspace": {"masks": None}}, ())
        try:
            await session.first.wait_until_ready()
            for frame in _copy(opened):
                await session.first.put(frame)
                await asyncio.sleep(0)
        except BaseException:
            session.close()
            raise
        return session

    async def finish(
        self, session: SandboxSession, result: ExecutionResult, latest: float
    ) -> ExecutionResult:
        """The result of a step, with what is different in the workspace after it.

        Args:
            session: That has run it.
            result: Without the differences.
            latest: When all of it must have been read, on the monotonic clock. What cannot be read
                by then, or is more than a report may hold, is lost with the session.
        """
        opened, until = self._opened(), max(latest, time.monotonic() + _LEAST_SECONDS)
        try:
            report = await run_in_thread(opened.new_report, max_bytes=self._room)
            async with asyncio.timeout(until - time.monotonic()):
                await _read_report(session, report)
            changes = await run_in_thread(opened.settle, report=report, until=until)
        except (TimeoutError, ExecutionTimeout):
            return self._lose(session, result, TOO_LATE, timed_out=True)
        except (CallerError, WireError) as fault:
            return self._lose(session, result, str(fault))
        except BaseException:  # what the session still sends is not part of another report
            session.close()
            raise
        return replace(result, changes=changes)

    def _lose(
        self, session: SandboxSession, result: ExecutionResult, reason: str, **fields: Any
    ) -> ExecutionResult:
        """The result of a step whose changes could not be read."""
        session.close()
        self.discard()
        lost = f"{_LOST}: {reason}"
        fields["note" if result.is_final else "error"] = lost
        if result.error:
            fields["error"] = f"{result.error}; {lost}"
        return replace(result, state_lost=True, **fields)

    async def commit(self, paths: Iterable[str] | None) -> tuple[Change, ...]:
        """Write changes to the folder; raises as `OpenWorkspace.commit`."""
        written: tuple[Change, ...] = await run_in_thread(self._opened().commit, paths=paths)
        return written

    def discard(self) -> None:
        """Forget what has changed."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _opened(self) -> OpenWorkspace:
        if self._open is None:
            raise CallerError("no code has run in the workspace, or its session has ended")
        return self._open


def _copy(workspace: OpenWorkspace) -> Generator[Frame]:
    entries = sorted(workspace.manifest.entries.items())
    modes: list[Frame] = []
    for path, entry in entries:
        kind = "folder" if entry.is_folder else "file"
        if entry.is_folder:
            yield _seed(kind, path)
        else:
            yield from _file(workspace, path)
        modes.append(_seed("mode", path, mode=entry.mode & 0o777))
    yield from reversed(modes)  # a folder that may not be written comes after what is in it
    yield _seed("end", b"")


def _file(workspace: OpenWorkspace, path: bytes) -> Generator[Frame]:
    yield _seed("file", path)
    try:
        for piece in read_pieces(workspace.root, path, workspace.manifest.entries[path]):
            yield _seed("file", path, piece)
    except OSError as error:
        raise ConfigurationError(
            f"workspace: {path.decode()!r} cannot be copied: {error}"
        ) from None


def _seed(kind: str, path: bytes, data: bytes = b"", *, mode: int = 0) -> Frame:
    return Frame(Kind.SEED, {"kind": kind, "name": len(path), "mode": mode}, path + data)


async def _read_report(session: SandboxSession, report: Report) -> None:
    """Let the session report what has changed in its view.

    Raises:
        WireError: It cannot, or what it sends cannot be a report.
    """
    if not session.is_open or not await session.settle():
        raise WireError("the session has ended")
    await session.first.put(Frame(Kind.SCAN, {}))
    began = time.monotonic()
    while True:
        frame = await session.first.receive(None)
        if frame is None:
            raise WireError(session.first.channel.fault or "the session has ended")
        if isinstance(frame, Frame) and frame.kind is Kind.ENTRY:
            report.take(frame.body, frame.blob)
        elif frame.kind is Kind.SCANNED:
            report.end()
            return
        if time.monotonic() - began > _SLICE_SECONDS:  # other tasks get their turn
            await asyncio.sleep(0)
            began = time.monotonic()
