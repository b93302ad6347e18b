"""langchain: create_agent with ChatOpenAI; tracing is off where no LANGSMITH_ variable is set."""

from functools import cache
from typing import Any

import floor
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

add = tool(floor.add)


@cache
def agent(base_url: str, turns: int) -> Any:
    """One agent for all runs."""
    model = ChatOpenAI(model=f"turns-{turns}", base_url=base_url, api_key="x")
    return create_agent(model, [add], system_prompt=floor.SYSTEM)


async def run_once(base_url: str, turns: int) -> object:
    """One run; gives its answer."""
    task = {"messages": [{"role": "user", "content": floor.TASK}]}
    return (await agent(base_url, turns).ainvoke(task))["messages"][-1].content
