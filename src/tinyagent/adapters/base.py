"""ToolCallingAdapter: how tools are offered to a model and how its calls are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from tinyagent.core.errors import ToolArgumentsError
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
            tools: the available tools.
            output_schema: JSON Schema of the answer, if it has a type.
            answer_only: whether to keep the model from calling tools in this request.
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
            MalformedReply: it is neither; the message is for the model.
        """
        ...

    def extract_answer(self, response: ModelResponse) -> str:
        """The text of a reply without calls; JSON if the answer is not text.

        Raises:
            MalformedReply: there is no answer.
        """
        ...

    def text_beside_calls(self, response: ModelResponse) -> str:
        """The text to remember for a reply with calls."""
        ...


class ValidatedAdapter:
    """Turns a call with wrong arguments into an error that the model can act on.

    The call gets a `fault` that names the field, what was expected and what was sent; the tool and
    its middleware never see wrong arguments.
    """

    def __init__(self, base: ToolCallingAdapter) -> None:
        self._base = base

    def format_request(
        self,
        tools: Sequence[ToolSpec],
        output_schema: Mapping[str, Any] | None = None,
        *,
        answer_only: bool = False,
    ) -> RequestFormat:
        """Like the wrapped adapter."""
        return self._base.format_request(tools, output_schema, answer_only=answer_only)

    def format_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Like the wrapped adapter."""
        return self._base.format_messages(messages)

    def extract_tool_calls(
        self, response: ModelResponse, tools: Sequence[ToolSpec]
    ) -> tuple[ToolCall, ...]:
        """The calls, each checked; raises like the wrapped adapter."""
        known = {tool.name: tool for tool in tools}
        calls = self._base.extract_tool_calls(response, tools)
        return tuple(_checked(call, known.get(call.name)) for call in calls)

    def extract_answer(self, response: ModelResponse) -> str:
        """Like the wrapped adapter."""
        return self._base.extract_answer(response)

    def text_beside_calls(self, response: ModelResponse) -> str:
        """Like the wrapped adapter."""
        return self._base.text_beside_calls(response)


def _checked(call: ToolCall, tool: ToolSpec | None) -> ToolCall:
    if tool is None or call.fault is not None:
        return call
    try:
        tool.validate(call.arguments)
    except ToolArgumentsError as error:
        return replace(call, fault=f"wrong arguments:\n{error}")
    return call
