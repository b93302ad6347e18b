"""Rules of filters: every form on every type, and nothing that is not a value."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.oracle.questions import Column
from tests.skillian.oracle.rules import AMOUNT, compared, keys, question, side
from tests.skillian.oracle.running import Pair
from tests.support.asking import comparing

from skillian.data.services import DataServices

INJECTIONS = (
    "' OR '1'='1", '"; DROP TABLE table_a; --', "x'); DELETE FROM table_a; --", "\\'; SELECT 1; --",
    "%(p0)s", "$p0", ":p0", "?", "%s", "{}", "%", "\\", "'", '"', "`", "/*", "--", "\n;",
)  # fmt: skip


DAYS = [date(2024, 1, day) for day in (1, 2, 3)]


MOST = Decimal("999999999999999999.99")
NOON, NEXT_DAY = datetime(2024, 1, 1, 12), datetime(2024, 1, 2)  # noqa: DTZ001 - without a zone
TYPES: tuple[tuple[str, list[Any], tuple[tuple[Any, list[Any]], ...]], ...] = (
    (
        "text",
        ["a", "b", "B", "é", "e\u0301", "z", "", "1001", "1001 ", "a ", None],
        (
            ({"gte": "b", "lt": "é"}, ["b", "e\u0301", "z"]),
            ({"gt": "z"}, ["é"]),
            ({"gte": "A", "lte": "a"}, ["B", "a"]),
            ("1001", ["1001"]),
            (1001, ["1001"]),
            ("é", ["é"]),
            ("", [""]),
            (None, [None]),
            (["a", "b ", None], ["a", None]),
            ({"ne": ["a", "b", "B", "é", "z", "1001", "", None]}, ["1001 ", "a ", "e\u0301"]),
        ),
    ),
    (
        "date",
        [*DAYS, None],
        (
            ({"gt": "2024-01-01"}, DAYS[1:]),
            ({"between": [DAYS[0], "2024-01-02"]}, DAYS[:2]),
            ({"ne": [DAYS[0], DAYS[1]]}, [DAYS[2], None]),
        ),
    ),
    (
        "decimal",
        ["1.10", "1.11", MOST, -MOST],
        (
            ({"lte": "1.1"}, [-MOST, Decimal("1.10")]),
            (1.1, [Decimal("1.10")]),
            ("1.1000001", []),
            ({"gt": "999999999999999999.98"}, [MOST]),
            (str(MOST), [MOST]),
        ),
    ),
    (
        "boolean",
        [True, False, None],
        ((True, [True]), ({"ne": "true"}, [False, None]), ([False, None], [False, None])),
    ),
    (
        "integer",
        [2**53, 2**53 + 1, 2**63 - 1, 1],
        (
            (2**53 + 1, [2**53 + 1]),
            ({"gt": 10**20}, []),
            ({"lt": 10**20, "gt": 2**60}, [2**63 - 1]),
            ([10**30, 1], [1]),
        ),
    ),
    ("timestamp", [NOON, NEXT_DAY], (({"lt": "2024-01-02T00:00:00"}, [NOON]),)),
)


@pytest.mark.parametrize(("kind", "given", "tests"), TYPES, ids=[kind for kind, *_ in TYPES])
def test_filters_of_every_type(
    pair: Pair, kind: str, given: list[Any], tests: tuple[tuple[Any, list[Any]], ...]
) -> None:
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
        for text in INJECTIONS:
            result = await compare(
                "a", "b", ["amount"], filters={"key": {"gte": text, "lte": text}}
            )
            assert keys(result) == [text]
        result = await compare("a", "b", ["amount"], filters={"key": {"ne": [*INJECTIONS, "y"]}})
        assert keys(result) == ["x"]

    pair.asked(question([(text, 1) for text in ("x", *INJECTIONS)], []), ask)


def test_a_filter_holds_in_each_source_in_its_own_type(pair: Pair) -> None:
    a = side("a", [("7", "x", 1), ("07", "x", 5)], (Column("p"), Column("k"), AMOUNT),
             {"key": {"column": "k"}, "period": {"column": "p"}})  # fmt: skip
    b = side("b", [(7, "x", 1), (8, "x", 2)], (Column("p", "integer"), Column("k"), AMOUNT),
             {"key": {"column": "k"}, "period": {"column": "p"}})  # fmt: skip
    result = compared(pair, a, b, filters={"period": 7})
    assert result.summary.classes.match_rate == "100.0 %"
