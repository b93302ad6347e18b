"""Comparisons that are answered without planning them again."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.support.asking import measures_asked

from skillian.connectors.base import ColumnType
from skillian.data.comparison.plan import Planner
from skillian.data.declare.saved import SavedComparison
from skillian.data.services import DataServices

MakeServices = Callable[[str, str], DataServices]

TABLES = "CREATE TABLE a (k VARCHAR, v DECIMAL(17, 2)); CREATE TABLE b AS FROM a;"
SOURCES = """
connections: {db: 'duckdb:///test.duckdb'}
sources:
  a:
    connection: db
    table: a
    dimensions: {key: {column: k}}
    measures: {amount: {column: v, aggregation: sum}}
  b:
    connection: db
    table: b
    dimensions: {key: {column: k}}
    measures: {amount: {column: v, aggregation: sum}}
comparison:
  default_align_on: [key]
"""


async def test_a_remembered_question_is_not_planned_again_unless_a_source_has_changed(
    make_services: MakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_services(TABLES, SOURCES).comparison
    planned: list[SavedComparison] = []
    plan = Planner.plan

    async def noted(planner: Planner, question: SavedComparison, sources: Any) -> Any:
        planned.append(question)
        return await plan(planner, question, sources)

    monkeypatch.setattr(Planner, "plan", noted)
    first = await engine.compare(measures_asked("a", "b", ["amount"], filters={"key": "x"}))
    assert await engine.compare(measures_asked("a", "b", ["amount"], filters={"key": "x"})) is first
    assert len(planned) == 1
    assert (
        await engine.compare(measures_asked("a", "b", ["amount"], filters={"key": "y"}))
        is not first
    )
    assert len(planned) == 2
    bind = Planner.bind

    async def widened(planner: Planner, question: SavedComparison) -> Any:
        a, b = await bind(planner, question)
        return replace(a, columns={**a.columns, "more": ColumnType("text", "VARCHAR")}), b

    monkeypatch.setattr(Planner, "bind", widened)
    changed = await engine.compare(measures_asked("a", "b", ["amount"], filters={"key": "x"}))
    assert changed.cache_key != first.cache_key
    assert len(planned) == 3
