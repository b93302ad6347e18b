"""Rules of the answer: summary, largest differences, proof, and what is remembered."""

import re
from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.oracle.check_follow_up import check_drill_down
from tests.skillian.oracle.oracle import Oracle
from tests.skillian.oracle.questions import Column
from tests.skillian.oracle.rules import AMOUNT, KEY, compared, question, side, statuses
from tests.skillian.oracle.running import Pair
from tests.support.asking import comparing, measures_asked, page_of

from skillian.data.services import DataServices
from skillian.errors import InvalidInputError


def test_rows_that_are_repeated_count_as_findings_where_the_key_names_rows(one_pair: Pair) -> None:
    rows = [("x", 1), ("y", 0), (None, 0), ("z", 3)]
    result = compared(one_pair, rows, [*rows, ("y", 0), (None, 0)])
    assert statuses(result) == {"match": 4}
    assert result.summary.row_findings == 2
    sentence = (
        "In 2 groups all measures match and the number of rows does not (key y: 1 in a, 2 in b;"
        " key without a value: 1 in a, 2 in b): rows are duplicated or missing, which counts as a"
        " finding."
    )
    assert sentence in result.sentences
    not_unique = "The key is not unique in b: 2 of 4 groups hold more than one row."
    assert not_unique in result.sentences
    zeros = [("x", 0), ("y", 0)]
    assert compared(one_pair, zeros, [*zeros, *zeros]).summary.row_findings == 2
    postings = [("x", 1), ("x", 2), ("y", 5), ("y", -5), ("y", 1), ("z", 4)]
    result = compared(one_pair, postings, [("x", 3), ("y", 1), ("z", 4)])
    assert (result.summary.uneven_matches, result.summary.row_findings) == (2, 0)
    first = "3 of 3 groups match (100.0 %), 2 of them with different numbers of rows."
    assert result.sentences[0] == first


def test_empty_tables_have_nothing_to_compare(pair: Pair) -> None:
    assert "nothing to compare" in compared(pair, [], []).sentences[0]


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


def test_keys_that_nearly_meet_are_reported(pair: Pair) -> None:
    a = ["1001 ", "2 ", "abc", "007", "é", "same", "alone"]
    b = ["1001", " 2", "ABC", "7", "e\u0301", "same"]
    result = compared(pair, [(key, 1) for key in a], [(key, 1) for key in b])
    assert statuses(result) == {"match": 1, "missing_in_a": 5, "missing_in_b": 6}
    met = {"spaces": 2, "case": 1, "zeros": 1, "unicode": 1}
    assert result.summary.near_misses.to_dict() == met


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


def test_the_same_question_is_answered_from_memory(one_pair: Pair) -> None:
    wide = {"match": {"absolute": 1}}
    filters: tuple[Any, ...] = (None, {"key": "y"}, {"key": {"ne": "x"}}, {"key": None})
    measured, aligned = (
        (["amount", "count"], ["count", "amount"]),
        (["key", "again"], ["again", "key"]),
    )

    async def ask(services: DataServices) -> None:
        compare = comparing(services.comparison)
        first = await compare("a", "b", ["amount"], filters={"key": "x"})
        assert await compare("a", "b", "amount", ["key"], {"key": ["x"]}, thresholds={}) is first
        others = [
            await compare("b", "a", ["amount"], filters={"key": "x"}),
            await compare("a", "b", ["amount"], filters={"key": "x"}, thresholds=wide),
            *[await compare("a", "b", ["amount"], filters=each) for each in filters],
            *[await compare("a", "b", names, None, {"key": "x"}) for names in measured],
            *[await compare("a", "b", ["amount"], names, {"key": "x"}) for names in aligned],
        ]
        found = {first.cache_key, *(other.cache_key for other in others)}
        assert len(found) == len(others) + 1

    dimensions = {"key": {"column": "k"}, "again": {"column": "k"}}
    measures = {how: {"column": "v", "aggregation": how} for how in ("sum", "count")}
    measures["amount"] = measures.pop("sum")
    sides = [side(name, [("x", 1)], (KEY, AMOUNT), dimensions, measures) for name in "ab"]
    one_pair.asked(question(*sides), ask)


def test_a_decimal_drilled_into_is_json(pair: Pair) -> None:
    column = Column("k", "decimal", 2, 10)
    asked = question(
        side("a", [("1.50", 1), ("1.50", 2), ("2", 3)], (column, AMOUNT)),
        side("b", [("1.5", 4)], (column, AMOUNT)),
    )

    async def ask(services: DataServices) -> None:
        result = await services.comparison.compare(measures_asked("a", "b", ["amount"]))
        oracle = Oracle(asked)
        group = next(each for each in oracle.groups if each.key == (Decimal("1.50"),))
        for key in (only_key(result.to_dict()), {"key": Decimal("1.5")}, {"key": 1.5}):
            found = await services.comparison.drill_down(result.cache_key, key)
            check_drill_down(found, oracle, group)

    pair.asked(asked, ask)


def only_key(value: Any) -> Any:
    """The key of the second difference, as JSON has it."""
    return value["top_differences"][1]["key"]
