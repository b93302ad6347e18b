"""What tinyagent costs beside the same loop on the vendor's client and on the bare HTTP library."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
from openai import AsyncOpenAI
from pairs import Loop, measure

from tinyagent import OpenAIModel, ReactAgent, TextDelta, tool

SYSTEM = "You add numbers with the tool."
TASK = "Add them up."


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": add.name,
            "description": add.description,
            "parameters": dict(add.json_schema),
        },
    }
]

Ask = Callable[[str, list[Any]], Awaitable[dict[str, Any]]]


async def tool_loop(ask: Ask, turns: int) -> str:
    """The plain loop: ask, run the calls, go on until there is an answer."""
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
            result = await add.fn(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result)})


def with_client(client: AsyncOpenAI) -> Ask:
    """Ask through the vendor's client."""

    async def ask(model: str, messages: list[Any]) -> dict[str, Any]:
        reply = await client.chat.completions.create(model=model, messages=messages, tools=TOOLS)
        message: dict[str, Any] = reply.choices[0].message.model_dump()
        return message

    return ask


def with_http(session: aiohttp.ClientSession, base_url: str) -> Ask:
    """Ask through the bare HTTP library: the least that a client can cost."""

    async def ask(model: str, messages: list[Any]) -> dict[str, Any]:
        body = json.dumps({"model": model, "messages": messages, "tools": TOOLS}).encode()
        headers = {"Content-Type": "application/json", "Authorization": "Bearer x"}
        url = f"{base_url}/chat/completions"
        async with session.post(url, data=body, headers=headers) as reply:
            message: dict[str, Any] = (await reply.json())["choices"][0]["message"]
            return message

    return ask


def with_agent(base_url: str, turns: int) -> Loop:
    """The same turns by a `ReactAgent` with all that it has on by default."""
    model = OpenAIModel(f"turns-{turns}", base_url=base_url, api_key="x")
    agent = ReactAgent(model, [add], max_steps=turns + 1)

    async def loop() -> object:
        result = await agent.run(TASK)
        if result.steps_taken != turns + 1:
            raise RuntimeError(f"{result.steps_taken} steps, not {turns + 1}")
        return result

    return loop


async def tool_turns(base_url: str, turns: int, pairs: int) -> list[dict[str, Any]]:
    """`turns` tool turns: tinyagent and bare HTTP, each beside the vendor's client."""
    repeats = max(1, 20 // turns)
    async with (
        AsyncOpenAI(base_url=base_url, api_key="x") as client,
        aiohttp.ClientSession() as session,
    ):
        vendor, http = with_client(client), with_http(session, base_url)
        rows: list[dict[str, Any]] = []
        for name, ours, target in (
            ("tinyagent", with_agent(base_url, turns), {10: 0.35, 50: 0.15}[turns]),
            ("bare aiohttp", lambda: tool_loop(http, turns), None),
        ):
            pair = await measure(
                ours, lambda: tool_loop(vendor, turns), pairs=pairs, repeats=repeats
            )
            rows.append(
                {
                    "case": f"{turns} tool turns, {name}",
                    "figure": f"{pair.ours_ms:.1f} ms",
                    "floor": f"{pair.floor_ms:.1f} ms",
                    "value": pair.ratio,
                    "shown": f"{pair.ratio:.3f} ({pair.spread})",
                    "target": target,
                }
            )
        return rows


async def deltas(base_url: str, count: int, pairs: int) -> list[dict[str, Any]]:
    """CPU microseconds a streamed text delta, through `agent.stream` and the vendor's stream."""
    model = OpenAIModel(f"deltas-{count}", base_url=base_url, api_key="x")
    agent = ReactAgent(model)
    async with AsyncOpenAI(base_url=base_url, api_key="x") as client:

        async def ours() -> object:
            seen = 0
            async for event in agent.stream(TASK):
                seen += isinstance(event, TextDelta)
            if seen != count:
                raise RuntimeError(f"{seen} deltas, not {count}")
            return seen

        async def vendor() -> object:
            stream: Any = await client.chat.completions.create(
                model=f"deltas-{count}",
                messages=[{"role": "user", "content": TASK}],
                stream=True,
            )
            return [c.choices[0].delta.content async for c in stream if c.choices]

        pair = await measure(ours, vendor, pairs=pairs, repeats=5)
    ours_us, vendor_us = pair.ours_ms * 1000 / count, pair.floor_ms * 1000 / count
    return [
        {
            "case": "one streamed delta (all of the run counted in)",
            "figure": f"{ours_us:.0f} us",
            "floor": f"{vendor_us:.0f} us",
            "value": ours_us,
            "shown": f"{ours_us:.0f} us (ratio {pair.ratio:.3f})",
            "target": 60,
        }
    ]
