"""The server that all benchmark loops talk to, in a process of its own.

The model's name is the script: `turns-10` asks for ten tool calls, one a turn, then answers;
`deltas-400` streams an answer of 400 text deltas. Prints its base URL and serves until stopped.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from tinyagent import ModelResponse, RawToolCall, Usage
from tinyagent.testing import MockServer


def answer(body: dict[str, Any]) -> ModelResponse:
    """Answer by the script that the model's name is."""
    kind, _, count = str(body["model"]).partition("-")
    usage = Usage(1, input_tokens=100, output_tokens=20)
    if kind == "deltas":
        return ModelResponse(" ".join(["word"] * int(count)), usage=usage)
    done = sum(1 for message in body["messages"] if message["role"] == "tool")
    if done < int(count):
        call = RawToolCall(f"call_{done}", "add", f'{{"a": {done}, "b": 1}}')
        return ModelResponse(None, (call,), usage, "tool_calls")
    return ModelResponse("The sum is done.", usage=usage)


async def serve() -> None:
    """Serve until the process is stopped."""
    async with MockServer(answer) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
