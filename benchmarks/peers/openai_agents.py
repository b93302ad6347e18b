"""openai-agents: Agent over chat completions, tracing off."""

from functools import cache

import floor
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(disabled=True)
add = function_tool(floor.add)


@cache
def agent(base_url: str, turns: int) -> Agent:
    """One agent for all runs."""
    client = AsyncOpenAI(base_url=base_url, api_key="x")
    model = OpenAIChatCompletionsModel(f"turns-{turns}", openai_client=client)
    return Agent("adder", instructions=floor.SYSTEM, model=model, tools=[add])


async def run_once(base_url: str, turns: int) -> object:
    """One run; gives its answer."""
    result = await Runner.run(agent(base_url, turns), floor.TASK, max_turns=turns + 1)
    return result.final_output
