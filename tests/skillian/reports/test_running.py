from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.skillian.reports.comparisons import asked, outcomes_of

from skillian.data.comparison.engine import ComparisonEngine
from skillian.data.declare.sources import SourceRegistry
from skillian.demo.ledger import write_demo
from skillian.errors import QueryError
from skillian.reports.as_html import write_html
from skillian.reports.as_json import write_json
from skillian.reports.as_markdown import write_markdown
from skillian.reports.formats import Depth
from skillian.reports.outcome import Compared, Failed, Outcome
from skillian.reports.running import AT_ONCE, open_engine, run_all


def test_a_difference_is_explained_and_looked_into(close: Outcome) -> None:
    assert isinstance(close, Compared)
    assert close.explanation is not None
    assert close.explanation.measures[0].sentence().startswith("98.3 %")
    assert close.rows is not None
    assert [group.key["period"] for group in close.rows.rows][:2] == ["2024004", "2024007"]
    assert len(close.drilled) == close.rows.total == 6
    assert [each.key for each in close.drilled] == [group.key for group in close.rows.rows]
    assert (close.drilled[1].a.row_count, close.drilled[1].b.row_count) == (40, 0)


def test_equal_sources_are_not_looked_into(equal: Outcome) -> None:
    assert isinstance(equal, Compared)
    assert (equal.explanation, equal.rows, equal.drilled) == (None, None, ())


def test_what_cannot_be_compared_says_why_and_the_others_go_on(failed: Outcome, demo: Path) -> None:
    assert isinstance(failed, Failed)
    assert "has no order" in failed.reason


def test_a_result_stands_whatever_its_explanation_fails_of(
    demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*_: Any, **__: Any) -> Any:
        raise QueryError("there is no room left to compare in")

    monkeypatch.setattr(ComparisonEngine, "explain", failing)
    [found] = outcomes_of(demo, asked())
    assert isinstance(found, Compared)
    assert found.verdict == "findings"
    assert found.rows is not None
    assert found.explanation is not None
    [note] = found.explanation.sentences
    assert note == "The gap is not explained: there is no room left to compare in"
    for write in (write_markdown, write_html, write_json):
        assert note in write([found])


async def test_all_are_run_in_their_order_a_few_at_once(
    demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most = 0, 0
    compare = ComparisonEngine.compare
    told: dict[str, list[str]] = {}

    async def counted(*arguments: Any, **named: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            for _ in range(5):  # long enough for others to start
                await asyncio.sleep(0)
            return await compare(*arguments, **named)
        finally:
            running -= 1

    monkeypatch.setattr(ComparisonEngine, "compare", counted)
    names = [str(number) for number in range(9)]
    comparisons = [asked(name=name, filters={"period": f"202400{name}"}) for name in names]
    async with open_engine(SourceRegistry.load(demo), 10) as engine:
        found = await run_all(
            engine,
            comparisons,
            Depth(),
            lambda name, doing: told.setdefault(name, []).append(doing),
        )
    assert [outcome.asked.name for outcome in found] == names
    assert found[0].verdict == "failed"
    assert most == AT_ONCE
    assert set(told) == set(names)
    assert all(doings[0] == "comparing" and doings[-1] == "" for doings in told.values())


@pytest.fixture
def two_databases(tmp_path: Path) -> Path:
    """The demo's sources, each on a connection of its own."""
    sources = write_demo(tmp_path)
    head, bpc = sources.read_text(encoding="utf-8").split("  bpc_reporting:")
    head = head.replace("  demo:", "  other: duckdb:///ledger.duckdb\n  demo:")
    bpc = bpc.replace("connection: demo", "connection: other")
    sources.write_text(f"{head}  bpc_reporting:{bpc}", encoding="utf-8")
    return sources


async def test_what_comes_in_from_two_databases_is_told(two_databases: Path) -> None:
    told: list[str] = []
    async with open_engine(SourceRegistry.load(two_databases), 10) as engine:
        [found] = await run_all(engine, [asked()], Depth(), lambda _, doing: told.append(doing))
    assert found.verdict == "findings"
    assert any("fi_reporting: 36 groups" in doing and "bpc" in doing for doing in told)


async def test_a_report_is_whole_where_servers_keep_nothing(tmp_path: Path) -> None:
    sources = write_demo(tmp_path)
    text = sources.read_text(encoding="utf-8")
    sources.write_text(text.replace("seconds: 3600", "seconds: 0"))
    async with open_engine(SourceRegistry.load(sources), 10) as engine:
        [found] = await run_all(engine, [asked()], Depth(5, 2), lambda *_: None)
    assert isinstance(found, Compared)
    assert len(found.drilled) == 2
