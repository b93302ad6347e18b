from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest
from tests.support.asking import measures_asked

from skillian.data.comparison.cache import Memory
from skillian.data.declare.sources import Connections, SourceRegistry
from skillian.data.engine import ComparisonEngine
from skillian.data.query.binding import Binder
from skillian.demo.ledger import postings, write_demo

FILES = ["ledger.duckdb", "questions.yaml", "sources.yaml"]


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[ComparisonEngine]:
    registry = SourceRegistry.load(write_demo(tmp_path))
    async with Connections(registry) as connections:
        yield ComparisonEngine(registry, Binder(registry, connections), Memory())


async def test_the_question_of_the_demo_shows_every_fault(engine: ComparisonEngine) -> None:
    result = await engine.compare(
        measures_asked("fi_reporting", "bpc_reporting", ["amount"], filters={"company": 1001})
    )
    assert result.summary.classes.to_dict() == {
        "match": 7,
        "minor_diff": 1,
        "major_diff": 3,
        "missing_in_a": 0,
        "missing_in_b": 1,
    }
    by_key = {item.key["period"]: item for item in result.top_differences}
    assert by_key.keys() == {"2024004", "2024006", "2024007", "2024009", "2024012"}
    twice = by_key["2024004"]
    assert (twice.b, twice.rows_b) == (2 * (twice.a or 0), 2 * twice.rows_a)
    assert (by_key["2024006"].status, by_key["2024006"].gap) == ("minor_diff", Decimal("-0.37"))
    assert by_key["2024007"].status == "missing_in_b"
    assert by_key["2024009"].rows_a == by_key["2024009"].rows_b
    assert by_key["2024012"].rows_a == by_key["2024012"].rows_b + 12
    [amount] = result.summary.measures
    assert amount.doubled_in_b == 1
    assert amount.total_a == sum(
        (item[5] for item in postings() if item[0] == 1001), start=Decimal(0)
    )


async def test_the_flipped_sign_shows_by_account(engine: ComparisonEngine) -> None:
    result = await engine.compare(
        measures_asked(
            "fi_reporting", "bpc_reporting", ["amount"], ["period", "account"], {"company": "1001"}
        )
    )
    [amount] = result.summary.measures
    assert amount.opposite_sign == 1
    [sentence] = [text for text in result.sentences if "opposite sign" in text]
    assert "period 2024009, account 400000" in sentence


async def test_the_other_companies_have_the_documented_faults(engine: ComparisonEngine) -> None:
    result = await engine.compare(
        measures_asked(
            "fi_reporting", "bpc_reporting", ["amount"], filters={"company": {"ne": "1001"}}
        )
    )
    assert [tuple(item.key.values()) for item in result.top_differences] == [("1003", "2024011")]
    exact = await engine.compare(
        measures_asked(
            "fi_reporting",
            "bpc_reporting",
            ["amount"],
            filters={"company": "1002"},
            thresholds={"match": {"absolute": 0, "percentage": 0}},
        )
    )
    assert [item.gap for item in exact.top_differences] == [Decimal("-0.01")]


async def test_cost_centres_meet_though_they_are_written_differently(
    engine: ComparisonEngine,
) -> None:
    result = await engine.compare(
        measures_asked(
            "fi_reporting", "bpc_reporting", ["documents"], ["cost_centre"], {"company": "1002"}
        )
    )
    assert result.summary.classes.match == 4


def test_every_run_writes_the_same_and_replaces_the_last(tmp_path: Path) -> None:
    assert list(postings()) == list(postings())
    first = write_demo(tmp_path / "new")
    assert write_demo(tmp_path / "new") == first
    assert sorted(path.name for path in first.parent.iterdir()) == FILES
