"""ToolCallingAdapter: the protocol between an agent's tools and a model's way of calling them."""

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

        `output_schema` is the JSON Schema of the answer, where one is wanted. `answer_only` keeps
        the model from calling them in this request.
        """
        ...

    def format_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The conversation in the form that the model is used to."""
        ...

    def extract_tool_calls(
        self, response: ModelResponse, tools: Sequence[ToolSpec]
    ) -> tuple[ToolCall, ...]:
        """The calls in an answer, in their order and with ids of their own; none: an answer.

        Raises:
            MalformedReply: it is neither a call nor an answer; the message is for the model.
        """
        ...

    def extract_answer(self, response: ModelResponse) -> str:
        """The text of an answer that has no calls; JSON where the answer is not a text.

        Raises:
            MalformedReply: there is none.
        """
        ...

    def text_beside_calls(self, response: ModelResponse) -> str:
        """What to remember of the text of an answer that has calls."""
        ...
