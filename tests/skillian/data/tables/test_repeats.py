"""Rows with repeated keys: what the statement reads of them."""

from __future__ import annotations

from tests.skillian.data.tables.comparing import compared
from tests.skillian.data.tables.conftest import Store


def test_only_the_keys_are_read_to_find_those_that_are_repeated(store: Store) -> None:
    made = "SELECT CAST(i AS INT) AS k, 'x' AS t, 5 AS v FROM range(50) r (i)"
    a = store("duckdb", f"CREATE TABLE t AS {made}")
    b = store("duckdb other", f"CREATE TABLE t AS {made} UNION ALL SELECT 7, 'x', 6")
    result = compared(f"{a}#t", f"{b}#t", key=("k", "t"))
    assert (result.rows.matched, result.rows.duplicate_keys_b) == (49, 1)
    repeated = result.proof.sql.partition("repeated_keys")[2].partition("UNION ALL")[0]
    assert "GROUP BY" in repeated
    assert '"v"' not in repeated
