"""Memory: the conversation of a run in the order in which it happened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tinyagent.core.messages import Message, Role, ToolCall


class Memory:
    """Chronological messages. A run appends; nothing is ever changed in place."""

    __slots__ = ("_messages",)

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = list(messages)

    @property
    def messages(self) -> Sequence[Message]:
        """The messages, oldest first."""
        return tuple(self._messages)

    def add(
        self,
        role: Role,
        content: str,
        *,
        tool_calls: Iterable[ToolCall] = (),
        tool_call_id: str | None = None,
    ) -> None:
        """Append one message."""
        self._messages.append(Message(role, content, tuple(tool_calls), tool_call_id))

    def copy(self) -> Memory:
        """A memory of its own with the same messages."""
        return Memory(self._messages)

    def to_list(self) -> list[dict[str, Any]]:
        """The JSON form: one dictionary a message."""
        return [message.to_dict() for message in self._messages]

    @classmethod
    def from_list(cls, data: Iterable[Mapping[str, Any]]) -> Memory:
        """Read the JSON form back; raises KeyError for a missing part."""
        return cls(Message.from_dict(entry) for entry in data)

    def __len__(self) -> int:
        return len(self._messages)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memory) and self._messages == other._messages

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Memory({len(self._messages)} messages)"
