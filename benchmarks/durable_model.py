"""The campaign's model: a chat completions server that derives its answer from the conversation.

It keeps nothing of a run, so a run that has lost or changed anything of its past shows it. Every
request is noted: which run, which turn of it, and which worker asked.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tinyagent.core.types import ModelResponse, RawToolCall
from tinyagent.testing.apis import completion_json

STEPS = 10
_TASK = re.compile(r"run=(\S+)")
# Every third step may be done again; the rest must not.
IDEMPOTENT = {step for step in range(1, STEPS) if step % 3 == 0}


@dataclass
class Asked:
    """One request."""

    run: str
    turn: int
    worker: str
    began: float
    ended: float | None = None


class CampaignModel:
    """Serves the model on a free port of an address.

    Args:
        seconds: how long an answer takes.
        spread: how much of that it may be more or less.
        host: the address to listen on.
    """

    def __init__(self, seconds: float, spread: float = 0.5, host: str = "127.0.0.1") -> None:
        self._seconds = (seconds * (1 - spread), seconds * (1 + spread))
        self._host = host
        self.asked: list[Asked] = []
        self.base_url = ""
        self._came = asyncio.Condition()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, 0).start()
        port = self._runner.addresses[0][1]
        self.base_url = f"http://{self._host}:{port}/v1"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._runner.cleanup()

    async def reached(self, requests: int) -> None:
        """Wait for this many requests."""
        async with self._came:
            await self._came.wait_for(lambda: len(self.asked) >= requests)

    async def _answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        messages = body["messages"]
        task = next(message["content"] for message in messages if message["role"] == "user")
        run = _TASK.findall(task)[0]
        turn = sum(message["role"] == "assistant" for message in messages)
        worker = request.headers["Authorization"].removeprefix("Bearer ")
        note = Asked(run, turn, worker, time.time())
        async with self._came:
            self.asked.append(note)
            self._came.notify_all()
        await asyncio.sleep(random.uniform(*self._seconds))  # noqa: S311 - not a secret
        reply = next_call(run, messages) if "tools" in body else next_block(run, messages)
        note.ended = time.time()
        return web.json_response(completion_json(reply))


def task_of(run: str) -> str:
    """The task of a run."""
    return f"Pay all steps and tell their sum: run={run}"


def next_call(run: str, messages: list[dict[str, Any]]) -> ModelResponse:
    """The next calls of a run that calls tools: one, and twice in a run two in parallel."""
    values, tried = _results(messages)
    missing = [step for step in range(1, STEPS) if step not in values]
    if not missing:
        return ModelResponse(str(sum(values.values())))
    wanted = missing[:2] if missing[0] in {4, 7} and not tried & set(missing) else missing[:1]
    return ModelResponse(None, tuple(_call(run, step, again=step in tried) for step in wanted))


def next_block(run: str, messages: list[dict[str, Any]]) -> ModelResponse:
    """The next block of a run that writes code; it keeps the sum in a variable."""
    step = sum(message["role"] == "assistant" for message in messages)
    if step == 0:
        code = "total = 0\nsteps = []"
    elif step < STEPS:
        code = _STEP.format(run=run, step=step, tool=_tool(step))
    else:
        code = f"assert steps == list(range(1, {STEPS})), steps\nfinal_answer(str(total))"
    return ModelResponse(f"```python\n{code}\n```")


_STEP = """\
try:
    amount = {tool}(run="{run}", step={step})
except Exception as error:
    print(error)
    amount = look_up(run="{run}", step={step})
total += int(amount)
steps.append({step})
print(total)"""


def _tool(step: int) -> str:
    return "look_up" if step in IDEMPOTENT else "deposit"


def _call(run: str, step: int, *, again: bool) -> RawToolCall:
    arguments = json.dumps({"run": run, "step": step})
    # A call that was skipped may have been made: its amount is looked up.
    name = "look_up" if again else _tool(step)
    return RawToolCall(f"{name}-{step}", name, arguments)


def _results(messages: list[dict[str, Any]]) -> tuple[dict[int, int], set[int]]:
    """The amounts in the conversation by step, and the steps that were tried."""
    calls = {
        call["id"]: json.loads(call["function"]["arguments"])["step"]
        for message in messages
        for call in message.get("tool_calls", ())
    }
    values = {
        calls[message["tool_call_id"]]: int(message["content"])
        for message in messages
        if message["role"] == "tool" and str(message["content"]).isdecimal()
    }
    return values, set(calls.values())
