"""Causes that are planted are found and proved, and nothing is named without one."""

from pathlib import Path

import pytest
from benchmarks.why_causes import Pair, explained, is_found, with_cause, without_cause

CAUSES = {pair.name: pair for pair in with_cause()}
OTHERS = {pair.name: pair for pair in without_cause()}


@pytest.mark.parametrize(
    "name",
    [
        "net of gross",
        "local Europe/London",
        "cut at 20",
        "blanks and case",
        "deleted rows",
        "francs",
        "tail",
        "sign of integers and swapped amounts",
    ],
)
async def test_a_planted_cause_is_named_first_and_proved(name: str, tmp_path: Path) -> None:
    pair: Pair = CAUSES[name]
    why = await explained(pair, tmp_path)
    assert is_found(pair, why), why.sentences
    assert all(rule.explained >= 5 for rule in why.rules)
    assert why.rules[-1].matched > 0.9 * why.rules[-1].total
    assert why.to_dict()["sentences"] == list(why.sentences)


@pytest.mark.parametrize(
    "name", ["one cell", "noise 0.1", "statuses 0.03", "missing rows", "noise 0.01"]
)
async def test_without_a_cause_nothing_is_named(name: str, tmp_path: Path) -> None:
    why = await explained(OTHERS[name], tmp_path)
    assert why.sentences == ()
