"""tinyagent itself, by the same script as its peers."""

from functools import cache

import floor

from tinyagent import OpenAIModel, ReactAgent, tool

add = tool(floor.add)


@cache
def agent(base_url: str, turns: int) -> ReactAgent:
    """One agent for all runs."""
    model = OpenAIModel(f"turns-{turns}", base_url=base_url, api_key="x")
    return ReactAgent(model, [add], max_steps=turns + 1)


async def run_once(base_url: str, turns: int) -> object:
    """One run; gives its answer."""
    return (await agent(base_url, turns).run(floor.TASK)).output
