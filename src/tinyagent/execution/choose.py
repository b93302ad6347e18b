"""From a trust level to its executor."""

from __future__ import annotations

from typing import Any, Unpack

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.limits import TrustLevel
from tinyagent.execution.local import LocalExecutor
from tinyagent.execution.process import ProcessExecutor, ProcessOptions
from tinyagent.execution.protocol import Executor

_AT_LOCAL = {"limits", "extra_imports"}


def get_executor(
    trust_level: TrustLevel | str = TrustLevel.ISOLATED, **options: Unpack[ProcessOptions]
) -> Executor:
    """The executor of a trust level.

    Args:
        trust_level: `"local"`, `"isolated"` or `"sandboxed"`.
        options: as `ProcessExecutor` takes them; at `"local"` only `limits` and `extra_imports`.

    Raises:
        ConfigurationError: no such level, or an option that it does not have.
    """
    try:
        level = TrustLevel(trust_level)
    except ValueError:
        levels = ", ".join(TrustLevel)
        raise ConfigurationError(f"trust level {trust_level!r} is none of {levels}") from None
    if level is not TrustLevel.LOCAL:
        return ProcessExecutor(level, **options)
    wrong = sorted(options.keys() - _AT_LOCAL)
    if wrong:
        raise ConfigurationError(f"LOCAL runs in this process: it has no option {', '.join(wrong)}")
    given: dict[str, Any] = {name: value for name, value in options.items() if name in _AT_LOCAL}
    return LocalExecutor(**given)
