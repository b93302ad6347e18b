"""Messages, arguments and results as span attributes: JSON text of bounded length."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tinyagent.core.messages import Message, Part, ToolCall
from tinyagent.core.parts import Reasoning, Text
from tinyagent.core.text import cut_middle
from tinyagent.core.types import ModelResponse, RawToolCall, ReplyPart

_MAX_MESSAGES = 50


class ContentWriter:
    """Writes content in the shape of the GenAI conventions.

    Args:
        max_chars: how long a text may be before its middle is left out. Of a conversation the
            newest 50 messages are written.
    """

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars

    def messages(self, messages: Sequence[Message]) -> str:
        """What went to the model."""
        return json.dumps(
            [self._message(message) for message in messages[-_MAX_MESSAGES:]], ensure_ascii=False
        )

    def response(self, response: ModelResponse) -> str:
        """What the model answered."""
        said = [Text(response.content)] if response.content else []
        parts = [self._part(part) for part in response.parts or (*said, *response.tool_calls)]
        return json.dumps([{"role": "assistant", "parts": parts}], ensure_ascii=False)

    def arguments(self, arguments: Mapping[str, Any]) -> str:
        """The arguments of a call."""
        return self.text(json.dumps(dict(arguments), ensure_ascii=False, default=str))

    def text(self, text: str) -> str:
        """A text, cut in the middle where it is too long."""
        return cut_middle(text, self._max_chars)

    def _message(self, message: Message) -> dict[str, Any]:
        if message.role == "tool":
            answer = {"type": "tool_call_response", "id": message.tool_call_id}
            return {"role": "tool", "parts": [answer | {"response": self.text(message.describe())}]}
        return {"role": message.role, "parts": [self._part(part) for part in message.parts]}

    def _part(self, part: Part | ReplyPart) -> dict[str, Any]:
        """A part as the conventions name it; opaque data and bytes are left out."""
        if isinstance(part, ToolCall):
            return self._call(part.id, part.name, self.arguments(part.arguments))
        if isinstance(part, RawToolCall):
            return self._call(part.id, part.name, self.text(part.arguments))
        if isinstance(part, Reasoning):
            return {"type": "reasoning", "content": self.text(part.text)}
        return {"type": "text", "content": self.text(part.describe())}

    def _call(self, call_id: str, name: str, arguments: str) -> dict[str, Any]:
        return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
