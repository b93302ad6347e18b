"""Messages and tool calls: what a conversation is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to run a tool.

    `fault` says why the call cannot be run as it came (cut-off JSON, say); it is for the model to
    read. A faulty call keeps what the model wrote under the one argument `_unreadable`, so a
    conversation never holds arguments that are not JSON.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fault: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        out = {"id": self.id, "name": self.name, "arguments": dict(self.arguments)}
        return out if self.fault is None else out | {"fault": self.fault}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ToolCall:
        """Read the JSON form back; raises KeyError for a missing part."""
        return cls(data["id"], data["name"], dict(data["arguments"]), data.get("fault"))


@dataclass(frozen=True, slots=True)
class Message:
    """One message. Only an assistant's message has `tool_calls`, only a tool's a `tool_call_id`."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; parts that are not there are left out."""
        out: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            out["tool_calls"] = [call.to_dict() for call in self.tool_calls]
        if self.tool_call_id is not None:
            out["tool_call_id"] = self.tool_call_id
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Message:
        """Read the JSON form back; raises KeyError for a missing part."""
        calls = tuple(ToolCall.from_dict(call) for call in data.get("tool_calls", ()))
        return cls(data["role"], data["content"], calls, data.get("tool_call_id"))
