"""Each request begins with the one before it, so that providers' prompt caches work."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import pairwise
from typing import Any

import pytest
from provider_cells import ADD, ANSWER, ROUTES, Cell, Kind, add

from tinyagent import Model, ReactAgent, Sandbox, TinyCodeAgent
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse
from tinyagent.testing import Call, Output, StrictServer

LONG = "Think of what has been said so far, and of what it means. " * 200  # caches have a minimum
STEPS = 6
LEAST = 0.97


class Watched:
    """A model whose answers are kept."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.name = model.name
        self.responses: list[ModelResponse] = []

    async def complete(self, request: ModelRequest) -> ModelResponse:
        self.responses.append(await self._model.complete(request))
        return self.responses[-1]

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        async with aclosing(self._model.stream(request)) as items:
            async for item in items:
                if isinstance(item, ModelResponse):
                    self.responses.append(item)
                yield item


def shares(responses: list[ModelResponse]) -> list[float]:
    """How much of each prompt was the beginning of the next, as the server counts it."""
    used = [response.usage for response in responses]
    return [after.cached_tokens / before.input_tokens for before, after in pairwise(used)]


def conversation(body: dict[str, Any]) -> bytes:
    """What was said in a request, without the system prompt and without marks for the cache."""
    said = [each for each in body.get("messages") or body["input"] if each.get("role") != "system"]

    def unmarked(value: Any) -> Any:
        if isinstance(value, list):
            return [unmarked(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {key: unmarked(item) for key, item in value.items() if key != "cache_control"}

    return json.dumps(unmarked(said))[:-1].encode()


def kept(before: bytes, after: bytes) -> float:
    """How much of a conversation is the beginning of the next."""
    pairs = enumerate(zip(before, after, strict=False))
    same = next((index for index, (old, new) in pairs if old != new), min(len(before), len(after)))
    return same / len(before)


def noted(kind: Kind, number: int) -> Output:
    """A step that takes notes, as far as an agent of this kind can."""
    call = Call("add", {"a": number, "b": 2})
    if kind != "code":
        action = {"scratchpad": f"Note {number}.", "tool": "add", "arguments": call.arguments}
        if kind == "structured":
            return Output(json.dumps(action), reasoning="I think.")
        return Output(f"Note {number}.", reasoning="I think.", calls=[call])
    lines = [f"store('sum{number}', add({number}, 2))", f"observe('number {number} is done')"]
    lines += ["fail('that did not help')"] if number % 2 else []
    return Output("```python\n{}\n```".format("\n".join(lines)), reasoning="I think.")


@pytest.mark.parametrize("kind", ["native", "structured", "code"])
@pytest.mark.parametrize("route", ROUTES)
async def test_a_prompt_is_the_beginning_of_the_next(route: str, kind: Kind) -> None:
    cell = Cell(route, kind, streamed=False, case="plain")
    script = [*(noted(kind, number) for number in range(STEPS)), cell.says()]
    async with (
        StrictServer(ROUTES[route].provider, script) as server,
        cell.connect(server.base_url) as model,
    ):
        watched = Watched(model)
        agent: Any = (
            TinyCodeAgent(watched, [add], sandbox=Sandbox(level="local"), instructions=LONG)
            if kind == "code"
            else ReactAgent(watched, [add], tool_calling_mode=kind, instructions=LONG)
        )
        result = await agent.run("1 + 2?")
    assert result.output == ANSWER
    assert server.refusals == []
    said = [conversation(body) for body in server.requests]
    assert len(said) == len(watched.responses) == STEPS + 1
    assert min(shares(watched.responses)) >= LEAST
    assert min(kept(before, after) for before, after in pairwise(said)) >= LEAST


def test_a_note_that_is_not_sent_again_is_seen() -> None:
    def request(*texts: str) -> bytes:
        return conversation({"messages": [{"role": "user", "content": text} for text in texts]})

    assert kept(request("a", "b"), request("a", "b", "c")) == 1
    assert kept(request("a", "b\n\nNotes: x = 1"), request("a", "b", "c")) < LEAST


async def test_a_system_prompt_that_changes_is_seen_in_the_servers_count() -> None:
    changes = iter(range(100))

    class Changing(Watched):
        async def complete(self, request: ModelRequest) -> ModelResponse:
            first, *rest = request.messages
            changed = first.with_text(lambda text: f"{next(changes)} {text}")
            request = ModelRequest((changed, *rest), request.format)
            return await super().complete(request)

    cell = Cell("OpenAI chat", "native", streamed=False, case="plain")
    script = [cell.says(ADD), cell.says()]
    async with (
        StrictServer("openai", script) as server,
        cell.connect(server.base_url) as model,
    ):
        changing = Changing(model)
        agent = ReactAgent(changing, [add], tool_calling_mode="native", instructions=LONG)
        await agent.run("1 + 2?")
    assert max(shares(changing.responses)) < 0.5
