"""Memory: messages and steps, pruning strategies, summaries, the scratchpad."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinyagent.memory.items import MemoryItem, MessageGroup
    from tinyagent.memory.memory import Memory, MemoryManager, TokenEstimate
    from tinyagent.memory.pruning import (
        Strategy,
        keep_last_n_steps,
        keep_system_and_recent,
        no_pruning,
        prune_old_observations,
        token_budget,
    )
    from tinyagent.memory.scratchpad import AgentMemory
    from tinyagent.memory.steps import (
        ActionStep,
        ScratchpadStep,
        Step,
        SystemPromptStep,
        TaskStep,
        step_from_dict,
    )
    from tinyagent.memory.summary import summarize
else:
    from tinyagent.core.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "items": "MemoryItem MessageGroup",
            "memory": "Memory MemoryManager TokenEstimate",
            "pruning": (
                "Strategy keep_last_n_steps keep_system_and_recent no_pruning "
                "prune_old_observations token_budget"
            ),
            "scratchpad": "AgentMemory",
            "steps": ("ActionStep ScratchpadStep Step SystemPromptStep TaskStep step_from_dict"),
            "summary": "summarize",
        },
    )

__all__ = [
    "ActionStep",
    "AgentMemory",
    "Memory",
    "MemoryItem",
    "MemoryManager",
    "MessageGroup",
    "ScratchpadStep",
    "Step",
    "Strategy",
    "SystemPromptStep",
    "TaskStep",
    "TokenEstimate",
    "keep_last_n_steps",
    "keep_system_and_recent",
    "no_pruning",
    "prune_old_observations",
    "step_from_dict",
    "summarize",
    "token_budget",
]
