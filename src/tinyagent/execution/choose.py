"""From a trust level to its executor."""

from __future__ import annotations

from typing import Unpack

from tinyagent.execution.limits import TrustLevel
from tinyagent.execution.protocol import Executor
from tinyagent.execution.sandbox.executor import ProcessExecutor, ProcessOptions


def get_executor(
    trust_level: TrustLevel | str = TrustLevel.ISOLATED, **options: Unpack[ProcessOptions]
) -> Executor:
    """The executor of a trust level.

    Args:
        trust_level: `"local"`, `"isolated"` or `"sandboxed"`.
        options: as `ProcessExecutor` takes them.

    Raises:
        ConfigurationError: no such level, or an option that it does not have.
    """
    return ProcessExecutor(trust_level, **options)
