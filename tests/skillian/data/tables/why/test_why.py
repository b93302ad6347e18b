"""Causes that are planted are found and proved, and nothing is named without one."""

import json
from pathlib import Path

import pytest
from tests.skillian.data.tables.why.pairs import with_cause, without_cause
from tests.skillian.data.tables.why.running import database_of, engine_over, explained, is_found
from tests.skillian.data.tables.why.small import SMALL, write

from skillian.data.declare.saved import SavedComparison
from skillian.data.results.result import ComparisonResult

CAUSES = {pair.name: pair for pair in with_cause()}
OTHERS = {pair.name: pair for pair in without_cause()}


PLANTED = (
    *("net of gross", "local Europe/London", "blanks and case", "deleted rows", "rates"),
    *("swapped in Japan", "Fahrenheit", "loaded twice", "without due"),
)


@pytest.mark.parametrize("name", [*PLANTED, "sign of integers and swapped amounts"])
async def test_a_planted_cause_is_named_first_and_proved(name: str, tmp_path: Path) -> None:
    pair = CAUSES[name]
    why = await explained(pair, tmp_path)
    assert is_found(pair, why), why.sentences
    assert all(rule.explained >= 5 for rule in why.rules)
    assert why.rules[-1].matched > 0.9 * why.rules[-1].total
    assert all(str(rule.matched) in rule.sentence.replace(",", "") for rule in why.rules)
    assert why.to_dict()["sentences"] == list(why.sentences)


@pytest.mark.parametrize("name", ["noise 0.1", "versions 0.008", "missing rows"])
async def test_without_a_cause_nothing_is_named(name: str, tmp_path: Path) -> None:
    why = await explained(OTHERS[name], tmp_path)
    assert why.sentences == ()


@pytest.mark.parametrize("name", SMALL)
async def test_of_small_tables_what_is_planted_is_named_and_nothing_else(
    name: str, tmp_path: Path
) -> None:
    async with engine_over(*write(SMALL[name], tmp_path)) as (engine, question):
        result = await engine.compare(question)
        why = await engine.tables.why(result.cache_key)
    assert tuple(rule.option for rule in why.rules) == SMALL[name].options, why.sentences
    facts = tuple((fact.subject, fact.column, fact.value) for fact in why.facts)
    assert facts == SMALL[name].facts


@pytest.mark.parametrize(
    ("name", "kinds"), [("blanks and case", ("trim", "ignore_case")), ("deleted rows", ("filter",))]
)
async def test_the_changes_of_a_rule_make_the_comparison_that_proved_it(
    name: str, kinds: tuple[str, ...], tmp_path: Path
) -> None:
    names = await database_of(CAUSES[name], tmp_path)
    async with engine_over(*names) as (engine, question):
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
