"""OpenAIStructuredAdapter: for models whose server can hold them to a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tinyagent.adapters.actions import (
    WANTED,
    WANTED_ANSWER,
    action_schema,
    answer_text,
    as_plain_messages,
    describe_tools,
    read_action,
)
from tinyagent.adapters.arguments import with_own_ids
from tinyagent.adapters.json_text import find_object
from tinyagent.core.errors import MalformedReply
from tinyagent.core.json_shape import as_object
from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.types import ModelResponse, RequestFormat, ToolSpec


class OpenAIStructuredAdapter:
    """Sends `response_format` with a schema that admits only the given tools and an answer."""

    def format_request(
        self,
        tools: Sequence[ToolSpec],
        output_schema: Mapping[str, Any] | None = None,
        *,
        answer_only: bool = False,
    ) -> RequestFormat:
        """The schema for the server, the tools in words for the model."""
        admitted = () if answer_only else tools
        schema = action_schema(admitted, output_schema)
        return RequestFormat(
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "action", "schema": schema},
            },
            instructions=f"{describe_tools(admitted)}\n\n{WANTED if admitted else WANTED_ANSWER}",
        )

    def format_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Calls as JSON texts, results as user messages."""
        return as_plain_messages(messages)

    def extract_tool_calls(
        self, response: ModelResponse, tools: Sequence[ToolSpec]
    ) -> tuple[ToolCall, ...]:
        """The call, if the action is one.

        Raises:
            MalformedReply: the text is no action.
        """
        del tools
        call = read_action(_action(response))
        return () if call is None else with_own_ids([call])

    def extract_answer(self, response: ModelResponse) -> str:
        """The action's answer; raises `MalformedReply` where it is empty."""
        return answer_text(_action(response))

    def text_beside_calls(self, response: ModelResponse) -> str:
        """The text: here it is the action itself."""
        return response.content or ""


def _action(response: ModelResponse) -> Mapping[str, Any]:
    """The action in the text of a reply; strict JSON, fences and words around it aside."""
    text = response.content or ""
    found = find_object(text)
    if found is not None:
        inner = as_object(found.get("action")) if len(found) == 1 else None
        return found if inner is None else inner  # some servers want an object around the action
    if response.tool_calls:  # some servers find calls in the text and take them out of it
        call = response.tool_calls[0]
        return {"tool": call.name, "arguments": call.arguments}
    if not text.strip():
        raise MalformedReply(f"Your reply was empty. {WANTED}")
    cut = " It looks cut off." if response.finish_reason == "length" else ""
    raise MalformedReply(f"Your reply holds no readable JSON object.{cut} {WANTED}")
