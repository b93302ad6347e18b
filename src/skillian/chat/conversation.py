"""Conversation: what was said, in a form that can be stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tinyagent import Memory, Message, ToolCall


class Conversation:
    """The messages of one conversation, oldest first. Tool results follow their calls."""

    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = Memory() if memory is None else memory

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages."""
        return tuple(self._memory.messages)

    @property
    def memory(self) -> Memory:
        """The same as an agent's memory."""
        return self._memory

    def add_user(self, content: str) -> None:
        """Append what the user says."""
        self._memory.add("user", content)

    def add_assistant(self, content: str, tool_calls: Iterable[ToolCall] = ()) -> None:
        """Append what the assistant says, or the tools that it calls."""
        self._memory.add("assistant", content, tool_calls=tool_calls)

    def add_tool_result(self, content: str, tool_call_id: str) -> None:
        """Append the result of a tool call."""
        self._memory.add("tool", content, tool_call_id=tool_call_id)

    def to_list(self) -> list[dict[str, Any]]:
        """The JSON form."""
        return self._memory.to_list()

    @classmethod
    def from_list(cls, data: Iterable[Mapping[str, Any]]) -> Conversation:
        """Read the JSON form back; raises KeyError for a missing part."""
        return cls(Memory.from_list(data))
