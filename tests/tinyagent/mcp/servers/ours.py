"""Tools of tinyagent served over MCP: `python ours.py stdio`, or `http`, which prints its URL."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from tinyagent import RunContext, ToolRetry
from tinyagent.mcp import serve_mcp


def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: the first.
        b: the second.
    """
    return a + b


async def chat(text: str) -> list[str]:
    """Print something, and say it again."""
    print(text)  # noqa: T201 - what a tool prints must not reach the client
    return [text, text]


def fail() -> str:
    """Fail."""
    raise LookupError("no such thing")


def advise() -> str:
    """Advise."""
    raise ToolRetry("ask for a city")


def task(run: RunContext) -> str:
    """Say what the run is about."""
    return run.task


def show(url: str) -> None:
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()


def main() -> None:
    tools: list[Callable[..., Any]] = [add, chat, fail, advise, task]
    if sys.argv[1] == "http":
        asyncio.run(serve_mcp(tools, name="ours", transport="http", port=0, ready=show))
    else:
        asyncio.run(serve_mcp(tools, name="ours"))


if __name__ == "__main__":
    main()
