"""Each request begins with the one before it, so that providers' prompt caches work."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import pairwise
from typing import Any

import pytest
from provider_cells import ADD, ANSWER, ROUTES, Cell, Kind, add

from tinyagent import Model, ReactAgent, TinyCodeAgent
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse
from tinyagent.testing import Call, StrictServer

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


async def ask(cell: Cell, agent_of: Any) -> list[ModelResponse]:
    script = [cell.says(Call("add", {"a": number, "b": 2})) for number in range(STEPS)] + [
        cell.says()
    ]
    async with (
        StrictServer(ROUTES[cell.route].provider, script) as server,
        cell.connect(server.base_url) as model,
    ):
        watched = Watched(model)
        result = await agent_of(watched).run("1 + 2?")
    assert result.output == ANSWER
    assert server.refusals == []
    assert len(watched.responses) == STEPS + 1
    return watched.responses


@pytest.mark.parametrize("kind", ["native", "structured", "code"])
@pytest.mark.parametrize("route", ROUTES)
async def test_a_prompt_is_the_beginning_of_the_next(route: str, kind: Kind) -> None:
    def agent_of(model: Model) -> Any:
        if kind == "code":
            return TinyCodeAgent(model, [add], trust_level="local", system_suffix=LONG)
        return ReactAgent(model, [add], tool_calling_mode=kind, system_suffix=LONG)

    found = shares(await ask(Cell(route, kind, streamed=False, case="plain"), agent_of))
    assert min(found) >= LEAST


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
        agent = ReactAgent(changing, [add], tool_calling_mode="native", system_suffix=LONG)
        await agent.run("1 + 2?")
    assert max(shares(changing.responses)) < 0.5
