"""How far code may be trusted, and how much it may use."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from enum import StrEnum

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.untrusted import cut_middle


class TrustLevel(StrEnum):
    """What stands between code and the host; docs/security.md says what each level promises."""

    LOCAL = "local"
    ISOLATED = "isolated"
    SANDBOXED = "sandboxed"


@dataclass(frozen=True, slots=True)
class ExecutionLimits:
    """What one session of code may use.

    Args:
        timeout_seconds: wall-clock time of one step; time spent in tools does not count.
        max_output_bytes: printed text of one step that is kept, in UTF-8.
        max_steps: steps of one session; None for any number.
        max_memory_bytes: memory of the code beyond that of the bare interpreter.
        max_processes: processes and threads of one session at a time.
        max_file_bytes: all files of the working folder together.

    Raises:
        ConfigurationError: a limit is not positive.
    """

    timeout_seconds: float = 30.0
    max_output_bytes: int = 10_000
    max_steps: int | None = None
    max_memory_bytes: int = 2**30
    max_processes: int = 32
    max_file_bytes: int = 2**28

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None and not value > 0:
                raise ConfigurationError(f"{item.name} must be more than 0, got {value!r}")

    def timeout_context(self) -> AbstractContextManager[None]:
        """Stop what this thread does inside the block when `timeout_seconds` are over.

        It works between Python's instructions: a call into C is stopped when it returns.

        Raises:
            ExecutionTimeout: the time is over.
        """
        # Not needed by agents that run no code, and it loads ctypes.
        from tinyagent.execution.deadline import deadline  # noqa: PLC0415

        return deadline(self.timeout_seconds)

    def truncate_output(self, text: str) -> str:
        """`text`, cut in the middle to `max_output_bytes`, saying how much is missing."""
        return cut_middle(text, self.max_output_bytes)
