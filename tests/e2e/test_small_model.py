"""A real language model behind a real server: what is written is its own, what is sent is not."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from asyncio.subprocess import PIPE
from contextlib import aclosing
from pathlib import Path

import pytest
from openai import AsyncOpenAI

from tinyagent import Event, OpenAIModel, ReactAgent, RunFinished, RunResult, TextDelta
from tinyagent.core import ModelConnectionError, ModelRefused, ModelResponded

pytestmark = [pytest.mark.llm, pytest.mark.timeout(180)]

TASK = "What is the capital of France?"
COMMAND = Path(sys.executable).with_name("tinyagent")
RealModel = tuple[str, subprocess.Popen[str]]


async def _stream(agent: ReactAgent[str], task: str = TASK) -> tuple[list[str], RunResult[str]]:
    """The pieces of text, and the result."""
    events = [event async for event in agent.stream(task)]
    last = events[-1]
    assert isinstance(last, RunFinished)
    return [event.text for event in events if isinstance(event, TextDelta)], last.result


def _short(model: OpenAIModel) -> ReactAgent[str]:
    return ReactAgent(model, max_tokens=200, temperature=0)


def _assert_answered(result: RunResult[str]) -> None:
    assert result.state == "completed"
    assert result.output.strip()
    assert result.usage.requests == 1
    assert result.usage.input_tokens > 0
    assert 0 < result.usage.output_tokens <= 200
    assert result.final_answer is not None
    assert result.final_answer.metadata["finish_reason"] == "stop"


async def test_the_command_streams_an_answer(small_model: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(COMMAND, "run", TASK, "--stream"),
        env=os.environ | {"OPENAI_BASE_URL": small_model},
        stdout=PIPE,
        stderr=PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    assert out.strip()
    last = err.decode().splitlines()[-1]
    assert last.startswith("[completed] 1 step, ")
    assert " 0 tokens in" not in last
    assert not last.endswith(" 0 out")


async def test_a_run_gives_an_answer_its_usage_and_its_end(small_model: str) -> None:
    _assert_answered(await _short(OpenAIModel("smollm", base_url=small_model)).run(TASK))


async def test_a_stream_comes_in_many_pieces_that_are_the_answer(small_model: str) -> None:
    pieces, result = await _stream(_short(OpenAIModel("smollm", base_url=small_model)))
    _assert_answered(result)
    assert len(pieces) > 3
    assert "".join(pieces) == result.output


async def test_a_callers_client_speaks_to_the_same_server(small_model: str) -> None:
    async with AsyncOpenAI(base_url=small_model, api_key="none") as client:
        agent = _short(OpenAIModel("smollm", client=client))
        _assert_answered(await agent.run(TASK))
        pieces, result = await _stream(agent)
    _assert_answered(result)
    assert len(pieces) > 3
    assert "".join(pieces) == result.output


async def test_a_typed_answer_is_asked_for_again_until_the_tries_are_over(small_model: str) -> None:
    agent = ReactAgent(
        OpenAIModel("smollm", base_url=small_model), output_type=int, max_tokens=8, max_steps=2
    )
    result = await agent.run("What is 2 + 2?", return_result=True)
    assert (isinstance(result.output, int), result.state) in {
        (True, "completed"),
        (False, "step_limit_reached"),
    }


async def test_a_conversation_that_is_too_long_is_reported(small_model: str) -> None:
    agent = _short(OpenAIModel("smollm", base_url=small_model))
    with pytest.raises(ModelRefused, match="400 Bad Request"):
        await agent.run("colour " * 4000)


async def test_a_server_that_dies_in_mid_stream_is_a_typed_error(mortal_model: RealModel) -> None:
    base_url, process = mortal_model
    agent = ReactAgent(OpenAIModel("smollm", base_url=base_url))
    seen: list[Event] = []
    async with aclosing(agent.stream("Write a long story")) as events:
        async for event in events:
            if isinstance(event, TextDelta) and process.poll() is None:
                process.kill()
                process.wait()
            assert not isinstance(event, ModelResponded)
            seen.append(event)
    last = seen[-1]
    assert isinstance(last, RunFinished)
    assert isinstance(last.result.error, ModelConnectionError)
    assert "no connection to " in str(last.result.error)


async def test_the_command_says_that_the_server_died(mortal_model: RealModel) -> None:
    base_url, server = mortal_model
    process = await asyncio.create_subprocess_exec(
        *(COMMAND, "run", "Write a long story", "--stream"),
        env=os.environ | {"OPENAI_BASE_URL": base_url},
        stdout=PIPE,
        stderr=PIPE,
    )
    assert process.stdout is not None
    assert await process.stdout.read(1)
    server.kill()
    _, err = await process.communicate()
    assert process.returncode == 1
    assert "error: no connection to " in err.decode()
    assert "Traceback" not in err.decode()
