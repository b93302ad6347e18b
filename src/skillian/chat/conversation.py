"""Conversation: messages in a form that can be stored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tinyagent import Memory, Message, ToolCall

PARTS = "parts"
"""The key of the parts of a stored message: reasoning, and data that its provider needs back."""
MAX_PARTS_CHARACTERS = 1_000_000


def as_stored(message: Message) -> dict[str, Any]:
    """The JSON form with the text as `content`, and parts other than text in `parts`.

    Very long parts are left out; the conversation goes on without them.
    """
    if isinstance(message.content, str) and not any(call.opaque for call in message.tool_calls):
        return message.to_dict()
    calls = tuple(replace(call, opaque=None) for call in message.tool_calls)
    plain = replace(message, content=message.text, tool_calls=calls).to_dict()
    parts = replace(message, content=message.parts, tool_calls=()).to_dict()["content"]
    return plain if len(json.dumps(parts)) > MAX_PARTS_CHARACTERS else {**plain, PARTS: parts}


def _with_parts(stored: Mapping[str, Any]) -> Mapping[str, Any]:
    if PARTS not in stored:
        return stored
    return {**stored, "content": stored[PARTS], "tool_calls": ()}


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
        """Append a user message."""
        self._memory.add("user", content)

    def add_assistant(self, content: str, tool_calls: Iterable[ToolCall] = ()) -> None:
        """Append an assistant message, or the tools that it calls."""
        self._memory.add("assistant", content, tool_calls=tool_calls)

    def add_tool_result(self, content: str, tool_call_id: str) -> None:
        """Append the result of a tool call."""
        self._memory.add("tool", content, tool_call_id=tool_call_id)

    def to_list(self) -> list[dict[str, Any]]:
        """The JSON form."""
        return self._memory.to_list()

    @classmethod
    def from_list(cls, data: Iterable[Mapping[str, Any]]) -> Conversation:
        """Read the JSON form or stored messages; raises KeyError for a missing part."""
        return cls(Memory.from_list(map(_with_parts, data)))
