"""Rules of the answer: summary, largest differences, proof, and what is remembered."""

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.oracle.check_follow_up import check_drill_down
from tests.skillian.oracle.oracle import STATUSES, Oracle
from tests.skillian.oracle.questions import Column
from tests.skillian.oracle.rules import AMOUNT, KEY, compared, keys, only, question, side, statuses
from tests.skillian.oracle.running import Pair
from tests.support.asking import comparing, measures_asked, page_of

from skillian.data.services import DataServices
from skillian.errors import InvalidInputError


def test_a_match_rate_is_never_rounded_up(pair: Pair) -> None:
    rows = [(f"{n:05d}", 1) for n in range(2500)]
    result = compared(pair, rows, [*rows[:-1], (rows[-1][0], 2)])
    assert result.summary.classes.match_rate == "99.9 %"
    assert compared(pair, rows, rows).summary.classes.match_rate == "100.0 %"


def test_a_load_run_twice_names_itself(pair: Pair) -> None:
    once = [("x", 10), ("x", 5), ("y", 1)]
    result = compared(pair, once, [*once[:2], *once])
    item = only(result)
    assert (item.rows_a, item.rows_b, item.percentage_diff) == (2, 4, Decimal("100.0000"))
    assert result.summary.measures[0].doubled_in_b == 1
    assert any("as if a load had run twice" in text for text in result.interpretation)


def test_twice_the_value_in_as_many_rows_is_not_a_repeated_load(pair: Pair) -> None:
    [amount] = compared(pair, [("x", 10)], [("x", 20)]).summary.measures
    assert (amount.doubled_in_a, amount.doubled_in_b) == (0, 0)


def test_different_row_counts_are_reported_where_values_match(pair: Pair) -> None:
    result = compared(pair, [("x", 1), ("x", 2), ("y", 0)], [("x", 3), ("y", 0), ("y", 0)])
    assert statuses(result) == {"match": 2}
    assert result.summary.uneven_groups == 2
    assert (result.summary.repeated_a, result.summary.repeated_b) == (1, 1)


def test_a_duplicated_row_worth_nothing_is_a_finding(pair: Pair) -> None:
    rows = [("x", 1), ("y", 0), (None, 0), ("z", 3)]
    result = compared(pair, rows, [*rows, ("y", 0), (None, 0)])
    assert statuses(result) == {"match": 4}
    assert result.summary.row_findings == 2
    sentence = (
        "In 2 groups all measures match and the number of rows does not (key y: 1 in a, 2 in b;"
        " key without a value: 1 in a, 2 in b): rows are duplicated or missing, which counts as a"
        " finding."
    )
    assert sentence in result.interpretation
    not_unique = "The key is not unique in b: 2 of 4 groups hold more than one row."
    assert not_unique in result.interpretation
    assert compared(pair, rows, rows).summary.row_findings == 0


def test_a_load_of_zeros_run_twice_is_a_finding(one_pair: Pair) -> None:
    rows = [("x", 0), ("y", 0)]
    assert compared(one_pair, rows, [*rows, *rows]).summary.row_findings == 2
    assert compared(one_pair, rows[:1] * 2, rows[:1]).summary.row_findings == 1


def test_postings_compared_with_their_totals_are_not_duplicates(one_pair: Pair) -> None:
    postings = [("x", 1), ("x", 2), ("y", 5), ("y", -5), ("y", 1), ("z", 4)]
    result = compared(one_pair, postings, [("x", 3), ("y", 1), ("z", 4)])
    assert statuses(result) == {"match": 3}
    assert (result.summary.uneven_matches, result.summary.row_findings) == (2, 0)
    first = "3 of 3 groups match (100.0 %), 2 of them with different numbers of rows."
    assert result.interpretation[0] == first


def test_a_flipped_sign_names_itself(pair: Pair) -> None:
    result = compared(pair, [("x", "-5.5"), ("y", 0)], [("x", "5.5"), ("y", 0)])
    assert result.summary.measures[0].opposite_sign == 1
    assert any("opposite sign" in text for text in result.interpretation)


def test_keys_that_nearly_meet_are_reported(pair: Pair) -> None:
    a = ["1001 ", "2 ", "abc", "007", "é", "same", "alone"]
    b = ["1001", " 2", "ABC", "7", "e\u0301", "same"]
    result = compared(pair, [(key, 1) for key in a], [(key, 1) for key in b])
    assert statuses(result) == {"match": 1, "missing_in_a": 5, "missing_in_b": 6}
    assert result.summary.near_misses.to_dict() == {
        "spaces": 2,
        "case": 1,
        "zeros": 1,
        "unicode": 1,
    }


def test_the_largest_differences_come_first_and_ties_by_key(pair: Pair) -> None:
    a = [("b", 5), ("a", 5), (None, 5), ("Z", 5), ("é", 5), ("", 5), ("big", 9), ("same", 1)]
    result = compared(pair, a, [("same", 1), ("new", -9)])
    assert keys(result) == ["big", "new", "", "Z", "a", "b", "é", None]


def test_at_most_ten_of_each_measure_leave_the_engine(pair: Pair) -> None:
    result = compared(
        pair, [(f"{n:02d}", n) for n in range(15)], [(f"{n:02d}", 0) for n in range(15)]
    )
    assert [item.a for item in result.top_differences] == list(range(14, 4, -1))
    assert statuses(result) == {"match": 1, "major_diff": 14}


def test_a_minor_difference_is_a_difference_and_a_match_within_limits_is_none(pair: Pair) -> None:
    limits = {
        "match": {"absolute": 1, "percentage": 100},
        "minor_diff": {"absolute": 5, "percentage": 100},
    }
    result = compared(
        pair, [("in", 10), ("minor", 10)], [("in", 11), ("minor", 15)], thresholds=limits
    )
    assert [(item.key["key"], item.status) for item in result.top_differences] == [
        ("minor", "minor_diff")
    ]
    assert result.summary.measures[0].gross_difference == 6


def test_two_empty_tables_have_nothing_to_compare(pair: Pair) -> None:
    result = compared(pair, [], [])
    assert (result.summary.classes.groups, result.summary.classes.match_rate) == (0, None)
    [amount] = result.summary.measures
    assert [amount.total_a, amount.net_difference, amount.gross_difference] == [None, 0, 0]
    assert "nothing to compare" in result.interpretation[0]


@pytest.mark.parametrize("swapped", [False, True])
def test_one_empty_table_misses_all(pair: Pair, swapped: bool) -> None:  # noqa: FBT001
    rows = [("x", 1), ("y", 2), (None, None)]
    result = compared(pair, *(([], rows) if swapped else (rows, [])))
    assert statuses(result) == {"missing_in_a" if swapped else "missing_in_b": 3}


def test_numbers_with_a_fraction_are_texts_in_json(pair: Pair) -> None:
    result = compared(pair, [("x", "0.1")], [("x", "1234567.25")])
    content = json.loads(json.dumps(result.to_dict()))["top_differences"][0]
    assert (content["a"], content["b"], content["gap"]) == ("0.10", "1234567.25", "1234567.15")
    assert (content["absolute_diff"], content["percentage_diff"]) == (
        "1234567.15",
        "1234567150.0000",
    )


def test_each_number_of_a_sentence_is_one_of_the_answer(one_pair: Pair) -> None:
    result = compared(
        one_pair,
        [("k", 10), ("l", "5.25"), ("m", None), ("n", 7), ("o", 4)],
        [("k", 20), ("k", 0), ("l", "-5.25"), ("m", 8), ("p", 3), ("o", 4)],
    )
    text = json.dumps(result.to_dict()["summary"]) + json.dumps(
        [item.to_dict() for item in result.top_differences]
    )
    known = set(re.findall(r"\d+(?:\.\d+)?", text))
    for sentence in result.interpretation:
        assert set(re.findall(r"\d+(?:\.\d+)?", sentence)) <= known, sentence


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
    async def ask(services: DataServices) -> None:
        compare = comparing(services.comparison)
        first = await compare("a", "b", ["amount"], filters={"key": "x"})
        assert await compare("a", "b", "amount", ["key"], {"key": ["x"]}, thresholds={}) is first
        others = [
            await compare("b", "a", ["amount"], filters={"key": "x"}),
            await compare("a", "b", ["amount"]),
            await compare("a", "b", ["amount"], filters={"key": "y"}),
            await compare("a", "b", ["amount"], filters={"key": {"ne": "x"}}),
            await compare("a", "b", ["amount"], filters={"key": None}),
            await compare("a", "b", ["amount", "count"], filters={"key": "x"}),
            await compare("a", "b", ["count", "amount"], filters={"key": "x"}),
            await compare("a", "b", ["amount"], ["key", "again"], {"key": "x"}),
            await compare("a", "b", ["amount"], ["again", "key"], {"key": "x"}),
            await compare(
                "a", "b", ["amount"], None, {"key": "x"}, thresholds={"match": {"absolute": 1}}
            ),
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


@pytest.mark.parametrize("key", [{}, {"kee": "x"}, {"key": "x", "other": 1}])
def test_a_key_must_name_the_dimensions_compared(one_pair: Pair, key: dict[str, Any]) -> None:
    async def ask(services: DataServices) -> None:
        result = await services.comparison.compare(measures_asked("a", "b", ["amount"]))
        with pytest.raises(InvalidInputError, match="comparison has key, not"):
            await services.comparison.drill_down(result.cache_key, key)

    one_pair.asked(question([("x", 1)], []), ask)


def test_what_is_not_remembered_is_to_be_compared_again(one_pair: Pair) -> None:
    async def ask(services: DataServices) -> None:
        engine = services.comparison
        for call in (
            engine.rows("0" * 64, page_of()),
            engine.explain("x"),
            engine.drill_down("x", {}),
        ):
            with pytest.raises(InvalidInputError, match="compare the sources again"):
                await call

    one_pair.asked(question([], []), ask)


def test_a_repeated_class_counts_once(one_pair: Pair) -> None:
    async def ask(services: DataServices) -> None:
        result = await services.comparison.compare(measures_asked("a", "b", ["amount"]))
        page = await services.comparison.rows(
            result.cache_key, page_of(["major_diff", "major_diff"])
        )
        assert (page.total, len(page.rows)) == (1, 1)

    one_pair.asked(question([("x", 1)], [("x", 2)]), ask)


def test_pages_of_each_class(pair: Pair) -> None:
    limits = {"minor_diff": {"absolute": 1, "percentage": 100}}
    asked = question(
        [("same", 1), ("near", 1), ("far", 1), ("only a", 1)],
        [("same", 1), ("near", 2), ("far", 9), ("only b", 1)],
        thresholds=limits,
    )

    async def ask(services: DataServices) -> dict[str, list[Any]]:
        result = await services.comparison.compare(
            measures_asked("a", "b", ["amount"], thresholds=limits)
        )
        pages = {
            each: await services.comparison.rows(result.cache_key, page_of(each))
            for each in STATUSES
        }
        return {each: [row.key["key"] for row in page.rows] for each, page in pages.items()}

    assert pair.asked(asked, ask) == {
        "match": ["same"],
        "minor_diff": ["near"],
        "major_diff": ["far"],
        "missing_in_a": ["only b"],
        "missing_in_b": ["only a"],
    }


def test_the_smallest_explanation_comes_first(pair: Pair) -> None:
    columns = (KEY, Column("p", "integer"), AMOUNT)
    dimensions = {"key": {"column": "k"}, "period": {"column": "p"}}
    a = [(f"{n}", period, 100) for n in range(10) for period in range(1, 13)]
    b = [(key, period, 100 if period != 12 else 50) for key, period, _ in a]
    asked = question(
        side("a", a, columns, dimensions),
        side("b", [*b[:-1], ("9", 12, 49)], columns, dimensions),
        align_on=("key", "period"),
    )

    async def ask(services: DataServices) -> Any:
        result = await services.comparison.compare(
            measures_asked("a", "b", ["amount"], ["key", "period"])
        )
        return await services.comparison.explain(result.cache_key)

    [measure] = pair.asked(asked, ask).measures
    first = measure.breakdowns[0]
    assert (first.dimensions, first.needed) == (("period",), 1)
    [all_of_it] = first.contributions
    assert (dict(all_of_it.member), all_of_it.net, all_of_it.gross) == ({"period": 12}, -501, 501)
    assert (
        measure.sentence()
        == "100.0 % of the gross gap in amount: period 12, with 8.3 % of the rows."
    )
