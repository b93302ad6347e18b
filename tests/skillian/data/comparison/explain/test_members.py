"""Explanations of wide comparisons: bounded, and never at the cost of the result."""

from collections.abc import Callable

import pytest
from tests.support.asking import measures_asked

from skillian.data.comparison.explain import members as explain
from skillian.data.services import DataServices
from skillian.errors import QueryError

MakeServices = Callable[[str, str], DataServices]

DIMENSIONS = [f"d{number}" for number in range(40)]
ROWS = 20_000


def sources(dimensions: list[str]) -> str:
    declared = ", ".join(f"{name}: {{column: {name}}}" for name in dimensions)
    side = """
  {name}:
    connection: c
    table: {name}
    dimensions: {{{declared}}}
    measures: {{amount: {{column: amount, aggregation: sum}}}}
"""
    text = "".join(side.format(name=name, declared=declared) for name in "ab")
    return f"connections: {{c: 'duckdb:///test.duckdb'}}\nsources:{text}"


def script(dimensions: list[str], rows: int) -> str:
    """Of b's rows those with d3 = 5 are off by 1; the first dimension names the row."""
    columns = [
        "i AS d0" if name == "d0" else f"(i * 31 + {number}) % {3 + number * 37} AS {name}"
        for number, name in enumerate(dimensions)
    ]
    made = f"SELECT {', '.join(columns)}, i::DECIMAL(18, 2) AS amount FROM range({rows}) t (i)"  # noqa: S608 - ours
    changed = "SELECT * REPLACE (CASE WHEN d3 = 5 THEN amount + 1 ELSE amount + 0 END AS amount)"
    return f"CREATE TABLE a AS {made}; CREATE TABLE b AS {changed} FROM a"


async def test_forty_dimensions_are_explained(make_services: MakeServices) -> None:
    services = make_services(script(DIMENSIONS, ROWS), sources(DIMENSIONS))
    result = await services.comparison.compare(measures_asked("a", "b", ["amount"], DIMENSIONS))
    explanation = await services.comparison.explain(result.cache_key)
    [measure] = explanation.measures
    assert measure.sentence() == "100.0 % of the gross gap in amount: d3 5, with 0.8 % of the rows."
    assert explanation.notes == ()
    shapes = [len(each.dimensions) for each in measure.breakdowns]
    # Each alone, and the few that tell most two at a time.
    assert (shapes.count(1), shapes.count(2)) == (40, explain.PAIRED * (explain.PAIRED - 1) // 2)


async def test_what_would_cost_too_much_is_left_out_with_a_sentence(
    make_services: MakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = DIMENSIONS[:5]
    services = make_services(script(few, 400), sources(few))
    result = await services.comparison.compare(measures_asked("a", "b", ["amount"], few))
    differ = result.summary.classes.major_diff
    # Room for the whole and two dimensions.
    monkeypatch.setattr(explain, "MOST_WORK", differ * 2 * 3)
    explanation = await services.comparison.explain(result.cache_key)
    assert {each.dimensions for each in explanation.measures[0].breakdowns} == {("d0",), ("d1",)}
    [note] = explanation.notes
    assert note == (
        "2 of 5 dimensions were examined; skipped: d2, d3, d4, because too many groups differ."
        " Compare by fewer dimensions for an explanation by all of them."
    )
    assert explanation.to_dict()["interpretation"] == [*explanation.sentences]

    monkeypatch.setattr(explain, "MOST_WORK", 0)
    explanation = await services.comparison.explain(result.cache_key)
    assert explanation.measures == ()
    assert explanation.notes[0].startswith("0 of 5 dimensions")


async def test_a_statement_that_fails_ends_the_search_and_not_the_explanation(
    make_services: MakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = DIMENSIONS[:5]
    services = make_services(script(few, 400), sources(few))
    result = await services.comparison.compare(measures_asked("a", "b", ["amount"], few))
    workspace = services.comparison._workspace
    await services.comparison.explain(result.cache_key)
    run = workspace.run

    async def out_of_memory(statement: str, parameters: dict[str, object]) -> object:
        if "key_3" in statement:
            raise QueryError("connection 'workspace': Out of Memory Error")
        return await run(statement, parameters)

    monkeypatch.setattr(workspace, "run", out_of_memory)
    explanation = await services.comparison.explain(result.cache_key)
    assert [
        each.dimensions for each in explanation.measures[0].breakdowns if len(each.dimensions) == 1
    ]
    assert "Out of Memory" in explanation.notes[0]
