"""ToolCallingAdapter: the protocol between an agent's tools and a model's way of calling them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ModelResponse, RequestFormat, ToolSpec


class ToolCallingAdapter(Protocol):
    """Offers tools to a model and reads its calls. Stateless: one object serves all runs."""

    def format_request(self, tools: Sequence[ToolSpec]) -> RequestFormat:
        """What to add to each request so that the model can call `tools`."""
        ...

    def extract_tool_calls(
        self, response: ModelResponse, tools: Sequence[ToolSpec]
    ) -> tuple[ToolCall, ...]:
        """The calls in an answer, in their order and with ids of their own; none: an answer.

        Raises:
            MalformedReply: it is neither a call nor an answer; the message is for the model.
        """
        ...
