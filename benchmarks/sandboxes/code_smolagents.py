"""smolagents' code agent, which is synchronous; its console log is off."""

from __future__ import annotations

from typing import Any

from code_agent_blocks import STEPS
from floor import TASK
from smolagents import CodeAgent, LogLevel, OpenAIModel, tool


@tool
def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first.
        b: the second.
    """
    return a + b


class Recorder(OpenAIModel):
    """Keeps the requests of a run."""

    def __init__(self, base_url: str) -> None:
        super().__init__(f"code-{STEPS}", api_base=base_url, api_key="x")
        self.requests: list[Any] = []

    def generate(self, messages: Any, **options: Any) -> Any:
        """As the client itself does."""
        self.requests.append((messages, options))
        return super().generate(messages, **options)


class Case:
    """One agent for all runs; its executor is in the same process."""

    def __init__(self, base_url: str, executor: str) -> None:
        self._model = Recorder(base_url)
        self._agent = CodeAgent(
            [add],
            self._model,
            executor_type=executor,
            max_steps=STEPS + 1,
            verbosity_level=LogLevel.OFF,
        )

    async def run(self) -> object:
        """One run; gives its answer."""
        self._model.requests = []
        return self._agent.run(TASK)

    async def ask(self) -> int:
        """The requests of the last run by the client alone; gives their number."""
        asked, self._model.requests = self._model.requests, []
        for messages, options in asked:
            self._model.generate(messages, **options)
        return len(asked)
