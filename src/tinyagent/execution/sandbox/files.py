"""Files of the host that are copied into a session's working folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tinyagent.execution.sandbox.session import SandboxSession
from tinyagent.execution.sandbox.worker.codec.wire import Frame, Kind

_PIECE = 1 << 20


async def send_file(session: SandboxSession, path: Path) -> None:
    """Copy a file into the session's folder, before its first step."""
    with path.open("rb") as file:
        append = False
        while (piece := file.read(_PIECE)) or not append:
            await session.first.put(Frame(Kind.FILE, {"name": path.name, "append": append}, piece))
            append = True


async def send_files(session: SandboxSession, paths: Iterable[Path]) -> None:
    """Copy files into the working folder of a session, which is closed if that fails."""
    try:
        for path in paths:
            await send_file(session, path)
    except BaseException:
        session.close()
        raise
