"""Rules of names and declarations: what is written in the file finds what is in the database."""

from dataclasses import replace

import pytest
from tests.skillian.oracle.rules import only, question, side, statuses
from tests.skillian.oracle.running import Pair
from tests.support.asking import measures_asked


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
    asked = question([("x", 1)], [("x", 2)], measures=["amount"], align_on=("key", "key"))
    result = one_pair.compared(asked)
    assert result.key_columns == ("key",)
    both = one_pair.asked(
        asked, lambda each: each.comparison.compare(measures_asked("a", "b", ["amount"] * 2))
    )
    assert [measure.name for measure in both.summary.measures] == ["amount"]
