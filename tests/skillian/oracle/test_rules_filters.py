"""Rules of filters: every form on every type, and nothing that is not a value."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.oracle.questions import Column, Question
from tests.skillian.oracle.rules import AMOUNT, compared, keys, question, side
from tests.skillian.oracle.running import Pair
from tests.skillian.oracle.themes import TEXTS
from tests.support.asking import comparing, measures_asked

from skillian.data.comparison.results import ComparisonResult
from skillian.data.services import DataServices
from skillian.errors import InvalidInputError, UnknownNameError

INJECTIONS = (
    "' OR '1'='1", '"; DROP TABLE table_a; --', "x'); DELETE FROM table_a; --", "\\'; SELECT 1; --",
    "%(p0)s", "$p0", ":p0", "?", "%s", "{}", "%", "\\", "'", '"', "`", "/*", "--", "\n;",
)  # fmt: skip


def filtered(pair: Pair, column: Column, given: list[Any], test: Any, **declared: Any) -> list[Any]:
    """The keys that a filter keeps: rows of a by this column, against none."""
    result = answer(pair, column, given, test, **declared)
    return sorted(keys(result), key=lambda value: (value is None, 0 if value is None else value))


def answer(
    pair: Pair, column: Column, given: list[Any], test: Any, **declared: Any
) -> ComparisonResult:
    columns = (Column("k", column.kind, column.scale, column.precision), AMOUNT)
    dimensions = {"key": {"column": "k", **declared}}
    a = side("a", [(value, 1) for value in given], columns, dimensions)
    return compared(pair, a, side("b", [], columns, dimensions), filters={"key": test})


TEXT = Column("")
INTEGER = Column("", "integer")
DAYS = [date(2024, 1, day) for day in (1, 2, 3)]


FORMS: tuple[tuple[Any, list[Any]], ...] = (
    (2, [2]),
    ("2", [2]),
    ([1, 3], [1, 3]),
    (None, [None]),
    ([1, None], [1, None]),
    ({"ne": 2}, [1, 3, None]),
    ({"ne": None}, [1, 2, 3]),
    ({"ne": [1, 2]}, [3, None]),
    ({"ne": [1, None]}, [2, 3]),
    ({"gte": 2}, [2, 3]),
    ({"gt": 2}, [3]),
    ({"lte": 2}, [1, 2]),
    ({"lt": 2}, [1]),
    ({"between": [2, 3]}, [2, 3]),
    ({"between": [2, 2]}, [2]),
    ({"gte": 1, "lt": 3, "ne": 2}, [1]),
    ({"gt": 5}, []),
    (9, []),
    (2.0, [2]),
)


def test_every_form_of_a_filter(pair: Pair) -> None:
    columns = (Column("k", "integer"), AMOUNT)
    a = side("a", [(value, 1) for value in (1, 2, 3, None)], columns)

    async def ask(services: DataServices) -> list[list[Any]]:
        compare = comparing(services.comparison)
        results = [await compare("a", "b", ["amount"], filters={"key": test}) for test, _ in FORMS]
        return [keys(result) for result in results]

    found = pair.asked(question(a, side("b", [], columns)), ask)
    assert found == [kept for _, kept in FORMS]


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


def test_every_text_is_found_by_itself(pair: Pair) -> None:
    values = list(TEXTS)
    assert answer(pair, TEXT, values, values).summary.classes.groups == len(values)
    assert answer(pair, TEXT, values, {"ne": values}).summary.classes.groups == 0


def test_filters_see_the_value_that_is_declared(pair: Pair) -> None:
    assert filtered(pair, TEXT, [" ab", "x"], "AB", normalise=["trim", "upper"]) == ["AB"]
    assert filtered(pair, TEXT, ["007", "8"], {"lt": 8}, type="integer") == [7]
    assert filtered(pair, TEXT, ["D", "K"], "debit", values={"D": "debit"}) == ["debit"]
    dates = ["31.12.2024", "01.01.2025"]
    kept = filtered(pair, TEXT, dates, {"gte": "2025-01-01"}, type="date", format="%d.%m.%Y")
    assert kept == [date(2025, 1, 1)]


def two_dimensions(**given: Any) -> Question:
    columns = (Column("k"), Column("p", "integer"), AMOUNT)
    dimensions = {"key": {"column": "k"}, "period": {"column": "p"}}
    a = [("x", 1, 10), ("x", 2, 20), ("y", 1, 40), ("y", None, 80)]
    b = [("x", 1, 10), ("x", 2, 21), ("y", 1, 40)]
    return question(side("a", a, columns, dimensions), side("b", b, columns, dimensions), **given)


def test_a_filter_may_be_on_what_is_not_aligned(pair: Pair) -> None:
    result = pair.compared(two_dimensions(filters={"period": 1}))
    assert result.summary.classes.match_rate == "100.0 %"
    assert (result.summary.rows_a, result.summary.rows_b) == (2, 2)


def test_several_filters_must_all_hold(pair: Pair) -> None:
    asked = two_dimensions(filters={"period": {"ne": None}, "key": ["x", "z"]})
    result = pair.compared(asked)
    [amount] = result.summary.measures
    assert [amount.total_a, amount.total_b] == [30, 31]


def test_a_filter_holds_in_each_source_in_its_own_type(pair: Pair) -> None:
    a = side("a", [("7", "x", 1), ("07", "x", 5)], (Column("p"), Column("k"), AMOUNT),
             {"key": {"column": "k"}, "period": {"column": "p"}})  # fmt: skip
    b = side("b", [(7, "x", 1), (8, "x", 2)], (Column("p", "integer"), Column("k"), AMOUNT),
             {"key": {"column": "k"}, "period": {"column": "p"}})  # fmt: skip
    result = compared(pair, a, b, filters={"period": 7})
    assert result.summary.classes.match_rate == "100.0 %"


def test_a_filter_that_keeps_nothing_compares_nothing(pair: Pair) -> None:
    result = compared(pair, [("x", 1)], [("x", 1)], filters={"key": "y"})
    assert (result.summary.classes.groups, result.summary.classes.match_rate) == (0, None)
    assert result.top_differences == ()


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"period": "x"}, "'period' .* takes a whole number, not 'x'"),
    ({"period": 1.5}, "not 1.5"),
    ({"period": True}, "not True"),
    ({"period": []}, "empty list"),
    ({"period": {}}, "no operator"),
    ({"period": {"like": 1}}, "unknown operator 'like'"),
    ({"period": {"between": [1]}}, r"needs \[low, high\]"),
    ({"period": {"between": [2, 1]}}, "from low to high"),
    ({"period": {"gt": None}}, "no order"),
    ({"period": {"gt": [1]}}, "takes a whole number"),
    ({"key": ["x", 1.5]}, "not 1.5"),
    ({"key": {"x": "y"}}, "unknown operator 'x'"),
    ({"amount": 5}, "measure"),
)


def test_a_wrong_filter_names_dimension_and_value(one_pair: Pair) -> None:
    async def ask(services: DataServices) -> None:
        for filters, message in WRONG:
            with pytest.raises(InvalidInputError, match=message):
                await services.comparison.compare(
                    measures_asked("a", "b", ["amount"], filters=filters)
                )

    one_pair.asked(two_dimensions(), ask)


def test_a_filter_on_an_unknown_dimension_names_the_nearest(one_pair: Pair) -> None:
    with pytest.raises(UnknownNameError) as error:
        one_pair.compared(two_dimensions(filters={"perod": 1}))
    assert error.value.to_dict()["available_dimensions"] == ["period", "key"]


def test_a_value_that_is_not_text_is_refused(one_pair: Pair) -> None:
    with pytest.raises(InvalidInputError, match=r"'key' .* takes a text"):
        one_pair.compared(two_dimensions(filters={"key": "\ud800"}))
