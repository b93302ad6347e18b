"""`tinyagent run --code`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from tinyagent.core import ModelResponse
from tinyagent.testing import MockServer

WRITES = ModelResponse(
    "I write it down.\n```python\nopen('sum.txt', 'w').write('3')\nprint('three')\n```"
)
ANSWERS = ModelResponse("```python\nfinal_answer(1 + 2)\n```")


async def _run(server: MockServer, *arguments: str) -> tuple[int | None, str, str]:
    command = str(Path(sys.executable).with_name("tinyagent"))
    process = await asyncio.create_subprocess_exec(
        *(command, "run", "1 + 2?", "--code", *arguments),
        env={**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_code_its_output_and_its_files_are_shown_next_to_the_answer(tmp_path: Path) -> None:
    async with MockServer([WRITES, ANSWERS]) as server:
        code, out, err = await _run(server, "--artifacts", str(tmp_path / "made"))
    assert (code, out) == (0, "3\n")
    assert "print('three')" in err
    assert "\nthree\n" in err
    assert "created sum.txt (1 bytes)" in err
    assert (tmp_path / "made" / "sum.txt").read_text() == "3"


async def test_streamed_code_is_shown_once() -> None:
    async with MockServer([WRITES, ANSWERS]) as server:
        code, out, err = await _run(server, "--stream")
    assert (code, out) == (0, "3\n")
    assert err.count("print('three')") == 1
