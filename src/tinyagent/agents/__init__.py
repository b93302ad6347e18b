"""The agents: one loop, and what each agent adds to it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinyagent.agents.base import BaseAgent
    from tinyagent.agents.best_of import BestOf, NoCandidatePassed
    from tinyagent.agents.code import TinyCodeAgent
    from tinyagent.agents.react import ReactAgent
else:
    from tinyagent.core.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "base": "BaseAgent",
            "best_of": "BestOf NoCandidatePassed",
            "code": "TinyCodeAgent",
            "react": "ReactAgent",
        },
    )

__all__ = [
    "BaseAgent",
    "BestOf",
    "NoCandidatePassed",
    "ReactAgent",
    "TinyCodeAgent",
]
