"""`skillian ask` for programs: JSON and exit codes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from skillian.display import VERIFIED

Run = Callable[..., "subprocess.CompletedProcess[str]"]
QUESTION = "Compare amounts between fi_reporting and bpc_reporting for company 1001"


def test_an_answer_as_json(skillian: Run, demo: Path) -> None:
    done = skillian("ask", QUESTION, "--sources", str(demo), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    keys = "question model state answer verified unverified scope tool_calls"
    assert list(answer) == keys.split()
    assert answer["scope"][0][0] == "fi_reporting and bpc_reporting"
    assert (answer["question"], answer["state"]) == (QUESTION, "answered")
    assert answer["model"] == "offline planner, no language model"
    [call] = answer["tool_calls"]
    assert call["tool"] == "compare_sources"
    assert call["arguments"]["filters"] == {"company": "1001"}
    assert call["result"]["top_differences"][0]["gap"] == "192258.87"
    assert "groups match" in answer["answer"]


def test_an_answer_to_a_verified_question_is_marked(skillian: Run, demo: Path) -> None:
    questions = str(demo.parent / "questions.yaml")
    question = ("ask", QUESTION, "--sources", str(demo))
    done = skillian(*question, SKILLIAN_QUESTIONS=questions)
    assert VERIFIED in done.stdout
    marks = [
        json.loads(skillian(*question, "--json", **settings).stdout)["verified"]
        for settings in ({"SKILLIAN_QUESTIONS": questions}, {})
    ]
    assert marks == [True, None]


def test_a_question_that_is_not_understood_is_exit_code_3(skillian: Run, demo: Path) -> None:
    question = ("ask", "How is the weather in Lisbon?", "--sources", str(demo))
    done = skillian(*question)
    assert done.returncode == 3
    assert "I did not understand" in done.stdout
    assert json.loads(skillian(*question, "--json").stdout)["state"] == "not_understood"


def test_a_tool_that_gives_no_result_is_exit_code_1(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("company,amount\n1001,5\n")
    (tmp_path / "new.csv").write_text("company,amount\n1001,5\n")
    assert skillian("sources", "infer", "files:///.", "--output", "s.yaml").returncode == 0
    (tmp_path / "new.csv").unlink()
    question = ("ask", "Compare amount between old and new by company", "--sources", "s.yaml")
    done = skillian(*question)
    assert done.returncode in {1, 2}, done.stdout
    assert "new" in done.stdout + done.stderr


def test_sources_as_json(skillian: Run, demo: Path) -> None:
    done = skillian("sources", "list", "--sources", str(demo), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    listed = {source["name"]: source for source in json.loads(done.stdout)}
    assert set(listed) == {"fi_reporting", "bpc_reporting"}
    assert listed["fi_reporting"]["row_count"] > 0
    assert "company" in listed["fi_reporting"]["dimensions"]
    assert "amount" in listed["fi_reporting"]["measures"]
