"""`skillian eval`: the demo's questions, and questions to models that answer over HTTP."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

from skillian.evaluation import running
from tinyagent import scripted_call
from tinyagent.core import ModelResponse
from tinyagent.testing import MockServer, Reply

Run = Callable[..., "subprocess.CompletedProcess[str]"]
CALL = scripted_call("query_source", source="fi_reporting", measures=["amount"])
TOTAL = ModelResponse(None, (CALL,))
QUESTION = "What is the total amount of fi_reporting?"
REST = "0 wrong, 0 asked back, 0 refused"


@pytest.fixture
def one(demo: Path, tmp_path: Path) -> Path:
    """A file with one question."""
    path = tmp_path / "one.yaml"
    text = f"sources: {demo}\nquestions: [{{question: '{QUESTION}', numbers: [6586678.06]}}]\n"
    path.write_text(text, encoding="utf-8")
    return path


async def _ask(skillian: Run, file: Path, *answers: Any, options: Any = ()) -> Any:
    async with MockServer(answers) as server:
        return await asyncio.to_thread(
            skillian,
            *("eval", str(file), *options),
            SKILLIAN_MODEL="openai:any",
            OPENAI_BASE_URL=server.base_url,
        )


def test_the_offline_planner_answers_the_questions_of_the_demo(
    skillian: Run, demo: Path, tmp_path: Path
) -> None:
    file = str(demo.parent / "questions.yaml")
    done = skillian("eval", file, "--model", "offline", "--output", "report.xml")
    assert "10 questions: 10 right, 0 wrong, 0 asked back, 0 refused" in done.stdout
    assert done.returncode == 0, done.stdout
    suite = fromstring((tmp_path / "report.xml").read_bytes())[0]  # noqa: S314 - our own file
    assert (suite.get("tests"), suite.get("failures")) == ("10", "0")
    listed = skillian("history", "--json").stdout
    assert json.loads(listed)[0]["comparison"].startswith("eval questions: offline planner")


@pytest.mark.parametrize(
    ("answers", "counts", "code"),
    [
        ((TOTAL, "It is 6,586,678.06 EUR."), f"1 right, {REST}\n", 0),
        ((TOTAL, "It is about 6.6 million."), "0 right, 1 wrong", 1),
        (("Do you mean the ledger?",), "1 asked back", 1),
        (("It is 6,000,000.00 EUR.",), f"1 right, {REST} (1 answered by the offline planner)", 0),
        (("I cannot answer that.",), f"1 right, {REST} (1 answered by the offline planner)", 0),
    ],
)
async def test_a_language_model_is_judged_by_its_answer(
    skillian: Run, one: Path, answers: Any, counts: str, code: int
) -> None:
    done = await _ask(skillian, one, *answers)
    assert counts in done.stdout
    assert done.stdout.count(QUESTION) == 1
    assert done.returncode == code


async def test_reports_for_programs(skillian: Run, one: Path, tmp_path: Path) -> None:
    options = ("--json", "--output", "report.xml")
    done = await _ask(skillian, one, TOTAL, "It is 5\x01 EUR.", options=options)
    report = json.loads(done.stdout)
    assert report["counts"] == {"right": 0, "wrong": 1, "asked_back": 0, "refused": 0}
    assert (report["name"], report["model"]) == ("one", "any")
    [result] = report["questions"]
    assert (result["question"], result["verdict"]) == (QUESTION, "wrong")
    assert result["reason"] == "not in the answer: 6586678.06"
    assert result["tool_calls"][0]["arguments"]["source"] == "fi_reporting"
    assert result["by_planner"] is False
    [new] = report["history"]["new"]
    assert new["text"] == f"'{QUESTION}' wrong"
    suite = fromstring((tmp_path / "report.xml").read_bytes())[0]  # noqa: S314 - our own file
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("type") == "wrong"


async def test_what_was_fixed_since_the_last_run_is_reported(skillian: Run, one: Path) -> None:
    await _ask(skillian, one, "Do you mean the ledger?")
    done = await _ask(skillian, one, TOTAL, "It is 6586678.06.")
    assert "Compared with earlier runs: 0 new, 0 open, 0 known, 1 fixed." in done.stdout


def test_a_model_that_cannot_be_reached_is_an_error_and_not_a_refusal(
    skillian: Run, one: Path
) -> None:
    done = skillian("eval", str(one), "--model", "openai:any", OPENAI_BASE_URL="http://127.0.0.1:1")
    assert done.returncode == 2
    assert "127.0.0.1" in done.stderr
    assert "refused" not in done.stdout


async def test_a_question_has_a_time_limit(
    skillian: Run, one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "QUESTION_SECONDS", 0.2)
    done = await _ask(skillian, one, Reply(b"", ending="hang"))
    assert "1 refused" in done.stdout
    assert "There was no answer in 0.2 s." in done.stdout
    assert done.returncode == 1


def test_faults_of_the_file_are_reported_with_their_lines(skillian: Run, one: Path) -> None:
    one.write_text(one.read_text().replace("numbers", "nmbers"))
    done = skillian("eval", str(one))
    assert done.returncode == 2
    assert f"{one}:2: unknown key `nmbers`; did you mean `numbers`?" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_report_that_could_not_be_written_is_refused_first(skillian: Run, one: Path) -> None:
    for name in ("nowhere/report.xml", "report.html"):
        done = skillian("eval", str(one), "--output", name)
        assert (done.returncode, "Answered by" in done.stdout) == (2, False)
        assert name in done.stderr
