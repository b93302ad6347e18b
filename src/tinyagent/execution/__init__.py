"""Where a model's code runs: executors of graduated trust."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinyagent.execution.definition import Sandbox
    from tinyagent.execution.network.rules import Allow
    from tinyagent.execution.network.secrets import ApiKey, Bearer
    from tinyagent.execution.protocol import Executor, Guarantee
    from tinyagent.execution.sandbox.executor import ProcessExecutor, get_executor
    from tinyagent.execution.sandbox.snapshots import Refusal, Snapshot
    from tinyagent.execution.trust import ExecutionLimits, TrustLevel
    from tinyagent.execution.workspace.workspace import Workspace
else:
    from tinyagent.core.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "definition": "Sandbox",
            "network.rules": "Allow",
            "network.secrets": "ApiKey Bearer",
            "protocol": "Executor Guarantee",
            "sandbox.executor": "ProcessExecutor get_executor",
            "sandbox.snapshots": "Refusal Snapshot",
            "trust": "ExecutionLimits TrustLevel",
            "workspace.workspace": "Workspace",
        },
    )

__all__ = [
    "Allow",
    "ApiKey",
    "Bearer",
    "ExecutionLimits",
    "Executor",
    "Guarantee",
    "ProcessExecutor",
    "Refusal",
    "Sandbox",
    "Snapshot",
    "TrustLevel",
    "Workspace",
    "get_executor",
]
