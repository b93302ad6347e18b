"""The agents: one loop, and what each agent adds to it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinyagent.agents.base import BaseAgent
    from tinyagent.agents.code import TinyCodeAgent
    from tinyagent.agents.react import ReactAgent
else:
    from tinyagent.core.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "base": "BaseAgent",
            "code": "TinyCodeAgent",
            "react": "ReactAgent",
        },
    )

__all__ = [
    "BaseAgent",
    "ReactAgent",
    "TinyCodeAgent",
]
