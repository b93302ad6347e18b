"""The cost of tinyagent compared with the same loop on the vendor's client and on bare HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import floor
from floor import TASK, TOOLS, Ask, tool_loop, with_client
from openai import AsyncOpenAI
from pairs import Loop, Row, measure, ratio_row

from tinyagent import Middleware, OpenAIModel, ReactAgent, TextDelta, tool
from tinyagent.provenance import Provenance, Sink

add = tool(floor.add)


def with_http(session: aiohttp.ClientSession, base_url: str) -> Ask:
    """Ask through the bare HTTP library: the lowest cost of a client."""

    async def ask(model: str, messages: list[Any]) -> dict[str, Any]:
        body = json.dumps({"model": model, "messages": messages, "tools": TOOLS}).encode()
        headers = {"Content-Type": "application/json", "Authorization": "Bearer x"}
        url = f"{base_url}/chat/completions"
        async with session.post(url, data=body, headers=headers) as reply:
            message: dict[str, Any] = (await reply.json())["choices"][0]["message"]
            return message

    return ask


def with_agent(base_url: str, turns: int, *layers: Middleware) -> Loop:
    """The same turns by a `ReactAgent` with its defaults, and perhaps more middleware."""
    model = OpenAIModel(f"turns-{turns}", base_url=base_url, api_key="x")
    agent = ReactAgent(model, [add], max_steps=turns + 1, middleware=layers)

    async def loop() -> object:
        result = await agent.run(TASK)
        if result.steps_taken != turns + 1:
            raise RuntimeError(f"{result.steps_taken} steps, not {turns + 1}")
        return result

    return loop


def many(loop: Loop, runs: int) -> Loop:
    """`runs` of the loop at once, in one event loop."""

    async def together() -> object:
        return await asyncio.gather(*(loop() for _ in range(runs)))

    return together


async def tool_turns(base_url: str, turns: int, pairs: int, target: float) -> list[Row]:
    """`turns` tool turns: tinyagent and bare HTTP, each compared with the vendor's client."""
    repeats = max(1, 20 // turns)
    async with (
        AsyncOpenAI(base_url=base_url, api_key="x") as client,
        aiohttp.ClientSession() as session,
    ):
        vendor, http = with_client(client), with_http(session, base_url)
        rows: list[Row] = []
        for name, ours, goal in (
            ("tinyagent", with_agent(base_url, turns), target),
            ("bare aiohttp", lambda: tool_loop(http, turns), None),
        ):
            pair = await measure(
                ours, lambda: tool_loop(vendor, turns), pairs=pairs, repeats=repeats
            )
            rows.append(ratio_row(f"{turns} tool turns, {name}", pair, goal))
        return rows


async def labelled_turns(base_url: str, turns: int, pairs: int, target: float) -> list[Row]:
    """`turns` tool turns with a policy that checks each call, compared with none."""
    guard = Provenance(sinks={"add": Sink(a="readable", b="readable")})
    plain = with_agent(base_url, turns)
    pair = await measure(with_agent(base_url, turns, guard), plain, pairs=pairs, repeats=5)
    return [ratio_row(f"{turns} tool turns with a policy, compared with none", pair, target)]


async def side_by_side(
    base_url: str, runs: int, turns: int, pairs: int, target: float
) -> list[Row]:
    """`runs` concurrent runs of `turns` tool turns, by one agent and on one vendor's client."""
    async with AsyncOpenAI(base_url=base_url, api_key="x") as client:
        vendor = with_client(client)
        pair = await measure(
            many(with_agent(base_url, turns), runs),
            many(lambda: tool_loop(vendor, turns), runs),
            pairs=pairs,
            repeats=1,
        )
    return [ratio_row(f"{runs} runs at once of {turns} tool turns, tinyagent", pair, target)]


async def deltas(base_url: str, count: int, pairs: int, target: float) -> list[Row]:
    """CPU microseconds for each streamed text delta, by `agent.stream` and the vendor's stream."""
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
    shown = f"{pair.ratio:.3f} ({pair.spread})"
    name = "one streamed delta (all of the run counted in)"
    goal = f"<= {target:g} us"
    return [Row(name, f"{ours_us:.0f} us", f"{vendor_us:.0f} us", shown, goal, ours_us <= target)]
