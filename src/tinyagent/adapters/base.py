"""ToolCallingAdapter: how tools are offered to a model and how its calls are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.types import ModelResponse, RequestFormat, ToolSpec


class ToolCallingAdapter(Protocol):
    """Offers tools to a model and reads its calls. Stateless: one object serves all runs."""

    def format_request(
        self,
        tools: Sequence[ToolSpec],
        output_schema: Mapping[str, Any] | None = None,
        *,
        answer_only: bool = False,
    ) -> RequestFormat:
        """What to add to each request so that the model can call `tools`.

        Args:
            tools: The available tools.
            output_schema: JSON Schema of the answer, if it has a type.
            answer_only: Whether to keep the model from calling tools in this request.
        """
        ...

    def format_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The conversation in the form that the model understands."""
        ...

    def extract_tool_calls(
        self, response: ModelResponse, tools: Sequence[ToolSpec]
    ) -> tuple[ToolCall, ...]:
        """The calls in a reply, in their order and with unique ids; none if it is an answer.

        Raises:
            MalformedReply: It is neither; the message is for the model.
        """
        ...

    def extract_answer(self, response: ModelResponse) -> str:
        """The text of a reply without calls; JSON if the answer is not text.

        Raises:
            MalformedReply: There is no answer.
        """
        ...

    def text_beside_calls(self, response: ModelResponse) -> str:
        """The text to remember for a reply with calls."""
        ...
