"""Asks a model the verified questions of a file, one after another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from skillian.chat.agent import Agent, respond
from skillian.chat.opening import read_vocabulary
from skillian.chat.reading.briefing import read_briefing
from skillian.data.services import DataServices
from skillian.evaluation.judging import (
    AnswerJudge,
    AnswerVerdict,
    GivenAnswer,
    Judgement,
    given_answer,
)
from skillian.evaluation.questions import QuestionSet, VerifiedQuestion
from skillian.history.findings import Finding, Standing
from skillian.local_models import chosen_model
from skillian.models import context_of, make_model
from skillian.skills.discovery import load_registry
from tinyagent import RunFinished
from tinyagent.core import ModelAuthenticationError, ModelConnectionError, ModelResponded

if TYPE_CHECKING:
    from skillian.history.store import History

QUESTION_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """How one question was answered, and how long that took."""

    expected: VerifiedQuestion
    answer: GivenAnswer
    judgement: Judgement
    seconds: float


def count_verdicts(results: Sequence[QuestionResult]) -> str:
    """The counts in words, such as `8 right, 0 wrong, 1 asked back, 1 refused`.

    The answers of the planner in place of the model are named.
    """
    verdicts = [result.judgement.verdict for result in results]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in AnswerVerdict)
    planned = sum(result.answer.is_planned for result in results)
    return f"{counts} ({planned} answered by the offline planner)" if planned else counts


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results of a set of questions.

    Attributes:
        name: The name of the set.
        model: The model that answered.
        started: When the first question was asked.
        results: In the order of the file.
    """

    name: str
    model: str
    started: datetime
    results: tuple[QuestionResult, ...]

    def count(self, verdict: AnswerVerdict) -> int:
        """The number of questions with this verdict."""
        return sum(result.judgement.verdict is verdict for result in self.results)

    @property
    def is_right(self) -> bool:
        """Whether all questions were answered as expected."""
        return self.count(AnswerVerdict.RIGHT) == len(self.results)

    @property
    def sentence(self) -> str:
        """The counts in words."""
        return count_verdicts(self.results)

    def record(self, history: History) -> Standing:
        """Add this run to a history, where each question that is not right is a finding."""
        findings = [
            Finding(result.judgement.verdict, f"{result.expected.question!r}", {})
            for result in self.results
            if result.judgement.verdict is not AnswerVerdict.RIGHT
        ]
        verdict = "findings" if findings else "equal"
        name = f"eval {self.name}: {self.model}"
        return history.record(name, verdict, findings, len(findings), self.started)


class QuestionRun:
    """Asks the questions of a set.

    Args:
        questions: The set.
        agent: Answers.
        judge: Compares the answers with the expectations.
    """

    def __init__(self, questions: QuestionSet, agent: Agent, judge: AnswerJudge) -> None:
        self._questions = questions
        self._agent = agent
        self._judge = judge

    @property
    def model_name(self) -> str:
        """The model that answers."""
        return self._agent.model_name

    async def run(self, on_result: Callable[[QuestionResult], None] = lambda _: None) -> Evaluation:
        """Ask all questions, each in a conversation of its own.

        Args:
            on_result: Called after each question.

        Raises:
            tinyagent.core.ModelError: The model cannot be reached.
        """
        started = datetime.now(UTC)
        results: list[QuestionResult] = []
        for question in self._questions.questions:
            before = perf_counter()
            answer = await self._ask(question.question)
            judgement = self._judge.judge(question, answer)
            results.append(QuestionResult(question, answer, judgement, perf_counter() - before))
            on_result(results[-1])
        return Evaluation(self._questions.name, self._agent.model_name, started, tuple(results))

    async def _ask(self, question: str) -> GivenAnswer:
        reason = ""
        try:
            async with (
                asyncio.timeout(QUESTION_SECONDS),
                aclosing(self._agent.stream(question)) as events,
            ):
                async for event in events:
                    if isinstance(event, ModelResponded):
                        reason = event.response.finish_reason
                    elif isinstance(event, RunFinished):
                        return _given(event, reason)
        except TimeoutError:
            return GivenAnswer(f"There was no answer in {QUESTION_SECONDS:g} s.", (), "failure")
        raise AssertionError("a run always ends with RunFinished")


@asynccontextmanager
async def open_questions(
    questions: QuestionSet,
    model: str | None,
    skills: Iterable[Path] = (),
    context_tokens: int | None = None,
) -> AsyncGenerator[QuestionRun]:
    """Open the sources of a set of questions and the model; both close with the block.

    Args:
        questions: The set; its calls are checked.
        model: As in the settings; None is the offline planner.
        skills: Folders of skills in addition to the bundled ones.
        context_tokens: As in the settings.

    Raises:
        ConfigurationError: The file of the questions, of the sources or of a skill has faults.
        tinyagent.ConfigurationError: The model's key is missing.
    """
    async with (
        DataServices(questions.registry) as services,
        aclosing(load_registry(services, skills)) as registry,
    ):
        questions.check_calls(registry)
        vocabulary = await read_vocabulary(services, registry)
        name = await chosen_model(model)
        agent = Agent(
            make_model(name, vocabulary),
            registry,
            vocabulary,
            briefing=await read_briefing(services),  # without examples, which are its answers
            context_tokens=context_of(name, context_tokens),
        )
        yield QuestionRun(questions, agent, AnswerJudge(registry))


def _given(event: RunFinished, reason: str) -> GivenAnswer:
    """The answer of a run that has ended.

    Raises:
        ModelError: The model cannot be reached, so that the other questions would fail too.
    """
    error = event.result.error
    if isinstance(error, ModelAuthenticationError | ModelConnectionError):
        raise error
    return given_answer(respond(event.result), reason)
