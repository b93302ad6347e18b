"""Rules of names and declarations: what is written in the file finds what is in the database."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.oracle.questions import Column, Question, Side, Table
from tests.skillian.oracle.rules import AMOUNT, KEY, compared, only, question, side, statuses
from tests.skillian.oracle.running import Pair
from tests.support.asking import measures_asked


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


def test_the_default_alignment_is_what_both_sources_have(pair: Pair) -> None:
    columns = (KEY, Column("p", "integer"), AMOUNT)
    dimensions = {"key": {"column": "k"}, "period": {"column": "p"}}
    a = side("a", [("x", 1, 1), ("x", 2, 2)], columns, dimensions)
    result = compared(pair, a, [("x", 3)], settings={"default_align_on": ["period", "key"]})
    assert (statuses(result), result.proof.align_on) == ({"match": 1}, ("key",))


def test_names_given_twice_count_once(one_pair: Pair) -> None:
    asked = question([("x", 1)], [("x", 2)], measures=["amount"], align_on=("key", "key"))
    result = one_pair.compared(asked)
    assert result.proof.align_on == ("key",)
    both = one_pair.asked(
        asked, lambda each: each.comparison.compare(measures_asked("a", "b", ["amount"] * 2))
    )
    assert [measure.name for measure in both.summary.measures] == ["amount"]
