"""Marks in a chat: only an answer that agrees with the verified one is marked as verified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from skillian.app import open_service
from skillian.errors import ConfigurationError
from skillian.evaluation.judging import GivenAnswer
from skillian.evaluation.marking import open_verified
from skillian.offline.language.vocabulary import Vocabulary
from skillian.settings import Settings
from skillian.skills.registry import SkillRegistry
from tinyagent import Model, ScriptedModel, scripted_call

QUESTION = "What is the total amount of fi_reporting?"
TOTAL = scripted_call("query_source", source="fi_reporting", measures=["amount"])


async def _verified(demo: Path, folder: Path, question: str, answers: Sequence[Any]) -> Any:
    """What the stored answer of a turn says, with a model that gives these replies."""
    settings = Settings(
        sources=demo / "sources.yaml",
        questions=demo / "questions.yaml",
        database_url=SecretStr(f"sqlite:///{folder / 'sessions.db'}"),
    )

    def scripted(_: Vocabulary) -> Model:
        return ScriptedModel(answers)

    async with open_service(settings, scripted if answers else None) as service:
        session = await service.store.create("", "a test")
        run = service.turns.start(session.id, "", question)
        with run.read(60):
            await run.task
        [answer] = [
            event for event in await service.store.events(session.id) if event.type == "answer"
        ]
    return answer.data["verified"]


@pytest.mark.parametrize(
    ("question", "answers", "verified"),
    [
        (QUESTION, (), True),
        ("what is the total  amount of fi_reporting", (), True),
        ("Show the amount of fi_reporting", (), None),
        (QUESTION, (TOTAL, "It is 6,586,678.06 EUR."), True),
        (QUESTION, (TOTAL, "It is 6,586,678.07 EUR."), False),
        (QUESTION, ("I cannot say.",), True),  # the planner can
        (QUESTION, ("Of which year?",), None),
    ],
)
async def test_an_answer_is_stored_with_its_mark(
    demo: Path, tmp_path: Path, question: str, answers: Sequence[Any], verified: Any
) -> None:
    assert await _verified(demo, tmp_path, question, answers) is verified


def test_a_question_back_is_not_marked(demo: Path, skills: SkillRegistry) -> None:
    verified = open_verified(demo / "questions.yaml", demo / "sources.yaml", skills)
    assert verified is not None
    for ending in ("question", "failure"):
        assert verified.agrees(QUESTION, GivenAnswer("6586678.06?", (), ending)) is None


def test_without_a_file_nothing_is_marked(skills: SkillRegistry) -> None:
    assert open_verified(None, Path("sources.yaml"), skills) is None


def test_questions_about_other_sources_are_refused(
    written: Callable[[str], Path], tmp_path: Path, skills: SkillRegistry
) -> None:
    path = written("  - {question: x, numbers: [1]}\n")
    with pytest.raises(ConfigurationError, match=r"questions\.yaml:1: the chat uses the sources"):
        open_verified(path, tmp_path / "other.yaml", skills)
