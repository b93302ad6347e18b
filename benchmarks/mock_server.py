"""The server for all benchmark loops, in a separate process.

The model's name is the script: `turns-10` asks for ten tool calls, one a turn, then answers;
`deltas-400` streams an answer of 400 text deltas; `code-10` sends ten blocks of code, one a turn,
then one with the answer; `mails-10` asks for mails and to answer one, in turn.
Prints its base URL and serves until stopped.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

import code_agent_blocks as coding
from floor import ANSWER

from tinyagent import Usage
from tinyagent.core import ModelResponse, RawToolCall
from tinyagent.testing import MockServer

FINAL_ANSWER = "final_answer"


def answer(body: dict[str, Any]) -> ModelResponse:
    """Answer by the script that the model's name selects."""
    kind, _, count = str(body["model"]).partition("-")
    usage = Usage(1, input_tokens=100, output_tokens=20)
    if kind == "deltas":
        return ModelResponse(" ".join(["word"] * int(count)), usage=usage)
    if kind == "code":
        return ModelResponse(_block(body, int(count)), usage=usage)
    done = sum(holds_result(message) for message in body["messages"])
    if kind == "mails" and done < int(count):
        return ModelResponse(None, (mail_call(done),), usage, "tool_calls")
    if done < int(count):
        call = RawToolCall(f"call_{done}", "add", f'{{"a": {done}, "b": 1}}')
        return ModelResponse(None, (call,), usage, "tool_calls")
    if any(tool["function"]["name"] == FINAL_ANSWER for tool in body.get("tools", ())):
        call = RawToolCall("call_end", FINAL_ANSWER, f'{{"answer": "{ANSWER}"}}')
        return ModelResponse(None, (call,), usage, "tool_calls")
    return ModelResponse(ANSWER, usage=usage)


def mail_call(number: int) -> RawToolCall:
    """The call of one of the turns that read mails and answer, each after the other."""
    if number % 2 == 0:
        return RawToolCall(f"call_{number}", "read_mail", "{}")
    text = f"Hello Anna, we meet on Friday in the morning, and I bring cake ({number})."
    arguments = json.dumps({"to": "anna@example.com", "text": text})
    return RawToolCall(f"call_{number}", "send_mail", arguments)


def _block(body: Mapping[str, Any], count: int) -> str:
    """The next block, with the delimiters of the framework; smolagents ends at a stop word."""
    done = sum(message["role"] == "assistant" for message in body["messages"])
    code = coding.block(done, count)
    if "</code>" in (body.get("stop") or ()):
        return f"I add on.\n<code>\n{code}\n"
    return f"I add on.\n```python\n{code}\n```"


def holds_result(message: Mapping[str, Any]) -> bool:
    """Whether it holds a tool's result. smolagents sends results as marked user messages."""
    if message["role"] != "user" or isinstance(message["content"], str):
        return bool(message["role"] == "tool")
    return any(str(part.get("text")).startswith("Observation:") for part in message["content"])


async def serve() -> None:
    """Serve until the process is stopped."""
    async with MockServer(answer) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        while True:
            await asyncio.sleep(1)
            server.requests.clear()  # they are for tests; here they would only use memory
            server.keys.clear()


if __name__ == "__main__":
    asyncio.run(serve())
