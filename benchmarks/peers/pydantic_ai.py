"""pydantic-ai: Agent over chat completions; instrumentation is off by default."""

from functools import cache

import floor
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


@cache
def agent(base_url: str, turns: int) -> Agent:
    """One agent for all runs."""
    provider = OpenAIProvider(base_url=base_url, api_key="x")
    model = OpenAIChatModel(f"turns-{turns}", provider=provider)
    return Agent(model, instructions=floor.SYSTEM, tools=[floor.add])


async def run_once(base_url: str, turns: int) -> object:
    """One run; gives its answer."""
    return (await agent(base_url, turns).run(floor.TASK)).output
