"""`tinyagent run --code`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from tests.support.trees import tree_of

from tinyagent.core import ModelResponse
from tinyagent.testing import MockServer

WRITES = ModelResponse(
    "I write it down.\n```python\nopen('sum.txt', 'w').write('3')\nprint('three')\n```"
)
ANSWERS = ModelResponse("```python\nfinal_answer(1 + 2)\n```")


async def _run(
    server: MockServer, *arguments: str, cwd: Path | None = None
) -> tuple[int | None, str, str]:
    command = str(Path(sys.executable).with_name("tinyagent"))
    process = await asyncio.create_subprocess_exec(
        *(command, "run", "1 + 2?", "--code", *arguments),
        env={**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"},
        cwd=cwd,
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


EDITS = ModelResponse(
    "```python\nopen('notes.txt', 'a').write('two\\n')\nfinal_answer('done')\n```"
)


async def _run_with_person(folder: Path, typed: str) -> tuple[int | None, str, str]:
    """The command at a terminal of a person who types this."""
    person, terminal = os.openpty()
    async with MockServer([EDITS]) as server:
        command = str(Path(sys.executable).with_name("tinyagent"))
        process = await asyncio.create_subprocess_exec(
            *(command, "run", "Add a line.", "--code", "--workspace", str(folder)),
            env={**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"},
            stdin=terminal,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        os.close(terminal)
        os.write(person, typed.encode())
        out, err = await process.communicate()
    os.close(person)
    return process.returncode, out.decode(), err.decode()


async def test_changes_of_a_workspace_are_shown_and_committed_after_a_yes(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("one\n")
    code, out, err = await _run_with_person(tmp_path, "n\n")
    assert (code, out) == (0, "done\n")
    assert "M notes.txt" in err
    assert "+two" in err
    assert "Nothing is committed." in err
    assert notes.read_text() == "one\n"
    code, out, err = await _run_with_person(tmp_path, "y\n")
    assert (code, out) == (0, "done\n")
    assert "Committed 1 changes." in err
    assert notes.read_text() == "one\ntwo\n"


async def test_without_a_terminal_nothing_is_committed(tmp_path: Path) -> None:
    async with MockServer([EDITS]) as server:
        code, out, _ = await _run(server, "--workspace", str(tmp_path), "--json")
    assert code == 0
    (change,) = json.loads(out)["changes"]
    assert (change["kind"], change["path"]) == ("added", "notes.txt")
    assert tree_of(tmp_path) == {}


async def test_a_workspace_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    async with MockServer([EDITS]) as server:
        code, _, err = await _run(server, "--workspace", str(tmp_path / "nowhere"))
    assert code == 2
    assert "there is no folder" in err


LETTER = """
from tinyagent import tool

@tool
def letter() -> str:
    \"\"\"Read a letter.\"\"\"
    return "the code is 4711"
"""


async def test_sealed_code_does_not_show_the_model_what_a_tool_returned(tmp_path: Path) -> None:
    (tmp_path / "my_tools.py").write_text(LETTER)
    policy = tmp_path / "policy.yaml"
    policy.write_text("free: [letter]")
    blocks = [ModelResponse("```python\nx = letter()\nprint(x)\n```")]
    blocks.append(ModelResponse("```python\nfinal_answer(x)\n```"))
    options = ("--tools", "my_tools:letter", "--provenance", str(policy), "--sealed")
    async with MockServer(blocks) as server:
        code, out, _ = await _run(server, *options, cwd=tmp_path)
        assert (code, out) == (0, "the code is 4711\n")
        assert "4711" not in str(server.requests)
        assert "<sealed str from letter>" in str(server.requests[1])
        code, _, err = await _run(server, "--sealed")
    assert code == 2
    assert "--sealed needs --code and --provenance" in err


async def test_the_model_of_a_workspace_is_shown_its_hosts(tmp_path: Path) -> None:
    prompts: list[str] = []
    for options in ((), ("--network", "api.example.com")):
        async with MockServer([ANSWERS]) as server:
            code, _, err = await _run(server, "--workspace", str(tmp_path), *options)
        assert code == 0, err
        prompts.append(str(server.requests[0]))
    assert "There is no network" in prompts[0]
    assert "There is no network" not in prompts[1]
    assert "Only these hosts can be reached: api.example.com." in prompts[1]
