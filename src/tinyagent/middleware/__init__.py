"""Middleware: what wraps the calls of a run."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinyagent.middleware.approval import Approval, Decision
    from tinyagent.middleware.base import Middleware, SteeringMiddleware
    from tinyagent.middleware.limits import UsageLimits
    from tinyagent.middleware.tracing import Tracing
else:
    from tinyagent.core.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "approval": "Approval Decision",
            "base": "Middleware SteeringMiddleware",
            "limits": "UsageLimits",
            "tracing": "Tracing",
        },
    )

__all__ = [
    "Approval",
    "Decision",
    "Middleware",
    "SteeringMiddleware",
    "Tracing",
    "UsageLimits",
]
