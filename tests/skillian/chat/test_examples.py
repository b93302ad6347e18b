from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from skillian.chat.opening import open_agent
from skillian.chat.questions import example_questions
from skillian.data.declare.sources import SourceRegistry
from skillian.data.query.catalogue import SourceInfo
from skillian.data.services import DataServices
from skillian.demo.ledger import write_demo


async def described(sources: Path) -> Sequence[SourceInfo]:
    async with DataServices(SourceRegistry.load(sources)) as services:
        return await services.catalogue.sources()


async def test_the_offline_planner_answers_each_of_them(tmp_path: Path) -> None:
    sources = write_demo(tmp_path)
    questions = example_questions(await described(sources))
    assert questions == (
        "Compare amount between fi_reporting and bpc_reporting for company 1001",
        "Compare amount between fi_reporting and bpc_reporting by company",
        "Which sources are there?",
        "Show amount in fi_reporting by company",
    )
    async with open_agent(sources, None) as agent:
        for question in questions:
            response, _ = await agent.process(question)
            assert response.finished
            assert response.tool_calls_made, question


async def test_a_single_source_has_no_comparison(tmp_path: Path) -> None:
    text = await described(write_demo(tmp_path))
    assert example_questions(text[:1]) == (
        "Which sources are there?",
        "Show amount in fi_reporting by company",
    )
