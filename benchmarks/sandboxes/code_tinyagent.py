"""tinyagent's code agent: with all that it has on by default, and with other executors."""

from __future__ import annotations

from collections.abc import Callable

import floor
from code_agent_blocks import STEPS

from tinyagent import Executor, OpenAIModel, Sandbox, TinyCodeAgent, tool
from tinyagent.core import ModelRequest, ModelResponse
from tinyagent.execution import ProcessExecutor

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "isolated": ProcessExecutor,
    "no-checkpoints": lambda: ProcessExecutor(Sandbox(checkpoints=0)),
    "local": lambda: ProcessExecutor(Sandbox("local")),
}


class Recorder(OpenAIModel):
    """Keeps the requests of a run."""

    def __init__(self, base_url: str) -> None:
        super().__init__(f"code-{STEPS}", base_url=base_url, api_key="x")
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """As the client itself does."""
        self.requests.append(request)
        return await super().complete(request)


class Case:
    """One agent for all runs, each with its own session."""

    def __init__(self, base_url: str, executor: str) -> None:
        self._model = Recorder(base_url)
        self._agent = TinyCodeAgent(
            self._model, [tool(floor.add)], executor=EXECUTORS[executor], max_steps=STEPS + 1
        )

    async def run(self) -> object:
        """One run; gives its answer."""
        self._model.requests = []
        return (await self._agent.run(floor.TASK)).output

    async def ask(self) -> int:
        """The requests of the last run by the client alone; gives their number."""
        asked, self._model.requests = self._model.requests, []
        for request in asked:
            await self._model.complete(request)
        return len(asked)
