"""MemoryManager: the steps of a code agent's run, in the order in which they happened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from tinyagent.core.items import prune_items, prune_items_async
from tinyagent.core.messages import Message
from tinyagent.core.tokens import TokenEstimate
from tinyagent.core.turns import count_characters
from tinyagent.memory.steps import Step, SystemPromptStep, step_from_dict


class MemoryManager:
    """Chronological steps. A run adds and prunes; no step is ever changed in place."""

    __slots__ = ("_estimate", "_steps")

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._steps = list(steps)
        self._estimate = TokenEstimate()

    @property
    def steps(self) -> Sequence[Step]:
        """The steps, oldest first."""
        return tuple(self._steps)

    def add(self, step: Step) -> None:
        """Append one step."""
        self._steps.append(step)

    def set_system(self, content: str) -> None:
        """Put this system prompt first, in place of any that is there."""
        rest = [step for step in self._steps if step.kind != "system"]
        self._steps = [SystemPromptStep(content), *rest]

    def to_messages(self) -> tuple[Message, ...]:
        """What the model is sent."""
        return tuple(message for step in self._steps for message in step.to_messages())

    def prune(self, strategy: Callable[[Sequence[Step]], Iterable[Step]]) -> int:
        """Keep what `strategy` keeps of the steps; gives the number of characters saved.

        Whatever the strategy says, the system prompt, the first task and the latest task stay, and
        the order does.

        Raises:
            ConfigurationError: the strategy must be awaited (`prune_async`).
        """
        return self._replace(len(self._steps), prune_items(self.steps, strategy, self._estimate))

    async def prune_async(
        self, strategy: Callable[[Sequence[Step]], Iterable[Step] | Awaitable[Iterable[Step]]]
    ) -> int:
        """As `prune`, for strategies of both kinds, plain and awaited."""
        count = len(self._steps)
        kept = await prune_items_async(self.steps, strategy, self._estimate)
        return self._replace(count, kept)

    @property
    def tokens(self) -> int:
        """About how many tokens the steps have: 4 characters each until `learn` knows better."""
        return self._estimate.tokens(count_characters(self.to_messages()))

    def learn(self, input_tokens: int, *, extra_characters: int = 0) -> None:
        """Correct the estimate by what the server counted for the steps as they are now.

        `extra_characters` were sent beside the steps: the scratchpad's context, say.
        """
        sent = count_characters(self.to_messages()) + extra_characters
        self._estimate = self._estimate.update(sent, input_tokens)

    def copy(self) -> MemoryManager:
        """A manager of its own with the same steps."""
        copy = MemoryManager(self._steps)
        copy._estimate = self._estimate
        return copy

    def to_list(self) -> list[dict[str, Any]]:
        """The JSON form: one dictionary a step."""
        return [step.to_dict() for step in self._steps]

    @classmethod
    def from_list(cls, data: Iterable[Mapping[str, Any]]) -> MemoryManager:
        """Read the JSON form back; raises KeyError or ValueError as `step_from_dict`."""
        return cls(step_from_dict(entry) for entry in data)

    def _replace(self, count: int, steps: Sequence[Step]) -> int:
        """Put `steps` in place of the first `count`; what came later stays."""
        before = sum(step.size for step in self._steps[:count])
        self._steps[:count] = steps
        return before - sum(step.size for step in steps)

    def __len__(self) -> int:
        return len(self._steps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryManager) and self._steps == other._steps

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"MemoryManager({len(self._steps)} steps)"
