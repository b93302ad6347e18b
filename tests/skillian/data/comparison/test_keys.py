"""Keys of different types that hold the same values."""

import pytest
from tests.skillian.data.conftest import MakeServices, two_sources
from tests.support.asking import measures_asked

SOURCES = two_sources(
    "k: {column: k}",
    "v: {column: v, aggregation: sum}",
    tables=("connection: one, table: t", "connection: one, table: u"),
    connections="one: 'duckdb:///test.duckdb'",
)


@pytest.mark.parametrize(
    ("type_a", "type_b", "both", "only_b"),
    [
        ("DATE", "TIMESTAMP", "2024-01-31", "2024-01-31 00:00:01"),
        ("DATE", "TIMESTAMP_NS", "2024-01-31", "2024-01-31 00:00:01"),
        ("BIGINT", "DECIMAL(9, 2)", "12", "12.01"),
    ],
)
async def test_a_value_that_only_one_type_has_is_on_its_side_alone(
    make_services: MakeServices, type_a: str, type_b: str, both: str, only_b: str
) -> None:
    script = (
        f"CREATE TABLE t AS SELECT CAST('{both}' AS {type_a}) AS k, 1 AS v;"
        f"CREATE TABLE u AS SELECT CAST(UNNEST(['{both}', '{only_b}']) AS {type_b}) AS k, 1 AS v"
    )
    engine = make_services(script, SOURCES).comparison
    result = await engine.compare(measures_asked("a", "b", ["v"], ["k"]))
    classes = result.summary.classes
    assert (classes.match, classes.missing_in_a, classes.missing_in_b) == (1, 1, 0)
    [lone] = result.top_differences
    rows = await engine.drill_down(result.cache_key, lone.key)
    assert (len(rows.a.rows), len(rows.b.rows)) == (0, 1)
