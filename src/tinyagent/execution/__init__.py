"""Where a model's code runs: executors of graduated trust."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinyagent.execution.choose import get_executor
    from tinyagent.execution.limits import ExecutionLimits, TrustLevel
    from tinyagent.execution.local import LocalExecutor
    from tinyagent.execution.process import ProcessExecutor
    from tinyagent.execution.protocol import Executor, Guarantee
else:
    from tinyagent.core.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "choose": "get_executor",
            "limits": "ExecutionLimits TrustLevel",
            "local": "LocalExecutor",
            "process": "ProcessExecutor",
            "protocol": "Executor Guarantee",
        },
    )

__all__ = [
    "ExecutionLimits",
    "Executor",
    "Guarantee",
    "LocalExecutor",
    "ProcessExecutor",
    "TrustLevel",
    "get_executor",
]
