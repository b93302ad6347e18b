"""Of a day and its month, either can say a period if the data shows that they agree."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest

from skillian.chat.check.question_check import Turn, merged
from skillian.chat.opening import read_vocabulary
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.offline.calls import PlannedCall
from skillian.offline.earlier import QUERY, Earlier
from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.planner import OfflinePlanner

TABLE = """
CREATE TABLE agreed AS
SELECT d AS day, strftime(d, '%Y-%m') AS month, year(d) || '-Q' || quarter(d) AS quarter, 1 AS n
FROM (SELECT DATE '2024-01-01' + CAST(range AS INTEGER) AS d FROM range(300));
CREATE TABLE late AS SELECT * FROM agreed
UNION ALL SELECT DATE '2024-03-31', '2024-04', '2024-Q1', 1;
CREATE TABLE gaps AS SELECT * FROM agreed
UNION ALL SELECT NULL, NULL, NULL, 1 UNION ALL SELECT NULL, '2024-03', '2024-Q1', 1;
"""
SOURCE = """
    connection: db
    table: {0}
    dimensions: {{day: {{column: day}}, month: {{column: month}}, quarter: {{column: quarter}}}}
    measures: {{n: {{column: n, aggregation: sum}}}}
"""
MARCH = {"gte": "2024-03-01", "lt": "2024-04-01"}


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    folder: Path = tmp_path_factory.mktemp("periods")
    names = ("agreed", "late", "gaps")
    with duckdb.connect(folder / "db.duckdb") as database:
        database.execute(TABLE)
    sources = "".join(f"  {name}:{SOURCE.format(name)}" for name in names)
    text = f"connections: {{db: 'duckdb:///db.duckdb'}}\nsources:\n{sources}"
    (folder / "sources.yaml").write_text(text)
    return asyncio.run(_read(folder / "sources.yaml"))


async def _read(sources: Path) -> Vocabulary:
    async with DataServices(SourceRegistry.load(sources)) as services:
        return await read_vocabulary(services)


def test_the_data_shows_which_periods_agree(vocabulary: Vocabulary) -> None:
    parts = {
        source: {name: each.parts for name, each in words.dimensions.items() if each.parts}
        for source, words in vocabulary.sources.items()
    }
    assert parts == {
        "agreed": {"month": ("day",), "quarter": ("day", "month")},
        "late": {"quarter": ("day",)},  # April is in the first quarter in one row
        "gaps": {"quarter": ("month",)},
    }


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        ("n of agreed in March 2024", {"month": "2024-03"}),
        ("n of agreed in Q1 2024", {"quarter": "2024-Q1"}),
        ("n of agreed by day in March 2024", {"day": {"between": ["2024-03-01", "2024-03-31"]}}),
        ("n of agreed since May 2024", {"month": {"gte": "2024-05"}}),
        (
            "n of agreed from March to 15 April 2024",
            {"day": {"between": ["2024-03-01", "2024-04-15"]}},
        ),
        ("n of late in March 2024", None),
        ("n of late in Q1 2024", None),  # that of its day or of its month
        ("n of gaps in March 2024", None),
    ],
)
def test_a_period_is_one_of_the_longest_dimension_that_has_it(
    vocabulary: Vocabulary, question: str, filters: dict[str, Any] | None
) -> None:
    planned = OfflinePlanner(vocabulary, date(2024, 12, 1)).plan(question, Earlier())
    made = planned.arguments["filters"] if isinstance(planned, PlannedCall) else None
    assert made == filters


@pytest.mark.parametrize(
    ("filters", "lost"),
    [
        ({"month": "2024-03"}, []),
        ({"day": MARCH}, []),
        ({"day": {"gte": "2024-03-01"}}, ["in March 2024"]),
        ({"month": ["2024-03", "2024-05"]}, ["in March 2024"]),
        ({"month": "2024-04"}, ["in March 2024"]),
        ({"month": "2024-03", "day": {"gte": "2024-03-02"}}, ["in March 2024"]),
        ({"month": {"ne": "2024-03"}}, ["in March 2024"]),
        ({}, ["in March 2024"]),
    ],
)
def test_a_call_may_have_the_period_in_either(
    vocabulary: Vocabulary, filters: dict[str, Any], lost: list[str]
) -> None:
    arguments = {"source": "agreed", "measures": ["n"], "filters": filters}
    calls = [merged(QUERY, arguments, Earlier())]
    turn = Turn("n of agreed in March 2024", vocabulary, calls)
    assert [loss.text for loss in turn.losses()] == lost
    assert lost or not [*turn.choices()]
