"""ParsedAdapter: for anything that writes text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tinyagent.adapters.structured import OpenAIStructuredAdapter
from tinyagent.core.types import RequestFormat, ToolSpec


class ParsedAdapter(OpenAIStructuredAdapter):
    """Asks for the JSON form in the prompt only, and reads it however it comes."""

    def format_request(
        self,
        tools: Sequence[ToolSpec],
        output_schema: Mapping[str, Any] | None = None,
        *,
        answer_only: bool = False,
    ) -> RequestFormat:
        """The tools and the form, in words."""
        structured = super().format_request(tools, output_schema, answer_only=answer_only)
        return RequestFormat(instructions=structured.instructions)
