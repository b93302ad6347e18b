"""Memory: the conversation of a run in the order in which it happened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from tinyagent.core.items import MemoryItem, prune_items, prune_items_async
from tinyagent.core.messages import Content, Message, Role, ToolCall
from tinyagent.core.tokens import TokenEstimate
from tinyagent.core.turns import Turn, count_characters, group_turns


class Memory:
    """Chronological messages. A run appends and prunes; no message is ever changed in place."""

    __slots__ = ("_estimate", "_messages")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = list(messages)
        self._estimate = TokenEstimate()

    @property
    def messages(self) -> Sequence[Message]:
        """The messages, oldest first."""
        return tuple(self._messages)

    def add(
        self,
        role: Role,
        content: Content,
        *,
        tool_calls: Iterable[ToolCall] = (),
        tool_call_id: str | None = None,
        is_error: bool = False,
    ) -> None:
        """Append one message."""
        self._messages.append(Message(role, content, tuple(tool_calls), tool_call_id, is_error))

    def set_system(self, content: str) -> None:
        """Make `content` the one system prompt, in front, whatever stood there."""
        rest = [message for message in self._messages if message.role != "system"]
        self._messages = [Message("system", content), *rest]

    def turns(self, task: str | None = None) -> tuple[Turn, ...]:
        """The messages grouped so that a call is never parted from its results.

        `task` is the current task, if it is known: what a user says after it is no task.
        """
        return tuple(group_turns(self._messages, task))

    def prune(
        self,
        strategy: Callable[[Sequence[Turn]], Iterable[MemoryItem]],
        *,
        task: str | None = None,
    ) -> int:
        """Keep what `strategy` keeps of the turns; gives the number of characters saved.

        Whatever the strategy says, the system prompt, the first task and the latest task (or
        `task`, if it is given) stay, and the order does.

        Raises:
            ConfigurationError: the strategy must be awaited (`prune_async`).
        """
        items = prune_items(self.turns(task), strategy, self._estimate)
        return self._replace(len(self._messages), items)

    async def prune_async(
        self,
        strategy: Callable[
            [Sequence[Turn]], Iterable[MemoryItem] | Awaitable[Iterable[MemoryItem]]
        ],
        *,
        task: str | None = None,
    ) -> int:
        """As `prune`, for strategies of both kinds, plain and awaited."""
        count = len(self._messages)
        items = await prune_items_async(self.turns(task), strategy, self._estimate)
        return self._replace(count, items)

    @property
    def tokens(self) -> int:
        """About how many tokens the messages have: 4 characters each until `learn` knows better."""
        return self._estimate.tokens(count_characters(self._messages))

    def learn(self, input_tokens: int, *, extra_characters: int = 0) -> None:
        """Correct the estimate by what the server counted for the messages as they are now.

        `extra_characters` were sent beside the messages: the declarations of the tools.
        """
        sent = count_characters(self._messages) + extra_characters
        self._estimate = self._estimate.update(sent, input_tokens)

    def copy(self) -> Memory:
        """A memory of its own with the same messages."""
        copy = Memory(self._messages)
        copy._estimate = self._estimate
        return copy

    def to_list(self) -> list[dict[str, Any]]:
        """The JSON form: one dictionary a message."""
        return [message.to_dict() for message in self._messages]

    @classmethod
    def from_list(cls, data: Iterable[Mapping[str, Any]]) -> Memory:
        """Read the JSON form back; raises KeyError or ValueError for a missing or wrong part."""
        return cls(Message.from_dict(entry) for entry in data)

    def _replace(self, count: int, items: Iterable[MemoryItem]) -> int:
        """Put `items` in place of the first `count` messages; what came later stays."""
        before = count_characters(self._messages[:count])
        kept = [message for item in items for message in item.to_messages()]
        self._messages[:count] = kept
        return before - count_characters(kept)

    def __len__(self) -> int:
        return len(self._messages)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memory) and self._messages == other._messages

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Memory({len(self._messages)} messages)"
