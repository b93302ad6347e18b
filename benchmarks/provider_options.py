"""Every provider's models, each level of reasoning, both agents, each output mode: what is refused.

A cell is bad when a request was refused, reasoning was lost, or the answer is wrong. The tool takes
what schemas of Python types contain: documented models, alternatives, tuples and recursion.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from provider_cells import SECONDS, Route, run_of
from pydantic import BaseModel, Field

from tinyagent import Model, ReactAgent, Sandbox, TinyCodeAgent, tool
from tinyagent.core.types import ReasoningWish
from tinyagent.execution import Executor, ProcessExecutor
from tinyagent.models.provider import Provider
from tinyagent.models.providers import PROVIDERS
from tinyagent.testing import Call, Output, StrictServer

Kind = Literal["native", "structured", "parsed", "auto", "code"]
KINDS: tuple[Kind, ...] = ("native", "structured", "parsed", "auto", "code")
LEVELS: tuple[ReasoningWish | None, ...] = (None, "off", "low", "medium", "high", 4_096)
_STREAMED: tuple[ReasoningWish | None, ...] = (None, "high")
_AT_ONCE = 2
MODELS: dict[str, Sequence[str]] = {
    "openai": (
        *("gpt-4.1", "gpt-4o-mini", "o1", "o3", "o4-mini", "gpt-5", "gpt-5-mini", "gpt-5-codex"),
        *("gpt-5-pro", "gpt-5-chat-latest", "gpt-5.1", "gpt-5.1-codex-max", "gpt-5.2"),
        *(
            "gpt-5.2-pro",
            "gpt-5.2-chat-latest",
            "gpt-5.3-codex",
            "gpt-5.4",
            "gpt-5.5",
            "gpt-5.5-pro",
        ),
        "gpt-5.6-sol",
    ),
    "anthropic": (
        *("claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-5"),
        *("claude-sonnet-4-6", "claude-opus-4-7", "claude-opus-4-8"),
        *("claude-sonnet-5", "claude-opus-5", "claude-fable-5-1", "claude-mythos-5"),
        *("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"),
    ),
    "gemini": (
        *("gemini-2.0-flash", "gemini-2.5-pro", "gemini-2.5-flash"),
        *("gemini-3-pro-preview", "gemini-3-flash-preview"),
    ),
    "deepseek": ("deepseek-v4",),
    "kimi": (
        *("moonshot-v1-8k-vision-preview", "kimi-k2-0905-preview", "kimi-k2-thinking"),
        *("kimi-k2.5", "kimi-k2.6", "kimi-k2.7-code", "kimi-k3"),
    ),
    "mistral": ("mistral-large-latest", "mistral-medium-latest", "magistral-medium-latest"),
    "openrouter": (
        *("openai/gpt-5.5", "anthropic/claude-sonnet-5", "google/gemini-3-pro-preview"),
        *("deepseek/deepseek-v4", "qwen/qwen3-vl-8b-instruct"),
    ),
    "groq": (
        *("openai/gpt-oss-120b", "qwen/qwen3-32b", "llama-3.3-70b-versatile"),
        "meta-llama/llama-4-scout-17b-16e-instruct",
    ),
    "xai": ("grok-2-vision-1212", "grok-3-mini", "grok-4", "grok-4.3"),
    "minimax": ("MiniMax-M2",),
    "dashscope": ("qwen3-max", "qwen3-vl-plus"),
    "ollama": ("qwen3:8b", "llava:7b"),
    "vllm": ("Qwen/Qwen3-8B", "Qwen/Qwen3-VL-8B-Instruct"),
    "lmstudio": ("qwen3-8b", "qwen3-vl-8b"),
    "llamacpp": ("qwen3-8b", "llava-7b"),
    "compatible": ("qwen3-8b", "qwen3-vl-8b"),
}
"""Models of each strict server: at least one for each rule of a provider."""


class Part(BaseModel):
    """A thing that may hold others."""

    name: str = Field(description="What it is.", min_length=1)
    inner: list[Part] = Field(default=[], description="What is in it.")
    twin: Part | None = None


class Sum(BaseModel):
    """An answer with a type."""

    total: int = Field(ge=0)
    corner: tuple[int, int]
    why: str | None = None
    part: Part | None = Field(default=None, description="What was stored.")


@tool
def put(part: Part, corner: tuple[int, int], note: str | None = None) -> str:
    """Store a thing.

    Args:
        part: What to store.
        corner: Row and column.
        note: A remark.
    """
    return f"{part.name} is at {corner[0]}, {corner[1]}, {note or 'no note'}"


PUT = Call("put", {"part": {"name": "box", "inner": [{"name": "lid"}]}, "corner": [1, 2]})
SUM = Sum(total=3, corner=(1, 2))
ANSWER = "It is 3."


@dataclass(frozen=True)
class Cell:
    """One run of an agent with one model.

    Attributes:
        provider: the strict server.
        model: the model's name.
        kind: the agent and its output mode.
        reasoning: what the agent requests.
        typed: whether the answer has a type.
        streamed: whether the run is streamed.
        temperature: what the agent requests.
    """

    provider: str
    model: str
    kind: Kind
    reasoning: ReasoningWish | None = None
    typed: bool = False
    streamed: bool = False
    temperature: float | None = None

    def __str__(self) -> str:
        kind = f"{self.kind} typed" if self.typed else self.kind
        heat = "" if self.temperature is None else f", temperature {self.temperature}"
        way = "streamed" if self.streamed else "blocking"
        return f"{self.provider}:{self.model} / {kind} / reasoning {self.reasoning}{heat} / {way}"

    @property
    def profile(self) -> Provider | None:
        """What is known about the model; None for a server that is not recognized."""
        known = PROVIDERS.get(self.provider)
        return None if known is None else known.for_model(self.model)

    @property
    def route(self) -> Route:
        """The way to the model that its name selects."""
        if self.provider == "anthropic":
            return Route(self.provider, self.model, "messages")
        return Route(self.provider, self.model, self.profile.api if self.profile else "chat")

    def agent(self, model: Model, executor: Executor) -> ReactAgent[Any] | TinyCodeAgent[Any]:
        """The agent of this kind."""
        output: type[Any] | None = Sum if self.typed else None
        if self.kind == "code":
            return TinyCodeAgent(
                model, [put], output_type=output, executor=executor, reasoning=self.reasoning
            )
        return ReactAgent(
            model,
            [put],
            output_type=output,
            tool_calling_mode=self.kind,
            reasoning=self.reasoning,
            temperature=self.temperature,
        )

    def replies(self) -> list[Output]:
        """A call, then the answer, as a model of this kind writes them."""
        value: Any = SUM.model_dump() if self.typed else ANSWER
        if self.kind == "code":
            arguments = ", ".join(f"{name}={value!r}" for name, value in PUT.arguments.items())
            texts = [f"print({PUT.name}({arguments}))", f"final_answer({value!r})"]
            said = [Output(f"```python\n{text}\n```") for text in texts]
        elif self.kind in ("structured", "parsed"):
            actions = [{"tool": PUT.name, "arguments": PUT.arguments}, {"answer": value}]
            said = [Output(json.dumps({"scratchpad": "", **action})) for action in actions]
        else:
            said = [Output(calls=[PUT]), Output(json.dumps(value) if self.typed else value)]
        return [Output(each.text, reasoning="I think.", calls=each.calls) for each in said]


def cells(provider: str, model: str) -> Iterator[Cell]:
    """The cells of a model."""
    for kind, reasoning, typed in product(KINDS, LEVELS, (False, True)):
        for streamed in (False, True) if reasoning in _STREAMED else (False,):
            yield Cell(provider, model, kind, reasoning, typed, streamed)
    for reasoning in LEVELS:
        yield Cell(provider, model, "native", reasoning, temperature=0.0)


async def faults_of(cell: Cell, executor: Executor) -> list[str]:
    """What is wrong with a cell: nothing if it passes."""
    replies = cell.replies()
    async with (
        StrictServer(cell.provider, replies) as server,
        cell.route.connect(server.base_url) as model,
        asyncio.timeout(SECONDS),
    ):
        agent = cell.agent(model, executor)
        result = await run_of(agent, "Store the box.", streamed=cell.streamed)
    faults = [f"refused: {words}" for words in server.refusals]
    faults += [f"lost: {words}" for words in server.losses]
    if faults:
        return faults
    if result.error:
        return [f"failed: {result.error!r}"]
    if result.output != (SUM if cell.typed else ANSWER):
        return [f"answered {result.output!r}"]
    if len(server.requests) != len(replies):
        return [f"{len(server.requests)} requests, not {len(replies)}"]
    return []


async def matrix(names: Sequence[tuple[str, str]]) -> dict[Cell, list[str]]:
    """The faults of each cell of these models, each a provider and a name."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def judge(provider: str, model: str) -> dict[Cell, list[str]]:
        async with slots, ProcessExecutor(Sandbox("local")) as executor:
            return {cell: await judged(cell, executor) for cell in cells(provider, model)}

    faults: dict[Cell, list[str]] = {}
    for part in await asyncio.gather(*(judge(*name) for name in names)):
        faults |= part
    return faults


async def judged(cell: Cell, executor: Executor) -> list[str]:
    """The faults of a cell, whatever it raises."""
    try:
        return await faults_of(cell, executor)
    except Exception as error:  # noqa: BLE001 - one cell must not end the others
        return [repr(error)]


def all_models() -> list[tuple[str, str]]:
    """Each provider with each of its models."""
    return [(provider, model) for provider, models in MODELS.items() for model in models]


def print_options(names: Sequence[tuple[str, str]]) -> bool:
    """Print how many cells of each provider pass, and what is wrong; whether nothing is."""
    faults = asyncio.run(matrix(names))
    print("| provider |", " | ".join(f"reasoning {level}" for level in LEVELS), "|")
    print("|---" * (len(LEVELS) + 1) + "|")
    for provider in dict.fromkeys(provider for provider, _ in names):
        own = {cell: words for cell, words in faults.items() if cell.provider == provider}
        columns = [[bad for c, bad in own.items() if c.reasoning == level] for level in LEVELS]
        texts = [f"{sum(not bad for bad in column)}/{len(column)}" for column in columns]
        print("|", " | ".join([provider, *texts]), "|")
    bad: dict[tuple[str, str], list[Cell]] = {}
    for cell, words in faults.items():
        if words:
            bad.setdefault((cell.provider, words[0][:200].strip()), []).append(cell)
    for (_, fault), group in bad.items():
        models = ", ".join(dict.fromkeys(cell.model for cell in group))
        print(f"\nBAD: {len(group)} cells, such as {group[0]} ({models}): {fault}")
    count = sum(map(len, bad.values()))
    print(f"\n{count} of {len(faults)} cells are bad.")
    return not count


if __name__ == "__main__":
    # all models, or those that are named, as provider:model
    parts = [name.partition(":") for name in sys.argv[1:]]
    sys.exit(not print_options([(part[0], part[2]) for part in parts] or all_models()))
