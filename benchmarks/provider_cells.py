"""One cell of the matrix of providers: an agent's runs against a strict server, and their faults.

A cell is a route to a provider's model, a kind of agent, a way of running it and a case. It passes
if the answers are right, every request was accepted at once and no reasoning was lost.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

from provider_durable import killed_and_resumed

from tinyagent import (
    AnthropicModel,
    Image,
    Model,
    OpenAIModel,
    ReactAgent,
    RunFinished,
    RunResult,
    Sandbox,
    TinyCodeAgent,
    TrustLevel,
    tool,
)
from tinyagent.durable import RunRecord
from tinyagent.memory import keep_last_n_steps
from tinyagent.models import OpenAIResponsesModel, RecordedModel
from tinyagent.models.providers import PROVIDERS
from tinyagent.testing import Call, Output, StrictServer

Kind = Literal["native", "structured", "parsed", "code"]
Agent = ReactAgent[Any] | TinyCodeAgent[Any]
KINDS: tuple[Kind, ...] = ("native", "structured", "parsed", "code")
WAYS = ("blocking", "streamed")
SECONDS = 60


@dataclass(frozen=True)
class Route:
    """A way to a provider's models.

    Attributes:
        provider: the strict server.
        model: its name, which selects the rules of the model.
        api: the API that the model class speaks.
        reasoning: the model's setting for reasoning.
    """

    provider: str
    model: str
    api: Literal["chat", "responses", "messages"] = "chat"
    reasoning: Literal["low"] | None = None

    @asynccontextmanager
    async def connect(self, base_url: str) -> AsyncGenerator[Model]:
        """The model behind a server."""
        if self.api == "messages":
            with patch.dict(os.environ, ANTHROPIC_BASE_URL=base_url):
                claude = AnthropicModel(self.model, api_key="k", reasoning=self.reasoning)
            yield claude
            return
        made = OpenAIResponsesModel if self.api == "responses" else OpenAIModel
        yield made(
            self.model,
            base_url=base_url,
            api_key="k",
            provider=self.provider if self.provider in PROVIDERS else None,
            reasoning=self.reasoning,
        )


ROUTES: dict[str, Route] = {
    "OpenAI chat": Route("openai", "gpt-4.1"),
    "OpenAI chat, reasoning": Route("openai", "o3"),
    "OpenAI Responses": Route("openai", "gpt-5.5", "responses"),
    "Anthropic": Route("anthropic", "claude-sonnet-5-5", "messages"),
    "Anthropic, budget": Route("anthropic", "claude-opus-4-5", "messages", "low"),
    "Gemini": Route("gemini", "gemini-3-pro-preview"),
    "DeepSeek": Route("deepseek", "deepseek-v4"),
    "Kimi": Route("kimi", "kimi-k2.6"),
    "Mistral": Route("mistral", "magistral-medium-latest"),
    "OpenRouter": Route("openrouter", "google/gemini-3-pro-preview"),
    "xAI": Route("xai", "grok-3-mini"),
    "MiniMax": Route("minimax", "MiniMax-M2"),
    "DashScope": Route("dashscope", "qwen3-max"),
    "vLLM": Route("vllm", "Qwen/Qwen3-8B"),
    "Ollama": Route("ollama", "qwen3:8b"),
    "Groq": Route("groq", "openai/gpt-oss-120b"),
}

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
ANSWER = "It is 3."
ADD = Call("add", {"a": 1, "b": 2})
DRAW = Call("draw")


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def draw() -> Image:
    """Draw a dot."""
    return Image(DOT)


@dataclass(frozen=True)
class Cell:
    """A position in the matrix."""

    route: str
    kind: Kind
    streamed: bool
    case: str

    def __str__(self) -> str:
        way = "streamed" if self.streamed else "blocking"
        return f"{self.route} / {self.kind} / {way} / {self.case}"

    @property
    def impossible(self) -> str:
        """Why there is no such run; empty if there is one."""
        if self.case == "parallel calls" and self.kind in ("structured", "parsed"):
            return "one call a reply in this mode"
        if self.case == "interleaved" and self.kind in ("structured", "parsed"):
            return "a reply is one JSON text in this mode"
        return ""

    def connect(self, base_url: str) -> AbstractAsyncContextManager[Model]:
        """The model behind a server."""
        return ROUTES[self.route].connect(base_url)

    def agent(self, model: Model) -> Agent:
        """The agent of this kind."""
        if self.kind == "code":
            return TinyCodeAgent(model, [add, draw], sandbox=Sandbox(level=TrustLevel.LOCAL))
        return ReactAgent(model, [add, draw], tool_calling_mode=self.kind)

    def says(self, *calls: Call) -> Output:
        """The model's output for these calls; without calls, its answer."""
        thought = f"I think of {', '.join(call.name for call in calls) or 'the answer'}."
        if self.kind == "native":
            return Output(None if calls else ANSWER, reasoning=thought, calls=calls)
        if self.kind == "code":
            lines = [f"print({_python(call)})" for call in calls]
            code = "\n".join(lines) or f"final_answer({ANSWER!r})"
            return Output(f"I run this.\n\n```python\n{code}\n```", reasoning=thought)
        action: dict[str, Any] = {"scratchpad": "Well."}
        for call in calls:
            action |= {"tool": call.name, "arguments": dict(call.arguments)}
        return Output(
            json.dumps(action if calls else {**action, "answer": ANSWER}), reasoning=thought
        )

    def interleaves(self, *calls: Call) -> Output:
        """Like `says`, with a thought before each call (native) or piece of text (code)."""
        if self.kind == "native":
            reply = None
            for call in reversed(calls):
                reply = replace(self.says(call), then=reply)
            return reply or self.says()
        words = Output("First I think.\n\n", reasoning="I think of what to run.")
        return replace(words, then=self.says(*calls))

    async def run(self, model: Model, task: Any, memory: Any = None) -> RunResult[Any]:
        """The result of one run, even if it failed."""
        return await run_of(self.agent(model), task, memory, streamed=self.streamed)


async def run_of(
    agent: Any, task: Any, memory: Any = None, *, streamed: bool = False
) -> RunResult[Any]:
    """The result of one run of an agent, even if it failed."""
    if not streamed:
        result: RunResult[Any] = await agent.run(task, memory=memory, return_result=True)
        return result
    ends: list[RunResult[Any]] = []
    async with aclosing(agent.stream(task, memory=memory)) as events:
        async for event in events:
            ends += [event.result] if isinstance(event, RunFinished) else []
    return ends[0]


def _python(call: Call) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
    return f"{call.name}({arguments})"


Outcome = RunResult[Any] | RunRecord
Play = Callable[[Cell, Model], Awaitable[Sequence[Outcome]]]


async def _plain(cell: Cell, model: Model) -> list[RunResult[Any]]:
    return [await cell.run(model, "1 + 2?")]


async def _round_trip(cell: Cell, model: Model) -> list[RunResult[Any]]:
    first = await cell.run(model, "1 + 2?")
    kind = type(first.memory)
    memory = kind.from_list(json.loads(json.dumps(first.memory.to_list())))
    return [first, await cell.run(model, "And again?", memory)]


async def _pruned(cell: Cell, model: Model) -> list[RunResult[Any]]:
    first = await cell.run(model, "1 + 2?")
    memory = first.memory.copy()
    if memory.prune(keep_last_n_steps(1)) <= 0:
        raise RuntimeError("nothing was pruned")
    return [first, await cell.run(model, "And again?", memory)]


async def _replayed(cell: Cell, model: Model) -> list[RunResult[Any]]:
    """A recorded run, its replay, and a run that continues from the memory of the replay."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording.json"
        first = await cell.run(RecordedModel(path, model, mode="record"), "1 + 2?")
        again = await cell.run(RecordedModel(path, mode="replay"), "1 + 2?")
    return [first, again, await cell.run(model, "And again?", again.memory)]


async def _shown(cell: Cell, model: Model) -> list[RunResult[Any]]:
    return [await cell.run(model, ["What is this?", Image(DOT)])]


@dataclass(frozen=True)
class Case:
    """The course of a run.

    Attributes:
        play: the runs; None for a durable run that is killed.
        script: the calls of each reply, in the order of the requests.
        images: how many the last request holds.
        interleaved: the model thinks between its calls.
    """

    play: Play | None
    script: Sequence[Sequence[Call]]
    images: int = 0
    interleaved: bool = False


CASES: dict[str, Case] = {
    "plain": Case(_plain, [[ADD], [ADD], []]),
    "parallel calls": Case(_plain, [[ADD, ADD], []]),
    "interleaved": Case(_round_trip, [[ADD, ADD], [], [ADD, ADD], []], interleaved=True),
    "JSON round trip": Case(_round_trip, [[ADD], [], [ADD], []]),
    "pruned": Case(_pruned, [[ADD], [ADD], [], [ADD], []]),
    "replayed": Case(_replayed, [[ADD], [], [ADD], []]),
    "killed and resumed": Case(None, [[ADD], [ADD], []]),
    "image in": Case(_shown, [[ADD], []], images=1),
    "image out of a tool": Case(_plain, [[DRAW], []], images=1),
}


async def play(cell: Cell) -> tuple[str, list[dict[str, Any]]]:
    """The faults of a cell (empty if it passes), and the requests that were made."""
    route, case = ROUTES[cell.route], CASES[cell.case]
    says = cell.interleaves if case.interleaved else cell.says
    script = [says(*calls) for calls in case.script]
    async with StrictServer(route.provider, script) as server, asyncio.timeout(SECONDS):
        results: Sequence[Outcome]
        if case.play is None:
            results = [await killed_and_resumed(cell, server.base_url)]
        else:
            async with cell.connect(server.base_url) as model:
                results = await case.play(cell, model)
    faults = [f"refused: {words}" for words in server.refusals]
    faults += [f"lost: {words}" for words in server.losses]
    faults += [f"failed: {result.error!r}" for result in results if result.error]
    faults += [f"answered {r.output!r}" for r in results if r.output != ANSWER and not r.error]
    if len(server.requests) != len(script):
        faults.append(f"{len(server.requests)} requests, not {len(script)}")
    if [each.data for each in server.attachments] != [DOT] * case.images:
        faults.append(f"{len(server.attachments)} images arrived, not {case.images}")
    return "; ".join(faults), server.requests
