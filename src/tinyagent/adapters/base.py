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


class ValidatedAdapter:
    """Turns a call with wrong arguments into an error that the model can act on.

    The call keeps its place, with a `fault` that says field, what was expected, what came; the
    tool and the middleware before it never see wrong arguments.
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
        """As the wrapped adapter."""
        return self._base.format_request(tools, output_schema, answer_only=answer_only)

    def format_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """As the wrapped adapter."""
        return self._base.format_messages(messages)

    def extract_tool_calls(
        self, response: ModelResponse, tools: Sequence[ToolSpec]
    ) -> tuple[ToolCall, ...]:
        """The calls, each checked; raises as the wrapped adapter."""
        known = {tool.name: tool for tool in tools}
        calls = self._base.extract_tool_calls(response, tools)
        return tuple(_checked(call, known.get(call.name)) for call in calls)

    def extract_answer(self, response: ModelResponse) -> str:
        """As the wrapped adapter."""
        return self._base.extract_answer(response)

    def text_beside_calls(self, response: ModelResponse) -> str:
        """As the wrapped adapter."""
        return self._base.text_beside_calls(response)


def _checked(call: ToolCall, tool: ToolSpec | None) -> ToolCall:
    if tool is None or call.fault is not None:
        return call
    try:
        tool.validate(call.arguments)
    except ToolArgumentsError as error:
        return replace(call, fault=f"wrong arguments:\n{error}")
    return call
