from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillian.cli.ask import answer_question
from skillian.settings import Settings
from tinyagent import Usage, scripted_call
from tinyagent.core import ModelResponse
from tinyagent.testing import MockServer, Reply

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_a_missing_file_is_reported(skillian: Run) -> None:
    done = skillian("ask", "hello", "--sources", "nowhere.yaml")
    assert done.returncode == 2
    assert "nowhere.yaml" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_key_is_reported_with_its_variable(skillian: Run, demo: Path) -> None:
    done = skillian("ask", "hello", "--sources", str(demo), SKILLIAN_MODEL="openai:gpt-4.1")
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in done.stderr


def test_a_setting_that_is_not_a_number_is_reported_in_words(skillian: Run) -> None:
    done = skillian("ask", "hello", SKILLIAN_PORT="abc")
    assert done.returncode == 2
    assert "SKILLIAN_PORT: it is not a whole number" in done.stderr


async def test_ctrl_c_cancels_a_question(demo: Path, tmp_path: Path) -> None:
    asked = asyncio.Event()

    def note(_: dict[str, Any]) -> Reply:
        asked.set()
        return Reply(b"", ending="hang")

    pipe = asyncio.subprocess.PIPE
    async with MockServer(note) as server, asyncio.timeout(30):
        environment = {"SKILLIAN_MODEL": "openai:any", "OPENAI_BASE_URL": server.base_url}
        process = await asyncio.create_subprocess_exec(
            *(Path(sys.executable).parent / "skillian", "ask", "hello", "--sources", demo),
            cwd=tmp_path,
            env={**os.environ, **environment},
            stdout=pipe,
            stderr=pipe,
        )
        await asked.wait()
        process.send_signal(signal.SIGINT)
        _, notes = await process.communicate()
    assert process.returncode == 130
    assert b"Interrupted" in notes
    assert b"Traceback" not in notes


async def test_numbers_of_a_model_that_are_in_no_result_are_listed(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(body: dict[str, Any]) -> ModelResponse | str:
        if body["messages"][-1]["role"] == "tool":
            return "It is 6,586,678.07 EUR."
        call = scripted_call("query_source", source="fi_reporting", measures=["amount"])
        return ModelResponse(None, (call,), Usage(), "tool_calls", "any")

    async with MockServer(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        settings = Settings(sources=demo, model="openai:any")
        result = await answer_question("amount of fi_reporting", settings)
    assert result.unverified == ("6,586,678.07",)
    assert "Not in any tool result: 6,586,678.07" in capsys.readouterr().err
