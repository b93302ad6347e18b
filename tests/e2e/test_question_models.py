"""A larger real model answers the questions of ten domains, with the check of its calls.

It may be wrong about a question, but a wrong call never becomes an answer: the check turns it into
a question back. The counts are printed.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from tests.skillian.llm.domains import (
    DOMAINS,
    Asked,
    expected_call,
    questions,
    vocabulary_of,
)

from skillian.chat.agent import Agent, Conversation, respond
from skillian.chat.reading.briefing import read_briefing
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.evaluation.judging import (
    AnswerJudge,
    AnswerVerdict,
    GivenAnswer,
    Judgement,
    given_answer,
)
from skillian.evaluation.questions import ExpectedCall, VerifiedQuestion
from skillian.offline.planner import OfflinePlanner
from skillian.skills.discovery import load_registry
from tinyagent import Model, OpenAIModel, RunFinished
from tinyagent.core import ModelResponded

QUESTIONS_PER_DOMAIN = 8
_REMEMBERED = ("explain_difference", "drill_down", "get_comparison_rows")


@pytest.mark.models
@pytest.mark.timeout(7200)
async def test_a_wrong_call_of_a_larger_model_never_becomes_an_answer(
    large_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = OpenAIModel("qwen2.5-coder-1.5b-instruct", base_url=large_model, timeout=300)
    verdicts: dict[AnswerVerdict, list[str]] = {verdict: [] for verdict in AnswerVerdict}
    answers: list[GivenAnswer] = []
    for domain in DOMAINS:
        folder = tmp_path / domain
        folder.mkdir()
        async with _opened(domain, folder, model) as (planner, agent, judge):
            for asked in _sample(domain):
                before = await _conversation(planner, asked)
                answers.append(await _answer(agent, asked.question, before))
                judgement = _judged(judge, asked, answers[-1])
                line = f"{domain}: {asked.question}: {judgement.reason}"
                verdicts[judgement.verdict].append(line)
    counts = ", ".join(f"{len(lines)} {verdict}" for verdict, lines in verdicts.items())
    planned = sum(answer.is_planned for answer in answers)
    with capsys.disabled():
        sys.stdout.write(f"{model.name}: {counts} ({planned} answered by the planner)\n")
    assert verdicts[AnswerVerdict.WRONG] == []
    assert verdicts[AnswerVerdict.RIGHT]


def _sample(domain: str) -> list[Asked]:
    """Questions from the beginning to the end of a domain's file."""
    every = questions(domain)
    return every[:: max(1, len(every) // QUESTIONS_PER_DOMAIN)]


@asynccontextmanager
async def _opened(
    domain: str, folder: Path, model: Model
) -> AsyncGenerator[tuple[Agent, Agent, AnswerJudge]]:
    """The planner and the model over a domain's sources, and what judges their answers."""
    vocabulary = await vocabulary_of(domain, folder)
    async with (
        DataServices(SourceRegistry.load(folder / "sources.yaml")) as services,
        aclosing(load_registry(services, ())) as registry,
    ):
        planner = Agent(OfflinePlanner(vocabulary), registry, vocabulary)
        yield (
            planner,
            Agent(model, registry, vocabulary, briefing=await read_briefing(services)),
            AnswerJudge(registry),
        )


async def _conversation(planner: Agent, asked: Asked) -> Conversation | None:
    """The conversation that a follow-up question continues."""
    conversation = None
    for question in asked.after:
        _, conversation = await planner.process(question, conversation)
    return conversation


async def _answer(agent: Agent, question: str, before: Conversation | None) -> GivenAnswer:
    reason = ""
    async for event in agent.stream(question, before):
        if isinstance(event, ModelResponded):
            reason = event.response.finish_reason
        elif isinstance(event, RunFinished):
            return given_answer(respond(event.result), reason)
    raise AssertionError("a run always ends with RunFinished")


def _judged(judge: AnswerJudge, asked: Asked, answer: GivenAnswer) -> Judgement:
    """Judge an answer; one to a question that the sources cannot express is wrong."""
    if "refused" in asked.expected:
        call = ExpectedCall(tool="query_source", arguments={"source": "no such source"})
        return judge.judge(VerifiedQuestion(question=asked.question, call=call), answer)
    name, arguments = expected_call(asked.expected)
    if name == "compare_sources" and "align_on" not in arguments:
        # Groups that the question leaves open are the model's choice, which the scope states.
        made = [call.arguments.get("align_on") for call in answer.calls if call.tool == name]
        arguments = {**arguments, "align_on": made[-1] if made else None}
    call = ExpectedCall(tool=name, arguments=None if name in _REMEMBERED else arguments)
    return judge.judge(VerifiedQuestion(question=asked.question, call=call), answer)
