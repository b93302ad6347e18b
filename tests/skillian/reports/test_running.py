import asyncio
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from tests.skillian.reports.comparisons import comparison_of, outcomes_of

from skillian.data.comparison import Depth
from skillian.data.comparison.engine import MeasureEngine
from skillian.data.declare.sources import SourceRegistry
from skillian.data.engine import ComparisonEngine, open_engine
from skillian.demo.ledger import write_demo
from skillian.errors import QueryError
from skillian.reports.as_html import write_html
from skillian.reports.as_json import write_json
from skillian.reports.as_markdown import write_markdown
from skillian.reports.outcome import AT_ONCE, Compared, run_all


def test_a_result_stands_when_its_explanation_fails(
    demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = QueryError("there is no room left to compare in")
    monkeypatch.setattr(MeasureEngine, "explain", AsyncMock(side_effect=failure))
    [outcome] = outcomes_of(demo, comparison_of())
    assert isinstance(outcome, Compared)
    assert outcome.verdict == "findings"
    assert outcome.rows is not None
    assert outcome.explanation is not None
    [note] = outcome.explanation.sentences
    assert note == "The gap could not be explained: there is no room left to compare in"
    for write in (write_markdown, write_html, write_json):
        assert note in write([outcome])


async def test_all_comparisons_run_in_order_a_few_at_a_time(
    demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most = 0, 0
    compare = ComparisonEngine._answered
    progress: dict[str, list[str]] = {}

    async def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            for _ in range(5):  # long enough for others to start
                await asyncio.sleep(0)
            return await compare(*arguments, **options)
        finally:
            running -= 1

    monkeypatch.setattr(ComparisonEngine, "_answered", counted)
    names = [str(number) for number in range(9)]
    comparisons = [comparison_of(name=name, filters={"period": f"202400{name}"}) for name in names]
    async with open_engine(SourceRegistry.load(demo), 10) as engine:
        outcomes = await run_all(
            engine,
            comparisons,
            Depth(),
            lambda name, activity: progress.setdefault(name, []).append(activity),
        )
    assert [outcome.comparison.name for outcome in outcomes] == names
    assert outcomes[0].verdict == "failed"
    assert most == AT_ONCE
    assert set(progress) == set(names)
    assert all((each[0], each[-1]) == ("comparing", "") for each in progress.values())


async def test_a_report_is_complete_without_a_cache(tmp_path: Path) -> None:
    sources = write_demo(tmp_path)
    text = sources.read_text(encoding="utf-8")
    sources.write_text(text.replace("seconds: 3600", "seconds: 0"))
    async with open_engine(SourceRegistry.load(sources), 10) as engine:
        [outcome] = await run_all(engine, [comparison_of()], Depth(5, 2), lambda *_: None)
    assert isinstance(outcome, Compared)
    assert len(outcome.drilled) == 2
