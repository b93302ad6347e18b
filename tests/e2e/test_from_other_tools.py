"""docs/from: the same program with another tool and with ours, each in its own environment.

`make test-peers` runs these tests, which make the environments of the other tools once. The models
of both programs are a server that gives the answers of the page's comment `<!-- model: ... -->`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tinyagent.core import ModelResponse, RawToolCall
from tinyagent.testing import MockServer

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "from").glob("*.md"))
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
REQUIREMENTS = {
    path.stem.removeprefix("tables_"): path
    for folder in ("peers", "comparison_peers")
    for path in (ROOT / "benchmarks" / folder).glob("*.txt")
}
BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>file|exit|environment|model): (?P<value>.*?) -->\n+)?"
    r"```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
CALL = re.compile(r"(\w+)\((\w+)=\"(.*?)\"\)")


def _python(name: str) -> Path:
    """The Python of an environment, which is made if it is not there."""
    if name == "tinyagent":
        return Path(sys.executable)
    folder = ROOT / ".cache" / "peers" / f"page-{name}"
    python = folder / "bin" / "python"
    if not (folder / ".complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "-r", str(REQUIREMENTS[name])]
        subprocess.run(pip, check=True)
        (folder / ".complete").touch()
    return python


def _answers(model: str) -> list[str | ModelResponse]:
    answers: list[str | ModelResponse] = []
    for part in model.replace("\\n", "\n").split("; "):
        if call := CALL.fullmatch(part):
            made = RawToolCall("call_1", call[1], json.dumps({call[2]: call[3]}))
            answers.append(ModelResponse(None, (made,)))
        else:
            answers.append(part)
    return answers


async def _run(command: list[str | Path], folder: Path, base_url: str) -> tuple[int, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.defpath])
    environment = {
        "PATH": path,
        "HOME": str(folder),
        "COLUMNS": "120",
        "OPENAI_BASE_URL": base_url,
        "OPENAI_API_KEY": "none",
    }
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    assert b"Traceback" not in errors, errors.decode()
    return process.returncode or 0, "\n".join(
        line.rstrip() for line in output.decode().splitlines() if line.strip()
    )


def _matches(shown: str, printed: str) -> bool:
    lines = "\n".join(line.rstrip() for line in shown.splitlines() if line.strip())
    return re.fullmatch(re.escape(lines).replace(r"\.\.\.", r"[\s\S]*?"), printed) is not None


@pytest.mark.peers
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
async def test_both_programs_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    blocks = list(BLOCK.finditer(TEXTS[page]))
    model = next((block["value"] for block in blocks if block["mark"] == "model"), "")
    printed: list[str] = []
    for block in blocks:
        if block["mark"] == "file":
            (tmp_path / block["value"]).write_text(block["text"], encoding="utf-8")
        elif block["mark"] == "environment":
            (tmp_path / "program.py").write_text(block["text"], encoding="utf-8")
            async with MockServer(_answers(model) if model else ["unused"]) as server:
                python = _python(block["value"])
                code, output = await _run([python, "program.py"], tmp_path, server.base_url)
            assert code == 0
            printed.append(output)
        elif block["kind"] == "text":
            assert printed
            assert all(_matches(block["text"], each) for each in printed), printed
            printed.clear()
        elif block["kind"] == "console":
            line, _, shown = block["text"].removeprefix("$ ").partition("\n")
            code, output = await _run([*shlex.split(line)], tmp_path, "")
            assert code == (int(block["value"]) if block["mark"] == "exit" else 0)
            assert _matches(shown, output), output
    assert not printed
