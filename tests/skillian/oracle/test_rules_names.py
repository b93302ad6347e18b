"""Rules of names and declarations: what is written in the file finds what is in the database."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.oracle.questions import Column, Question, Side, Table
from tests.skillian.oracle.rules import AMOUNT, KEY, compared, only, question, side, statuses
from tests.skillian.oracle.running import Pair
from tests.skillian.oracle.tables import NAMES
from tests.support.asking import measures_asked

from skillian.errors import (
    InvalidInputError,
    QueryError,
    SourceNotFoundError,
    UnknownNameError,
)


def renamed(name: str, table: str, key: str, amount: str, rows: list[Any], **given: Any) -> Side:
    """A source over a table and columns with these names."""
    columns = (Column(key), Column(amount, "decimal"))
    cells = tuple((text, Decimal(value)) for text, value in rows)
    dimension = {"column": given.get("key_as", key)}
    measure = {"column": given.get("amount_as", amount), "aggregation": "sum"}
    return Side(
        name,
        Table(table, columns, cells),
        {given.get("dimension", "key"): dimension},
        {given.get("measure", "amount"): measure},
    )


STRANGE = ("select", "a\"b'c", "Größe 100% %s %(p0)s $p0 :p0 ?", "x.y;--/*", "\\")


def test_dimensions_may_be_of_columns_of_any_name(pair: Pair) -> None:
    columns = (*(Column(name) for name in NAMES), AMOUNT)
    dimensions = {f"d{n}": {"column": name} for n, name in enumerate(NAMES)}
    rows = [(*NAMES, 1)]
    a, b = (side(name, rows, columns, dimensions) for name in "ab")
    asked = {"align_on": tuple(dimensions), "filters": {"d3": NAMES[3], "d4": [NAMES[4], "x"]}}
    assert statuses(compared(pair, a, b, **asked)) == {"match": 1}


@pytest.mark.parametrize("name", STRANGE)
def test_everything_may_have_any_name(pair: Pair, name: str) -> None:
    given = {"dimension": name, "measure": f"{name} m"}
    a = renamed(name, name, name, f"{name} 2", [("x", 1)], **given)
    b = renamed(f"{name} b", f"{name} b", f"{name} 2", name, [("x", 2)], **given)
    asked = Question(a, b, (f"{name} m",), (name,), {name: ["x"]})
    item = only(pair.compared(asked))
    assert [item.measure, item.key, item.gap] == [f"{name} m", {name: "x"}, 1]


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


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM table_b",
        "SELECT k, v FROM table_b; DROP TABLE table_b",
        "WITH gone AS (DELETE FROM table_b RETURNING *) SELECT * FROM gone",
        "SELECT k, v INTO other FROM table_b",
        "SELECT k, v FROM read_csv('/etc/passwd')",
        "SELECT k, v FROM pg_read_file('/etc/passwd')",
        "SELECT k, v FROM no_such_table",
        "SELECT k, v FROM table_b FOR UPDATE",
    ],
)
def test_a_query_is_one_select_over_tables_and_nothing_else(pair: Pair, query: str) -> None:
    b = replace(side("b", [("x", 1)]), query=query)
    with pytest.raises(QueryError):
        pair.compared(question([("x", 1)], b))


def test_a_name_in_another_case_finds_the_only_one(pair: Pair) -> None:
    a = renamed("a", "Ledger", "BUKRS", "Hsl", [("x", 1)], key_as="bukrs", amount_as="HSL")
    b = renamed("b", "plan", "k", "v", [("x", 1)])
    assert statuses(pair.compared(question(a, b))) == {"match": 1}


def test_a_column_that_is_not_there_names_the_nearest(one_pair: Pair) -> None:
    a = renamed("a", "ta", "company", "amount", [], key_as="compny")
    with pytest.raises(QueryError, match="no column 'compny'; nearest: company"):
        one_pair.compared(question(a, [("x", 1)]))


def test_the_default_alignment_is_what_both_sources_have(pair: Pair) -> None:
    columns = (KEY, Column("p", "integer"), AMOUNT)
    dimensions = {"key": {"column": "k"}, "period": {"column": "p"}}
    a = side("a", [("x", 1, 1), ("x", 2, 2)], columns, dimensions)
    result = compared(pair, a, [("x", 3)], settings={"default_align_on": ["period", "key"]})
    assert (statuses(result), result.proof.align_on) == ({"match": 1}, ("key",))


def test_no_alignment_at_all_lists_what_is_shared(one_pair: Pair) -> None:
    asked = question([("x", 1)], [("x", 1)], settings={"default_align_on": []})
    with pytest.raises(
        InvalidInputError, match="name the dimensions to align a and b on; they share: key"
    ):
        one_pair.compared(asked)


def test_a_dimension_of_one_source_only_cannot_be_aligned_on(one_pair: Pair) -> None:
    columns = (KEY, Column("p", "integer"), AMOUNT)
    dimensions = {"key": {"column": "k"}, "period": {"column": "p"}}
    a = side("a", [("x", 1, 1)], columns, dimensions)
    with pytest.raises(UnknownNameError, match="no dimension 'period' in b"):
        one_pair.compared(question(a, [("x", 1)], align_on=("key", "period")))


@pytest.mark.parametrize(
    ("given", "available"),
    [({"measures": ("amout",)}, "measures"), ({"align_on": ("kee",)}, "dimensions")],
)
def test_unknown_names_list_the_known_ones(
    one_pair: Pair, given: dict[str, Any], available: str
) -> None:
    with pytest.raises(UnknownNameError) as error:
        one_pair.compared(question([("x", 1)], [("x", 1)], **given))
    assert error.value.to_dict()[f"available_{available}"] == [
        "amount" if available == "measures" else "key"
    ]


def test_an_unknown_source_is_reported_with_the_nearest(one_pair: Pair) -> None:
    asked = question([("x", 1)], [("x", 1)])

    with pytest.raises(SourceNotFoundError) as error:
        one_pair.asked(
            asked, lambda each: each.comparison.compare(measures_asked("a", "bb", ["amount"]))
        )
    assert error.value.to_dict() == {
        "error": True,
        "type": "not_found",
        "message": str(error.value),
        "available_sources": ["b", "a"],
    }


def test_names_given_twice_count_once(one_pair: Pair) -> None:
    asked = question([("x", 1)], [("x", 2)], measures=["amount"], align_on=("key", "key"))
    result = one_pair.compared(asked)
    assert result.proof.align_on == ("key",)
    both = one_pair.asked(
        asked, lambda each: each.comparison.compare(measures_asked("a", "b", ["amount"] * 2))
    )
    assert [measure.name for measure in both.summary.measures] == ["amount"]
