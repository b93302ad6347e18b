"""Marks answers to verified questions in a chat."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillian.chat.reading.briefing import Example
from skillian.errors import ConfigurationError, Fault
from skillian.evaluation.judging import (
    AnswerCall,
    AnswerJudge,
    AnswerVerdict,
    GivenAnswer,
    ending_of,
)
from skillian.evaluation.questions import QuestionSet, question_key, read_questions
from skillian.skills.registry import SkillRegistry

_MARKS = {AnswerVerdict.RIGHT: True, AnswerVerdict.WRONG: False}


class VerifiedAnswers:
    """The team's verified questions, as a chat recognises them.

    Args:
        questions: Their calls have been checked.
        skills: Have the tools of the calls.
    """

    def __init__(self, questions: QuestionSet, skills: SkillRegistry) -> None:
        self._questions = {each.key: each for each in questions.questions}
        self._judge = AnswerJudge(skills)

    def agrees(self, question: str, answer: GivenAnswer) -> bool | None:
        """Whether an answer is the verified one; None if there is none, or nothing was answered."""
        expected = self._questions.get(question_key(question))
        return None if expected is None else _MARKS.get(self._judge.judge(expected, answer).verdict)

    def agrees_event(
        self, question: str, answer: Mapping[str, Any], finish_reason: str
    ) -> bool | None:
        """The same for the data of the event `answer`, and how the model's last reply ended."""
        calls = tuple(
            AnswerCall(call["tool"], call["args"], call["result"]) for call in answer["tool_calls"]
        )
        ending = ending_of(finish_reason, finished=answer["finished"])
        return self.agrees(question, GivenAnswer(answer["content"], calls, ending))


def read_examples(path: Path | None) -> tuple[Example, ...]:
    """The verified questions whose calls a model may read as examples.

    Args:
        path: The file of the questions; none without it.

    Raises:
        ConfigurationError: The file has faults.
    """
    questions = () if path is None else read_questions(path).questions
    return tuple(
        Example(each.question, each.call.tool, each.call.arguments)
        for each in questions
        if each.call is not None and each.call.arguments is not None
    )


def open_verified(
    path: Path | None, sources: Path, skills: SkillRegistry
) -> VerifiedAnswers | None:
    """Read the verified questions for a chat; None if the settings name none.

    Args:
        path: The file of the questions.
        sources: The `sources.yaml` of the chat.
        skills: Have the tools of the calls.

    Raises:
        ConfigurationError: The file has faults, or its questions are about other sources.
    """
    if path is None:
        return None
    questions = read_questions(path)
    questions.check_calls(skills)
    if questions.sources.resolve() != sources.resolve():
        line = questions.document.line_of(("sources",))
        message = f"the chat uses the sources of {sources}, not these"
        fix = "change SKILLIAN_QUESTIONS or SKILLIAN_SOURCES"
        raise ConfigurationError([Fault(str(path), line, message, fix)])
    return VerifiedAnswers(questions, skills)
