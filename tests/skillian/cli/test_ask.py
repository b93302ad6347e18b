from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
