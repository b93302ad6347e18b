"""The files that a session gets at its start, copied from the host."""

from __future__ import annotations

from pathlib import Path

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.sandbox.session import SandboxSession

_PIECE = 1 << 20


def existing_file(path: str | Path) -> Path:
    """The path of a file.

    Raises:
        ConfigurationError: there is no such file.
    """
    file = Path(path)
    if not file.is_file():
        raise ConfigurationError(f"files: there is no file {str(file)!r}")
    return file


async def send_file(session: SandboxSession, path: Path) -> None:
    """Put a copy of the file into the session's working folder, in pieces."""
    with path.open("rb") as file:
        piece = file.read(_PIECE)
        await session.write(path.name, piece, append=False)
        while piece := file.read(_PIECE):
            await session.write(path.name, piece, append=True)
