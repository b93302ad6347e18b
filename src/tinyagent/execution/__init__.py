"""Where a model's code runs: executors of graduated trust."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinyagent.execution.limits import ExecutionLimits, TrustLevel
    from tinyagent.execution.protocol import Executor, Guarantee
    from tinyagent.execution.sandbox.executor import ProcessExecutor, get_executor
else:
    from tinyagent.core.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "limits": "ExecutionLimits TrustLevel",
            "protocol": "Executor Guarantee",
            "sandbox.executor": "ProcessExecutor get_executor",
        },
    )

__all__ = [
    "ExecutionLimits",
    "Executor",
    "Guarantee",
    "ProcessExecutor",
    "TrustLevel",
    "get_executor",
]
