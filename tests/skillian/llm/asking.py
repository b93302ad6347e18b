"""Asks the planner a question after the one before it, as a chat would."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

from tests.skillian.llm.domains import Asked, result_of

from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.planner import OfflinePlanner
from tinyagent import Memory
from tinyagent.core import ModelRequest, ModelResponse, ToolCall

TODAY = date(2030, 1, 1)
"""After all data: "last month" is before the last month of the data."""


async def ask(asked: Asked, vocabulary: Vocabulary) -> tuple[str, dict[str, Any], str]:
    """Return the planner's call, or "" with the text of its question back."""
    planner, memory = OfflinePlanner(vocabulary, TODAY), Memory()
    for number, question in enumerate(asked.after):
        memory.add("user", question)
        before = await planner.complete(ModelRequest(memory.messages))
        name, arguments, _ = _call_of(before)
        memory.add("assistant", "", tool_calls=[ToolCall(f"c{number}", name, arguments)])
        memory.add("tool", result_of(name, arguments), tool_call_id=f"c{number}")
        memory.add("assistant", "…")
    memory.add("user", asked.question)
    name, arguments, text = _call_of(await planner.complete(ModelRequest(memory.messages)))
    return name, {key: value for key, value in arguments.items() if key != "cache_key"}, text


def _call_of(response: ModelResponse) -> tuple[str, dict[str, Any], str]:
    if not response.tool_calls:
        return "", {}, response.content or ""
    call = response.tool_calls[0]
    return call.name, json.loads(call.arguments), ""
