"""Other tools' clients at a server process with keys, and a server of models behind it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import openai
import pytest
from ag_ui.core import Event, Message, RunAgentInput, UserMessage
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import TypeAdapter
from tests.support.serving import Serving, serving

from skillian.demo.ledger import write_demo
from tinyagent import Usage, scripted_call
from tinyagent.core import ModelResponse
from tinyagent.testing import MockServer

KEY = "key-of-the-doors-0123456789"
BEARER = {"Authorization": f"Bearer {KEY}"}
ASKED: list[Any] = [{"role": "user", "content": "Which sources are there?"}]

ANSWER = "There are 2 sources."


def answer(body: dict[str, Any]) -> ModelResponse:
    """A call, then the answer."""
    usage = Usage(1, input_tokens=10, output_tokens=3)
    if body["messages"][-1]["role"] == "tool":
        return ModelResponse(ANSWER, usage=usage)
    return ModelResponse(None, (scripted_call("list_sources", call_id="1"),), usage, "tool_calls")


@pytest.fixture
async def model() -> AsyncGenerator[MockServer]:
    async with MockServer(answer) as running:
        yield running


@pytest.fixture
def server(model: MockServer, tmp_path: Path) -> Generator[Serving]:
    with serving(
        write_demo(tmp_path),
        SKILLIAN_API_KEYS=KEY,
        SKILLIAN_MODEL="openai:any",
        OPENAI_BASE_URL=model.base_url,
    ) as running:
        yield running


async def test_chat_completions(server: Serving, model: MockServer) -> None:
    url = f"{server.url}/v1"
    async with openai.AsyncOpenAI(base_url=url, api_key=KEY) as client:
        whole = await client.chat.completions.create(model="skillian", messages=ASKED)
        stream = await client.chat.completions.create(
            model="skillian",
            messages=ASKED,
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
        await model.stop()
        with pytest.raises(openai.InternalServerError, match="No answer was found") as raised:
            await client.chat.completions.create(model="skillian", messages=ASKED)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert whole.choices[0].message.content == text == ANSWER
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage == whole.usage
    assert whole.usage is not None
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (20, 6)
    assert raised.value.status_code == 502
    async with openai.AsyncOpenAI(base_url=url, api_key="wrong", max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError):
            await client.models.list()


async def test_ag_ui(server: Serving) -> None:
    messages: list[Message] = [UserMessage(id="1", content=ASKED[0]["content"])]
    asked = RunAgentInput(thread_id="thread", run_id="run", messages=messages)
    body = asked.model_dump(by_alias=True, mode="json")
    async with (
        aiohttp.ClientSession(server.url, headers=BEARER) as http,
        http.post("/ag-ui", json=body) as answered,
    ):
        lines = [line.decode() async for line in answered.content]
    read: TypeAdapter[Any] = TypeAdapter(Event)
    events = [
        read.validate_json(line.removeprefix("data: "))
        for line in lines
        if line.startswith("data: ")
    ]
    assert [events[0].type.value, events[-1].type.value] == ["RUN_STARTED", "RUN_FINISHED"]
    assert events[-1].usage[0].output_tokens == 6
    text = [event.delta for event in events if event.type.value == "TEXT_MESSAGE_CONTENT"]
    assert "".join(text) == ANSWER
    assert "TOOL_CALL_RESULT" in {event.type.value for event in events}


async def test_mcp(server: Serving) -> None:
    async with (
        httpx2.AsyncClient(headers=BEARER) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client,
    ):
        found = await client.call_tool("list_sources", {})
    assert found.structured_content is not None
    assert len(found.structured_content["sources"]) == 2
