"""Rules that somebody worked out: of answers, keys, measures, names and binary floats."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.oracle.questions import Side
from tests.skillian.oracle.running import KEY, Pair, compared, only, question, side, statuses
from tests.skillian.oracle.tables import Profile
from tests.support.asking import measures_asked, page_of
from tests.support.places import Column

from skillian.data.services import DataServices
from skillian.errors import InvalidInputError


def test_rows_that_are_repeated_count_as_findings_where_the_key_names_rows(one_pair: Pair) -> None:
    rows = [("x", 1), ("y", 0), (None, 0), ("z", 3)]
    result = compared(one_pair, rows, [*rows, ("y", 0), (None, 0)])
    uneven = "(key y: 1 in a, 2 in b; key without a value: 1 in a, 2 in b)"
    assert any(uneven in each and "counts as a finding" in each for each in result.sentences)
    assert any("not unique in b: 2 of 4 groups" in each for each in result.sentences)
    postings = [("x", 1), ("x", 2), ("y", 5), ("y", -5), ("y", 1), ("z", 4)]
    result = compared(one_pair, postings, [("x", 3), ("y", 1), ("z", 4)])
    assert "2 of them with different numbers of rows" in result.sentences[0]


def test_a_follow_up_that_cannot_be_is_refused(one_pair: Pair) -> None:
    async def ask(services: DataServices) -> None:
        engine = services.engine
        key = (await engine.compare(measures_asked("a", "b", ["amount"]))).cache_key
        page = await engine.rows(key, page_of(["major_diff", "major_diff"]))
        assert (page.total, len(page.rows)) == (1, 1)
        for wrong in ({}, {"kee": "x"}, {"key": "x", "other": 1}):
            with pytest.raises(InvalidInputError, match="comparison has key, not"):
                await engine.measures.drill_down(key, wrong)
        for call in (
            engine.rows("0" * 64, page_of()),
            engine.explain("x"),
            engine.measures.drill_down("x", {}),
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
    assert "match is up to 1 and 0.5 % apart" in sentence
    assert "difference up to 5 % apart whatever the amount" in sentence


MONEY = Column("v", "decimal", 2, 24)


AVERAGES: tuple[tuple[list[Any], str], ...] = (
    (["-2", "0", "0"], "-0.66666667"),
    (["0.01", None, None], "0.01"),
    (["0.01"] + ["0"] * 63, "0.00015625"),
    (["0.01"] + ["0"] * 127, "0.00007813"),
    (["-0.01"] + ["0"] * 127, "-0.00007813"),
    (["999999999999999999.99", "999999999999999999.98"], "999999999999999999.985"),
)


def test_averages_are_exact_quotients_rounded_half_away_from_zero(pair: Pair) -> None:
    rows = [(str(n), value) for n, (values, _) in enumerate(AVERAGES) for value in values]
    measures = {"amount": {"column": "v", "aggregation": "avg"}}
    result = compared(
        pair, *(side(name, rows[: n * 999], measures=measures) for name, n in (("a", 1), ("b", 0)))
    )
    by_key = {item.key["key"]: item.a for item in result.top_differences}
    assert by_key == {str(n): Decimal(average) for n, (_, average) in enumerate(AVERAGES)}


def test_an_expression_is_a_measure(pair: Pair) -> None:
    negated = (
        "v * -1", "-v", "v - 2 * v", "CASE WHEN k = 'x' THEN -v ELSE v END", "COALESCE(v, 0) * -1",
        "CAST(v AS DECIMAL(18,2)) * -1", "v * (1 - 2.00)", "ROUND(-v, 2)", "NULLIF(-v, 0)",
    )  # fmt: skip
    plain = {f"m{n}": {"column": "v", "aggregation": "sum"} for n in range(len(negated))}
    expressions = {
        f"m{n}": {"expression": text, "aggregation": "sum"} for n, text in enumerate(negated)
    }
    a = side("a", [("x", "-5.25"), ("x", "1")], (KEY, MONEY), measures=plain)
    b = side("b", [("x", "5.25"), ("x", "-1")], (KEY, MONEY), measures=expressions)
    result = pair.compared(question(a, b, measures=tuple(expressions)))
    assert statuses(result) == {"match": 1}
    assert {measure.total_b for measure in result.summary.measures} == {Decimal("-4.25")}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, v * 2 AS v FROM table_b WHERE v > 0",
        "SELECT k, SUM(v) * 2 AS v FROM table_b WHERE v > 0 GROUP BY k",
        "WITH kept AS (SELECT k, v FROM table_b WHERE v > 0) SELECT k, v + v AS v FROM kept",
        (
            "SELECT one.k, one.v + other.v AS v FROM table_b AS one JOIN table_b AS other"
            " ON one.k = other.k WHERE one.v > 0"
        ),
    ],
)
def test_a_query_may_take_the_place_of_a_table(pair: Pair, query: str) -> None:
    rows = [("x", 1), ("y", 2), ("z", -1)]
    b = replace(side("b", rows), query=pair.written(query))
    result = pair.compared(question([("x", 2), ("y", 3)], b))
    assert statuses(result) == {"match": 1, "major_diff": 1}
    assert [only(result).gap, result.summary.rows_b] == [1, 2]


def test_names_given_twice_count_once(one_pair: Pair) -> None:
    asked = measures_asked("a", "b", ["amount"] * 2, ("key", "key"))
    result = one_pair.asked(
        question([("x", 1)], [("x", 2)]), lambda each: each.engine.compare(asked)
    )
    assert (result.key_columns, len(result.summary.measures)) == (("key",), 1)


FLOAT = Column("v", "float")
NAN, HIGH, LOW = math.nan, math.inf, -math.inf
EACH = {how: {"column": "v", "aggregation": how} for how in ("sum", "avg", "min", "max")}


def floats(name: str, rows: Sequence[tuple[Any, Any]], measures: Any = None) -> Side:
    return side(name, rows, (KEY, FLOAT), measures=measures)


def test_floats_count_as_the_decimals_they_print(pair: Pair) -> None:
    a = [("x", 0.1), ("x", 0.2), ("y", 0.1 + 0.2), ("z", NAN), ("u", HIGH), (None, 123456789012.5)]
    result = compared(pair, floats("a", a), side("b", [("x", "0.3"), ("y", "0.3"), ("z", "1")]))
    for words in ("shortest decimal that reads back as the same float", "NaN or infinite"):
        assert any(words in text for text in result.sentences)


def test_nan_in_a_decimal_of_postgres(place_of: Any) -> None:
    rows: list[tuple[Any, Any]] = [("x", "NaN"), ("x", "1"), ("y", "2")]
    pair = Pair([place_of("postgres")], Profile())
    result = pair.compared(question(rows, rows))
    assert statuses(result) == {"match": 2}
    result = pair.compared(question(rows, [("x", "1"), ("y", "2")]))
    assert only(result).reason == "nan_in_a"
    [amount] = result.summary.measures
    assert (str(amount.total_a), amount.total_b) == ("NaN", Decimal(3))


def test_one_source_gives_the_same_answers(pair: Pair) -> None:
    rows = [("x", 0.1), ("x", 0.2), ("y", NAN), ("y", 1.0), ("z", LOW), (None, None)]
    asked = question(floats("a", rows, EACH), floats("b", rows, EACH), measures=[*EACH])

    async def ask(services: DataServices) -> Any:
        return await services.query.query("a", ["key"], [*EACH])

    found = {row[0]: [str(value) for value in row[1:]] for row in pair.asked(asked, ask).rows}
    assert [Decimal(value) for value in found["x"]] == [
        Decimal(text) for text in ("0.3", "0.15", "0.1", "0.2")
    ]
    assert [*found["y"][:2], found["y"][3]] == ["NaN"] * 3
    assert Decimal(found["y"][2]) == 1
    assert found["z"] == ["-Infinity"] * 4
    assert found[None] == ["None"] * 4
