"""What the commands say to the shell."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended."""

    ANSWERED = 0
    FAILED = 1
    BAD_USAGE = 2
    LIMIT_REACHED = 3
    INTERRUPTED = 130
