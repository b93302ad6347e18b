"""Causes that are planted are found and proved, and nothing is named without one."""

import json
from pathlib import Path

import pytest
from tests.skillian.data.tables.why.small import SMALL, engine_over, write

from skillian.data.declare.saved import SavedComparison
from skillian.data.results.result import ComparisonResult


@pytest.mark.parametrize("name", SMALL)
async def test_what_is_planted_is_named_and_proved_and_nothing_else(
    name: str, tmp_path: Path
) -> None:
    async with engine_over(*write(SMALL[name], tmp_path)) as (engine, question):
        result = await engine.compare(question)
        why = await engine.tables.why(result.cache_key)
    assert tuple(rule.option for rule in why.rules) == SMALL[name].options, why.sentences
    facts = tuple((fact.subject, fact.column, fact.value) for fact in why.facts)
    assert facts == SMALL[name].facts
    assert all(rule.explained >= 5 for rule in why.rules)
    assert all(str(rule.matched) in rule.sentence for rule in why.rules)
    assert why.to_dict()["sentences"] == list(why.sentences)
    if SMALL[name].noisy:
        assert why.rules[-1].matched > 0.9 * why.rules[-1].total


@pytest.mark.parametrize(
    ("name", "kinds"),
    [("blanks and case", ("trim", "ignore_case")), ("one warehouse is missing", ("filter",))],
)
async def test_the_changes_of_a_rule_make_the_comparison_that_proved_it(
    name: str, kinds: tuple[str, ...], tmp_path: Path
) -> None:
    async with engine_over(*write(SMALL[name], tmp_path)) as (engine, question):
        result = await engine.compare(question)
        tried: list[str] = []
        why = await engine.tables.why(result.cache_key, tried.append)
        [rule] = why.rules
        assert rule.kinds == kinds
        assert any(rule.option in each for each in tried)
        changes = json.loads(json.dumps(rule.to_dict()["changes"]))
        again = SavedComparison.model_validate(
            {**question.model_dump(exclude_defaults=True), **changes}
        )
        for asked in (rule.applied(question), again):
            applied = await engine.compare(asked)
            assert isinstance(applied, ComparisonResult)
            assert (applied.rows.matched, applied.rows.rows_a) == (rule.matched, rule.total)
        assert await engine.tables.why(result.cache_key) is why
