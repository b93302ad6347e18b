"""Rules of filters and answers: what is chosen, reported, proved and remembered."""

import re
from typing import Any

import pytest
from tests.skillian.oracle.running import Pair, compared, question
from tests.support.asking import measures_asked, page_of

from skillian.data.services import DataServices
from skillian.errors import InvalidInputError


def test_rows_that_are_repeated_count_as_findings_where_the_key_names_rows(one_pair: Pair) -> None:
    rows = [("x", 1), ("y", 0), (None, 0), ("z", 3)]
    result = compared(one_pair, rows, [*rows, ("y", 0), (None, 0)])
    sentence = (
        "In 2 groups all measures match and the number of rows does not (key y: 1 in a, 2 in b;"
        " key without a value: 1 in a, 2 in b): rows are duplicated or missing, which counts as a"
        " finding."
    )
    assert sentence in result.sentences
    not_unique = "The key is not unique in b: 2 of 4 groups hold more than one row."
    assert not_unique in result.sentences
    postings = [("x", 1), ("x", 2), ("y", 5), ("y", -5), ("y", 1), ("z", 4)]
    result = compared(one_pair, postings, [("x", 3), ("y", 1), ("z", 4)])
    first = "3 of 3 groups match (100.0 %), 2 of them with different numbers of rows."
    assert result.sentences[0] == first


def test_a_follow_up_that_cannot_be_is_refused(one_pair: Pair) -> None:
    async def ask(services: DataServices) -> None:
        engine = services.comparison
        key = (await engine.compare(measures_asked("a", "b", ["amount"]))).cache_key
        page = await engine.rows(key, page_of(["major_diff", "major_diff"]))
        assert (page.total, len(page.rows)) == (1, 1)
        for wrong in ({}, {"kee": "x"}, {"key": "x", "other": 1}):
            with pytest.raises(InvalidInputError, match="comparison has key, not"):
                await engine.drill_down(key, wrong)
        for call in (
            engine.rows("0" * 64, page_of()),
            engine.explain("x"),
            engine.drill_down("x", {}),
        ):
            with pytest.raises(InvalidInputError, match="compare the sources again"):
                await call

    one_pair.asked(question([("x", 1)], [("x", 2)]), ask)


def test_the_proof_holds_what_ran_and_no_value_is_in_the_statement(pair: Pair) -> None:
    result = compared(pair, [("o'neil", 1)], [], filters={"key": {"gte": "o'neil", "ne": "zzz"}})
    proof: Any = result.to_dict()["proof"]
    statements = [proof["sql"], *(query["sql"] for query in proof["queries"].values())]
    bound = [proof["parameters"], *(query["parameters"] for query in proof["queries"].values())]
    assert not any("neil" in text or "zzz" in text for text in statements)
    assert any("o'neil" in values.values() for values in bound)
    assert proof["filters"] == [
        {"dimension": "key", "operator": "gte", "values": ["o'neil"]},
        {"dimension": "key", "operator": "not_in", "values": ["zzz"]},
    ]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", proof["snapshot"])


def test_the_result_says_which_limits_decided(one_pair: Pair) -> None:
    def sentences(**thresholds: Any) -> list[str]:
        result = compared(one_pair, [("x", 100)], [("x", 104)], thresholds=thresholds)
        return [each for each in result.sentences if each.startswith("Limits")]

    assert sentences(match={"absolute": 0}) == []
    [sentence] = sentences(minor_diff={"percentage": 5}, match={"absolute": 1, "percentage": "0.5"})
    assert sentence == (
        "Limits of amount: a match is up to 1 and 0.5 % apart, a minor difference up to 5 % apart"
        " whatever the amount."
    )
