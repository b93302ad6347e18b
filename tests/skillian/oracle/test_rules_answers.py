"""Rules of filters and answers: what is chosen, reported, proved and remembered."""

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.oracle.questions import Column
from tests.skillian.oracle.running import AMOUNT, Pair, compared, keys, question, side
from tests.support.asking import comparing, measures_asked, page_of

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


INJECTIONS = (
    "' OR '1'='1", '"; DROP TABLE table_a; --', "x'); DELETE FROM table_a; --", "\\'; SELECT 1; --",
    "%(p0)s", "$p0", ":p0", "?", "%s", "{}", "%", "\\", "'", '"', "`", "/*", "--", "\n;",
)  # fmt: skip


DAYS = [date(2024, 1, day) for day in (1, 2, 3)]


MOST = Decimal("999999999999999999.99")
NOON, NEXT_DAY = datetime(2024, 1, 1, 12), datetime(2024, 1, 2)  # noqa: DTZ001 - without a zone
Tests = tuple[tuple[Any, list[Any]], ...]
# The keys of a column by its type; and filters, each with the keys that it keeps.
TYPES: dict[str, tuple[list[Any], Tests]] = {
    "text": (
        ["a", "b", "B", "é", "e\u0301", "z", "", "1001", "1001 ", "a ", None],
        (
            *(({"gte": "b", "lt": "é"}, ["b", "e\u0301", "z"]), ({"gt": "z"}, ["é"])),
            *(({"gte": "A", "lte": "a"}, ["B", "a"]), ("1001", ["1001"]), (1001, ["1001"])),
            *(("é", ["é"]), ("", [""]), (None, [None]), (["a", "b ", None], ["a", None])),
            ({"ne": ["a", "b", "B", "é", "z", "1001", "", None]}, ["1001 ", "a ", "e\u0301"]),
        ),
    ),
    "date": (
        [*DAYS, None],
        (
            ({"gt": "2024-01-01"}, DAYS[1:]),
            ({"between": [DAYS[0], "2024-01-02"]}, DAYS[:2]),
            ({"ne": [DAYS[0], DAYS[1]]}, [DAYS[2], None]),
        ),
    ),
    "decimal": (
        ["1.10", "1.11", MOST, -MOST],
        (
            *(({"lte": "1.1"}, [-MOST, Decimal("1.10")]), (1.1, [Decimal("1.10")])),
            *(({"gt": "999999999999999999.98"}, [MOST]), (str(MOST), [MOST]), ("1.1000001", [])),
        ),
    ),
    "boolean": (
        [True, False, None],
        (
            *((True, [True]), ({"ne": "true"}, [False, None]), ([False, None], [False, None])),
            ({"ne": None}, [False, True]),
        ),
    ),
    "integer": (
        [2**53, 2**53 + 1, 2**63 - 1, 1],
        (
            *((2**53 + 1, [2**53 + 1]), ({"gt": 10**20}, []), ([10**30, 1], [1])),
            ({"lt": 10**20, "gt": 2**60}, [2**63 - 1]),
        ),
    ),
    "timestamp": ([NOON, NEXT_DAY], (({"lt": "2024-01-02T00:00:00"}, [NOON]),)),
}


@pytest.mark.parametrize("kind", TYPES)
def test_filters_of_every_type(pair: Pair, kind: str) -> None:
    given, tests = TYPES[kind]
    columns = (Column("k", kind), AMOUNT)
    a = side("a", [(value, 1) for value in given], columns)

    async def ask(services: DataServices) -> list[list[Any]]:
        compare = comparing(services.comparison)
        results = [await compare("a", "b", ["amount"], filters={"key": test}) for test, _ in tests]
        return [keys(result) for result in results]

    assert pair.asked(question(a, side("b", [], columns)), ask) == [kept for _, kept in tests]


def test_a_value_is_never_part_of_the_statement(pair: Pair) -> None:
    async def ask(services: DataServices) -> None:
        compare = comparing(services.comparison)
        for test, kept in (
            ([*INJECTIONS], INJECTIONS),
            ({"ne": [*INJECTIONS, "y"]}, ["x"]),
            *(({"gte": text, "lte": text}, [text]) for text in INJECTIONS[:3]),
        ):
            result = await compare("a", "b", ["amount"], filters={"key": test})
            assert result.summary.rows_a == len(kept)
            assert {*keys(result)} <= {*kept}

    pair.asked(question([(text, 1) for text in ("x", *INJECTIONS)], []), ask)


def test_a_filter_holds_in_each_source_in_its_own_type(pair: Pair) -> None:
    a = side("a", [("7", "x", 1), ("07", "x", 5)], (Column("p"), Column("k"), AMOUNT),
             {"key": {"column": "k"}, "period": {"column": "p"}})  # fmt: skip
    b = side("b", [(7, "x", 1), (8, "x", 2)], (Column("p", "integer"), Column("k"), AMOUNT),
             {"key": {"column": "k"}, "period": {"column": "p"}})  # fmt: skip
    result = compared(pair, a, b, filters={"period": 7})
    assert result.summary.classes.match_rate == "100.0 %"
