"""The floor: the smallest possible tool loop on the vendor's client.

It runs in the environments of other frameworks too, so it imports nothing of tinyagent.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from openai import AsyncOpenAI

SYSTEM = "You add numbers with the tool."
TASK = "Add them up."
ANSWER = "The sum is done."
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add two numbers.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
                "additionalProperties": False,
            },
        },
    }
]

Ask = Callable[[str, list[Any]], Awaitable[dict[str, Any]]]


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def tool_loop(ask: Ask, turns: int) -> str:
    """Ask and run the calls until there is an answer."""
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": TASK},
    ]
    while True:
        message = await ask(f"turns-{turns}", messages)
        calls = message.get("tool_calls") or []
        if not calls:
            return str(message["content"])
        messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        for call in calls:
            result = await add(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result)})


def with_client(client: AsyncOpenAI) -> Ask:
    """Ask through the vendor's client."""

    async def ask(model: str, messages: list[Any]) -> dict[str, Any]:
        reply = await client.chat.completions.create(model=model, messages=messages, tools=TOOLS)
        message: dict[str, Any] = reply.choices[0].message.model_dump()
        return message

    return ask
