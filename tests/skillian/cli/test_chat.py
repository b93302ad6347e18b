"""`skillian chat` in its own process: lines in, answers out, interruptions."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillian.display import VERIFIED
from skillian.storage import CANCELLED, open_store
from tinyagent.testing import MockServer, Reply

COMMAND = Path(sys.executable).parent / "skillian"
QUESTION = "Compare amounts between fi_reporting and bpc_reporting for company 1001"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def chat(
    folder: Path, demo: Path, *words: str, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "chat", "--sources", demo, *words],
        input=typed,
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        timeout=50,
    )


def session_of(text: str) -> str:
    match = re.search(r"--session (\w+)", text)
    assert match, text
    return match[1]


async def test_lines_are_answered_and_stored(tmp_path: Path, demo: Path) -> None:
    first = chat(tmp_path, demo, typed=f"{QUESTION}\n\nwhy?\n")
    assert first.returncode == 0, first.stderr
    assert "offline planner" in first.stdout
    assert "compare_sources" in first.stdout
    assert "7 of 12 groups match" in first.stdout
    assert "of the gross gap" in first.stdout
    session = session_of(first.stderr)
    again = chat(tmp_path, demo, "--session", session, typed="and for company 1002?\n")
    assert f"Continuing: {QUESTION}" in again.stdout
    assert '"company": "1002"' in again.stdout.replace("\n", "")
    async with open_store(f"sqlite:///{tmp_path / 'skillian.db'}") as store:
        questions = [
            each["content"] for each in await store.messages(session) if each["role"] == "user"
        ]
        [record] = await store.list("")
    assert questions == [QUESTION, "why?", "and for company 1002?"]
    assert record.title == QUESTION


def test_empty_lines_start_no_session(tmp_path: Path, demo: Path) -> None:
    done = chat(tmp_path, demo, typed="\n \n")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_session_is_reported(tmp_path: Path, demo: Path) -> None:
    done = chat(tmp_path, demo, "--session", "nowhere")
    assert done.returncode == 2
    assert "there is no such session" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unsupported_store_is_reported(skillian: Run, demo: Path) -> None:
    done = skillian("chat", "--sources", str(demo), DATABASE_URL="mysql://user:secret@host/db")
    assert done.returncode == 2
    assert "DATABASE_URL" in done.stderr
    assert "secret" not in done.stderr


def test_a_store_that_is_not_a_database_is_named(tmp_path: Path, demo: Path) -> None:
    (tmp_path / "skillian.db").write_text("this is not a database")
    done = chat(tmp_path, demo, typed=QUESTION)
    assert done.returncode == 2
    assert "skillian.db" in done.stderr
    assert "DATABASE_URL" in done.stderr


async def test_ctrl_c_cancels_an_answer_and_twice_leaves(tmp_path: Path, demo: Path) -> None:
    asked = asyncio.Event()

    def answer(body: dict[str, Any]) -> Reply | str:
        if body["messages"][-1]["content"] != "Hang":
            return "I am back."
        asked.set()
        return Reply(b"", ending="hang")

    async with MockServer(answer) as server, asyncio.timeout(50):
        process = await _start(tmp_path, demo, server.base_url)
        await _say(process, "Hang")
        await asked.wait()
        process.send_signal(signal.SIGINT)
        notes = await _until(process.stderr, "Press Ctrl-C again to leave")
        await _say(process, "Hello")
        await _until(process.stdout, "I am back.")
        asked.clear()
        await _say(process, "Hang")
        await asked.wait()
        process.send_signal(signal.SIGINT)
        notes += await _until(process.stderr, "Press Ctrl-C again to leave")
        process.send_signal(signal.SIGINT)
        _, rest = await process.communicate()
        notes += rest.decode()
    assert process.returncode == 130, notes
    assert "Traceback" not in notes
    async with open_store(f"sqlite:///{tmp_path / 'skillian.db'}") as store:
        messages = await store.messages(session_of(notes))
    hung = ["Hang", CANCELLED]
    assert [each["content"] for each in messages] == [*hung, "Hello", "I am back.", *hung]


async def _start(folder: Path, demo: Path, model: str) -> Process:
    environment = {**os.environ, "SKILLIAN_MODEL": "openai:any", "OPENAI_BASE_URL": model}
    command = (COMMAND, "chat", "--sources", demo)
    return await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )


async def _say(process: Process, line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n".encode())
    await process.stdin.drain()


async def _until(stream: asyncio.StreamReader | None, text: str) -> str:
    assert stream is not None
    read = ""
    while text not in read:
        piece = (await stream.read(4096)).decode()
        assert piece, f"it ended without {text!r}: {read}"
        read += piece
    return read


def test_an_answer_to_a_verified_question_is_marked(
    tmp_path: Path, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILLIAN_QUESTIONS", str(demo.parent / "questions.yaml"))
    done = chat(tmp_path, demo, typed=f"{QUESTION}\nwhich sources are there?\n")
    assert done.stdout.count(VERIFIED) == 1
