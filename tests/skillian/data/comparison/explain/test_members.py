"""Explanations: their bounds, their sentences, and heat maps; never at the cost of the result."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.data.conftest import MakeServices
from tests.support.asking import measures_asked, two_sources

from skillian.data.comparison.explain import members as explain
from skillian.data.comparison.explain.explanation import (
    Breakdown,
    Contribution,
    Explanation,
    MeasureExplanation,
)
from skillian.data.comparison.explain.heat_map import SIDE
from skillian.data.engine import ComparisonEngine
from skillian.data.results.groups import share
from skillian.data.results.result import ComparisonResult
from skillian.errors import InvalidInputError, QueryError, UnknownNameError


async def compared(
    make_services: MakeServices, count: int, rows: int
) -> tuple[ComparisonEngine, ComparisonResult]:
    """Of b's rows those with d3 = 5 are off by 1; the first dimension names the row."""
    names = [f"d{number}" for number in range(count)]
    columns = ["i AS d0"] + [
        f"(i * 31 + {number}) % {3 + number * 37} AS d{number}" for number in range(1, count)
    ]
    made = f"SELECT {', '.join(columns)}, i::DECIMAL(18, 2) AS amount FROM range({rows}) t (i)"  # noqa: S608 - ours
    changed = "SELECT * REPLACE (CASE WHEN d3 = 5 THEN amount + 1 ELSE amount + 0 END AS amount)"
    sources = two_sources(
        ", ".join(f"{name}: {{column: {name}}}" for name in names),
        "amount: {column: amount, aggregation: sum}",
    )
    script = f"CREATE TABLE a AS {made}; CREATE TABLE b AS {changed} FROM a"
    engine = make_services(script, sources).engine
    return engine, await engine.compare(measures_asked("a", "b", ["amount"], names))


async def test_forty_dimensions_are_explained(make_services: MakeServices) -> None:
    engine, result = await compared(make_services, 40, 20_000)
    explanation = await engine.measures.explain(result.cache_key)
    [measure] = explanation.measures
    assert measure.sentence() == "100.0 % of the gross gap in amount: d3 5, with 0.8 % of the rows."
    assert explanation.notes == ()
    shapes = [len(each.dimensions) for each in measure.breakdowns]
    # Each alone, and the few that tell most two at a time.
    assert (shapes.count(1), shapes.count(2)) == (40, explain.PAIRED * (explain.PAIRED - 1) // 2)


async def test_what_would_cost_too_much_is_left_out_with_a_sentence(
    make_services: MakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, result = await compared(make_services, 5, 400)
    differ = result.summary.classes.major_diff
    # Room for the whole and two dimensions.
    monkeypatch.setattr(explain, "MOST_WORK", differ * 2 * 3)
    explanation = await engine.measures.explain(result.cache_key)
    assert {each.dimensions for each in explanation.measures[0].breakdowns} == {("d0",), ("d1",)}
    [note] = explanation.notes
    assert "2 of 5 dimensions were examined; skipped: d2, d3, d4, because too many" in note
    assert explanation.to_dict()["interpretation"] == [*explanation.sentences]
    monkeypatch.setattr(explain, "MOST_WORK", 0)
    explanation = await engine.measures.explain(result.cache_key)
    assert explanation.measures == ()
    assert explanation.notes[0].startswith("0 of 5 dimensions")


async def test_a_gap_can_be_broken_down_by_more_than_it_was_aligned_on(
    make_services: MakeServices,
) -> None:
    engine, _ = await compared(make_services, 5, 400)
    key = (await engine.compare(measures_asked("a", "b", ["amount"], ["d0"]))).cache_key
    assert (await engine.measures.explain(key)).unused == ("d1", "d2", "d3", "d4")
    finer = await engine.measures.explain(key, ["d3"])
    assert (finer.grain, finer.cache_key) == (("d0", "d3"), key)
    assert {each.dimensions for each in finer.measures[0].breakdowns} >= {("d3",)}


async def test_a_statement_that_fails_ends_the_search_and_not_the_explanation(
    make_services: MakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, result = await compared(make_services, 5, 400)
    await engine.measures.explain(result.cache_key)
    run = engine.measures._workspace.run

    async def out_of_memory(statement: str, parameters: dict[str, object]) -> object:
        if "key_3" in statement:
            raise QueryError("connection 'workspace': Out of Memory Error")
        return await run(statement, parameters)

    monkeypatch.setattr(engine.measures._workspace, "run", out_of_memory)
    explanation = await engine.measures.explain(result.cache_key)
    shapes = [len(each.dimensions) for each in explanation.measures[0].breakdowns]
    assert 1 in shapes
    assert "Out of Memory" in explanation.notes[0]


SCRIPT = """
CREATE TABLE a AS SELECT i AS c, '01' AS p, i::DECIMAL(17, 2) AS v FROM range(100) t (i);
CREATE TABLE b AS SELECT 7 AS c, '02' AS p, 1::DECIMAL(17, 2) AS v;
"""
SOURCES = two_sources(
    "company: {column: c}, period: {column: p}, again: {column: p}",
    "amount: {column: v, aggregation: sum, unit: EUR}",
    "company, period",
)


async def mapped(make_services: MakeServices) -> tuple[ComparisonEngine, str]:
    engine = make_services(SCRIPT, SOURCES).engine
    return engine, (await engine.compare(measures_asked("a", "b", ["amount"]))).cache_key


async def test_the_largest_members_are_kept_and_the_others_counted(
    make_services: MakeServices,
) -> None:
    engine, key = await mapped(make_services)
    heat_map = await engine.measures.heat_map(key, ("company", "period"), "amount")
    assert heat_map.rows == tuple(range(100 - SIDE, 100))
    assert heat_map.columns == ("01",)
    assert (heat_map.more_rows, heat_map.more_columns, heat_map.unit) == (100 - SIDE, 1, "EUR")


async def test_unknown_names_are_reported(make_services: MakeServices) -> None:
    engine, key = await mapped(make_services)
    wrong: tuple[tuple[tuple[Any, ...], type[Exception], str], ...] = (
        ((key, ("company", "again"), "amount"), UnknownNameError, "again"),
        ((key, ("company", "period"), "amounts"), UnknownNameError, "amounts"),
        ((key, ("company", "company"), "amount"), InvalidInputError, "two different"),
        (("0", ("company", "period"), "amount"), InvalidInputError, "is unknown or has expired"),
    )
    for asked, kind, message in wrong:
        with pytest.raises(kind, match=message):
            await engine.measures.heat_map(*asked)


Rows = dict[tuple[str, ...], dict[tuple[object, ...], int]]


def breakdown(name: str, *gross: str, needed: int | None, members: int | None = None) -> Breakdown:
    shares = [
        Contribution({name: f"m{index}"}, Decimal(each), Decimal(each), 1)
        for index, each in enumerate(gross)
    ]
    return Breakdown((name,), members or len(gross), tuple(shares), needed)


def explained(*breakdowns: Breakdown, name: str = "amount") -> MeasureExplanation:
    return MeasureExplanation(name, "EUR", Decimal(100), Decimal(100), breakdowns, 1000)


SPREAD = "The gap in amount of 100 EUR gross is spread over many members."
MANY = breakdown("doc", *["5"] * 20, needed=None, members=500)
SHARES = (
    *(("1", "3", "33.3 %"), ("2", "3", "66.6 %"), ("100000", "100000", "100.0 %")),
    *(("99999", "100000", "99.9 %"), ("9" * 38, "1" + "0" * 38, "99.9 %"), ("1", "0", None)),
    *(("-1", "2", "-50.0 %"), ("-1", "-2", "50.0 %"), ("-1", "100000", "0.0 %")),
)


def test_a_share_is_cut_so_that_all_means_all() -> None:
    for part, whole, expected in SHARES:
        assert share(Decimal(part), Decimal(whole)) == expected


WITH_ROWS = (
    (1, "100.0 % of the gross gap in amount: currency m0, with 0.1 % of the rows."),
    (900, "100.0 % of the gross gap in amount: currency m0, with 90.0 % of the rows."),
    # A member that holds nearly all rows holds nearly all of any gap.
    *((987, SPREAD), (1000, SPREAD)),
)


def test_a_share_of_the_gap_is_compared_with_the_share_of_the_rows() -> None:
    one = explained(breakdown("currency", "100", needed=1))
    for rows, sentence in WITH_ROWS:
        known = one.with_rows({("currency",): {("m0",): rows}})
        assert known.sentence() == sentence
        [contribution] = known.to_dict()["breakdowns"][0]["contributions"]  # type: ignore[index]
        assert (contribution["rows"], contribution["gross_share"]) == (rows, "100.0 %")
        assert contribution["rows_share"] == f"{rows // 10}.{rows % 10} %"


def test_members_with_all_rows_explain_nothing_and_the_next_breakdown_is_first() -> None:
    only = breakdown("currency", "100", needed=1)
    both = explained(only, breakdown("period", "60", "40", needed=2))
    rows: Rows = {("currency",): {("m0",): 1000}, ("period",): {("m0",): 30, ("m1",): 20}}
    assert "amount: period m0; period m1, with 5.0 % of the rows" in both.with_rows(rows).sentence()
    everything: Rows = {**rows, ("period",): {("m0",): 500, ("m1",): 500}}
    assert both.with_rows(everything).sentence() == SPREAD


def test_measures_without_an_explanation_share_a_sentence() -> None:
    nothing = MeasureExplanation("games", None, Decimal(0), Decimal(0), ())
    assert nothing.sentence() == "There is no gap in games to explain."
    none = nothing, replace(nothing, measure="runs")
    gaps = explained(MANY, name="quantity"), explained(MANY, name="tax")
    [sentence] = Explanation("key", ("doc",), (), (*none, *gaps)).sentences
    assert "quantity of 100 EUR gross, tax of 100 EUR gross are spread over many" in sentence
    [sentence] = Explanation("key", ("doc",), (), none).sentences
    assert "no gap in games, runs" in sentence
