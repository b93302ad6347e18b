"""agno: Agent over chat completions, telemetry off."""

from functools import cache

import floor
from agno.agent import Agent
from agno.models.openai import OpenAILike


@cache
def agent(base_url: str, turns: int) -> Agent:
    """One agent for all runs."""
    model = OpenAILike(id=f"turns-{turns}", base_url=base_url, api_key="x")
    return Agent(model=model, instructions=floor.SYSTEM, tools=[floor.add], telemetry=False)


async def run_once(base_url: str, turns: int) -> object:
    """One run; gives its answer."""
    return (await agent(base_url, turns).arun(floor.TASK)).content
