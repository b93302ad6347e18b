"""smolagents: ToolCallingAgent, which is synchronous; its console log is off."""

from functools import cache

import floor
from smolagents import LogLevel, OpenAIModel, ToolCallingAgent, tool


@tool
def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first.
        b: the second.
    """
    return a + b


@cache
def agent(base_url: str, turns: int) -> ToolCallingAgent:
    """One agent for all runs."""
    model = OpenAIModel(f"turns-{turns}", api_base=base_url, api_key="x")
    return ToolCallingAgent(
        [add],
        model,
        instructions=floor.SYSTEM,
        max_steps=turns + 1,
        verbosity_level=LogLevel.OFF,
    )


def run_once(base_url: str, turns: int) -> object:
    """One run; gives its answer."""
    return agent(base_url, turns).run(floor.TASK)
