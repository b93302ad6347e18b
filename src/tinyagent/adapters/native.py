"""NativeToolAdapter: for models with function calling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tinyagent.adapters.arguments import read_call, with_own_ids
from tinyagent.adapters.text_calls import find_text_calls, without_text_calls
from tinyagent.core.errors import MalformedReply
from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.types import ModelResponse, RawToolCall, RequestFormat, ToolSpec


class NativeToolAdapter:
    """Declares the tools as functions; several calls in one answer are run side by side."""

    def format_request(
        self,
        tools: Sequence[ToolSpec],
        output_schema: Mapping[str, Any] | None = None,
        *,
        answer_only: bool = False,
    ) -> RequestFormat:
        """The tools as function declarations of chat completions; a schema is only described."""
        del output_schema
        return RequestFormat(
            tool_choice="none" if answer_only and tools else None,
            tools=tuple(
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.json_schema,
                    },
                }
                for tool in tools
            ),
        )

    def format_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages as they are."""
        return messages

    def extract_tool_calls(
        self, response: ModelResponse, tools: Sequence[ToolSpec]
    ) -> tuple[ToolCall, ...]:
        """The calls of the answer, or those written into its text.

        Raises:
            MalformedReply: the answer is empty, or its text holds an unreadable call.
        """
        if response.tool_calls:
            return with_own_ids(map(_read, response.tool_calls))
        text = response.content or ""
        if not text.strip():
            wish = "Call a tool or give your answer" if tools else "Give your answer"
            raise MalformedReply(f"Your reply was empty. {wish}.")
        return with_own_ids(find_text_calls(text, {tool.name for tool in tools}))

    def extract_answer(self, response: ModelResponse) -> str:
        """The text."""
        return response.content or ""

    def text_beside_calls(self, response: ModelResponse) -> str:
        """The text, without the calls that were written into it: they are remembered as calls."""
        text = response.content or ""
        return text if response.tool_calls else without_text_calls(text)


def _read(call: RawToolCall) -> ToolCall:
    read = read_call(call.id, call.name, call.arguments)
    return read if call.opaque is None else replace(read, opaque=call.opaque)
