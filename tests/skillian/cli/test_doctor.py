"""`skillian doctor`, in this process and from a shell."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.messages_server import MessagesServer, failure

from skillian.cli.setup import checks
from tinyagent.testing import MockServer, Reply

Run = Callable[..., "subprocess.CompletedProcess[str]"]
WITHOUT_EXTRAS = """
import sys
sys.modules |= dict.fromkeys(("ag_ui", "fastapi", "mcp", "psycopg", "sqlalchemy"))
from tinyagent_commands import skillian
skillian()
"""


def test_the_demo_has_no_faults(skillian: Run, demo: Path, tmp_path: Path) -> None:
    done = skillian("doctor", "--sources", str(demo))
    lines = done.stdout.splitlines()
    assert "ok     sources: 2 sources match their declaration" in lines
    assert "ok     model: offline planner, no language model" in lines
    counts = "10 right, 0 wrong, 0 asked back, 0 refused"
    assert f"ok     answers: 10 probe questions about the demo: {counts}" in lines
    assert "ok     session store: a session was written and deleted" in lines
    assert (lines[-1], done.returncode) == ("0 faults", 0)


def test_each_fault_is_shown_with_its_fix(skillian: Run) -> None:
    done = skillian(
        "doctor",
        SKILLIAN_MODEL="openai:gpt-4.1",
        SKILLIAN_HOST="0.0.0.0",  # noqa: S104 - refused without keys
        SKILLIAN_SKILLS="nowhere",
        DATABASE_URL="mysql://user:secret@host/db",
    )
    for text in (
        "FAULT  sources: sources.yaml:1",
        "skillian demo --keep FOLDER",
        "set OPENAI_API_KEY",
        "FAULT  session store:",
        "FAULT  skills:",
        "set SKILLIAN_API_KEYS",
    ):
        assert text in done.stdout
    assert "secret" not in done.stdout + done.stderr
    assert (done.stdout.splitlines()[-1], done.returncode) == ("5 faults", 1)


def test_a_source_that_does_not_match_its_declaration(
    skillian: Run, demo: Path, tmp_path: Path
) -> None:
    (demo.parent / "wrong.yaml").write_text(
        demo.read_text(encoding="utf-8").replace("column: BUKRS", "column: NOWHERE"),
        encoding="utf-8",
    )
    done = skillian("doctor", "--sources", str(demo.parent / "wrong.yaml"))
    assert "1 fault in fi_reporting" in done.stdout
    assert "skillian sources check" in done.stdout
    assert done.returncode == 1


def test_invalid_settings_are_named_without_their_values(skillian: Run) -> None:
    done = skillian("doctor", SKILLIAN_API_KEYS="short-secret", SKILLIAN_PORT="port")
    assert "SKILLIAN_API_KEYS: an API key has fewer than 16 characters" in done.stdout
    assert "SKILLIAN_PORT: " in done.stdout
    assert "short-secret" not in done.stdout + done.stderr
    assert done.returncode == 1


def test_invalid_settings_end_any_command_with_a_message(started: Run) -> None:
    done = started("ask", "hello", SKILLIAN_API_KEYS="short-secret")
    assert done.returncode == 2
    assert "SKILLIAN_API_KEYS: an API key has fewer than 16 characters" in done.stderr
    assert "short-secret" not in done.stderr
    assert "Traceback" not in done.stderr


async def doctor(skillian: Run, demo: Path, server: MockServer) -> subprocess.CompletedProcess[str]:
    """Run `skillian doctor` with a model of this server."""
    return await asyncio.to_thread(
        skillian,
        "doctor",
        "--sources",
        str(demo),
        SKILLIAN_MODEL="openai:any",
        OPENAI_BASE_URL=server.base_url,
    )


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (
            "Ready.",
            (
                "FAULT  answers: 10 probe questions about the demo: 10 right, 0 wrong,"
                " 0 asked back, 0 refused (10 answered by the offline planner)\n"
                "       the model itself made no valid call"
            ),
        ),
        (
            "Shall I look?",
            "FAULT  answers: 10 probe questions about the demo: 0 right, 0 wrong, 10 asked back",
        ),
    ],
)
async def test_a_model_is_asked_questions_whose_answers_are_known(
    skillian: Run, demo: Path, answer: str, line: str
) -> None:
    async with MockServer([answer]) as server:
        done = await doctor(skillian, demo, server)
    assert "ok     model: any answers" in done.stdout
    assert line in done.stdout
    is_fault = line.startswith("FAULT")
    assert ("skillian eval FOLDER/questions.yaml" in done.stdout) == is_fault
    assert len(server.requests) == 11
    assert done.returncode == is_fault


async def test_the_time_for_the_probe_questions_is_limited(
    skillian: Run, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "PROBE_SECONDS", 0.5)

    def answer(body: dict[str, Any]) -> str | Reply:
        return Reply(b"", ending="hang") if "tools" in body else "Ready."

    async with MockServer(answer) as server:
        done = await doctor(skillian, demo, server)
    assert "only 0 of them in 0.5 s" in done.stdout
    assert "try a larger model" in done.stdout
    assert done.returncode == 1


async def test_a_refused_key_is_reported_with_its_variable(skillian: Run, demo: Path) -> None:
    refused = failure(401, "authentication_error", "invalid x-api-key")
    async with MessagesServer([refused]) as server:
        done = await asyncio.to_thread(
            skillian,
            "doctor",
            "--sources",
            str(demo),
            SKILLIAN_MODEL="anthropic:claude-sonnet-5",
            ANTHROPIC_API_KEY="secret-key",
            ANTHROPIC_BASE_URL=server.url,
        )
    assert "FAULT  model:" in done.stdout
    assert "such as OPENAI_API_KEY or ANTHROPIC_API_KEY" in done.stdout
    assert "secret-key" not in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        ("doctor", 0, "absent mcp: skillian mcp"),
        ("chat", 2, "pip install '.[service]'"),
        ("mcp", 2, "pip install '.[service]'"),
    ],
)
def test_without_extras_the_rest_works(
    demo: Path, tmp_path: Path, command: str, code: int, text: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, command, "--sources", demo],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=50,
    )
    assert done.returncode == code, done.stderr
    assert text in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
