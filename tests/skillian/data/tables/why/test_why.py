"""Causes that are planted are found and proved, and nothing is named without one."""

from pathlib import Path

import pytest
from tests.skillian.data.tables.why.small import SMALL, engine_over, write


@pytest.mark.parametrize("name", SMALL)
async def test_what_is_planted_is_named_and_proved_and_nothing_else(
    name: str, tmp_path: Path
) -> None:
    async with engine_over(*write(SMALL[name], tmp_path)) as (engine, question):
        result = await engine.compare(question)
        why = await engine.tables.explain(result.cache_key)
    assert tuple(rule.option for rule in why.rules) == SMALL[name].options, why.sentences
    facts = tuple((fact.subject, fact.column, fact.value) for fact in why.facts)
    assert facts == SMALL[name].facts
    assert all(rule.explained >= 5 for rule in why.rules)
    assert all(str(rule.matched) in rule.sentence for rule in why.rules)
    assert why.to_dict()["sentences"] == list(why.sentences)
    if SMALL[name].noisy:
        assert why.rules[-1].matched > 0.9 * why.rules[-1].total
