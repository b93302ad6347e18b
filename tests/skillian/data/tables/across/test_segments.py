"""Across databases only the ranges of the key that differ travel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.skillian.data.tables.comparing import compare
from tests.skillian.data.tables.conftest import Store

from skillian.data.declare.rules import Rule, Rules
from skillian.data.tables.across import segments as looks
from skillian.data.tables.across.segments import Segments
from skillian.data.tables.place import RowComparison

ROWS = 6000
MADE = """
CREATE TABLE t AS SELECT CAST(i AS INTEGER) AS id,
    CASE WHEN i % 11 > 0 THEN 'code ' || i END AS code,
    CAST(CASE WHEN i % 7 > 0 THEN i + 0.25 END AS DECIMAL(12, 2)) AS amount,
    DATE '2024-01-01' + CAST(i % 28 AS INTEGER) AS booked,
    TIMESTAMP '2024-01-01 10:00:00.5' AS moment, CASE WHEN i % 5 > 0 THEN i % 3 = 0 END AS ok
FROM generate_series(1, {}) AS s (i)
"""


def filled(store: Store, *changes: str, rows: int = ROWS, both: str = "SELECT 1") -> list[str]:
    """Two tables of these rows, the second with changes; and what is done to both."""
    made = MADE.format(rows)
    return [f"{store('postgres', made, both)}#t", f"{store('duckdb', made, *changes, both)}#t"]


async def segmented(
    urls: Sequence[str], monkeypatch: pytest.MonkeyPatch, **question: Any
) -> tuple[dict[str, Any], Segments]:
    """The result as JSON, and the ranges that travelled.

    The statements that fetched the rows are the last two of `queries`.
    """
    seen: list[Segments] = []
    narrow = RowComparison._narrow

    async def noted(self: RowComparison) -> None:
        await narrow(self)
        seen.append(self.segments)

    with monkeypatch.context() as patched:
        patched.setattr(RowComparison, "_narrow", noted)
        result = await compare(*urls, **{"key": ("id",), **question})
    seen[0].queries += (each.text for each in result.proof.queries.values())
    return result.to_dict(), seen[0]


@pytest.fixture(autouse=True)
def small_tables_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SMALL": 1000, "FEW_ROWS": 16, "RANGES": 1024}.items():
        monkeypatch.setattr(looks, name, value)


async def test_of_identical_tables_no_row_travels(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, ranges = await segmented(filled(store), monkeypatch)
    assert result["equal"]
    assert (result["rows"]["a"], result["rows"]["matched"]) == (ROWS, ROWS)
    assert (ranges.ranges, ranges.equal_rows, ranges.reason) == ((), ROWS, "")
    assert ranges.received < 2 * (ROWS // looks.FEW_ROWS) * 72  # whatever the number of columns


async def test_of_altered_ranges_only_these_travel(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    altered = "UPDATE t SET amount = 0.01 WHERE id BETWEEN 100 AND 109 OR id IN (3000, 5999, 6000)"
    result, ranges = await segmented(filled(store, altered), monkeypatch)
    assert (result["rows"]["differing"], result["rows"]["matched"]) == (13, ROWS - 13)
    assert ROWS - ranges.equal_rows < 200
    assert ranges.ranges is not None
    assert len(ranges.ranges) <= 5


async def test_a_statement_computes_the_digest_of_a_key_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    altered = "UPDATE t SET amount = 0.01 WHERE id % 400 = 1"
    urls = filled(store, altered, both="UPDATE t SET code = 'key ' || id, id = id % 3")
    _, ranges = await segmented(urls, monkeypatch, key=("code",))
    assert len(ranges.ranges or ()) > 10
    # Of the bounds, the samples and the sums, in which the rows have one too, and the rows.
    assert [each.count("MD5") for each in ranges.queries] == [0, 0, 2, 2, 2, 2, 1, 1]
    assert max(map(len, ranges.queries)) < 4000


async def test_a_sample_that_differs_is_an_end_to_sums(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = filled(store, "UPDATE t SET amount = 0.01 WHERE id % 3 = 1", rows=2000)
    result, ranges = await segmented(urls, monkeypatch)
    assert result["rows"]["differing"] == len(range(1, 2000, 3))
    assert ranges.ranges is None
    assert "more than a tenth of a sample" in ranges.sentence()
    assert len(ranges.queries) == 6  # the counts, the sample, and all rows


async def test_keys_that_a_rule_makes_the_same_are_found_repeated(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = "INSERT INTO t SELECT id, 'CODE 1', amount, booked, moment, ok FROM t WHERE id = 1"
    rules = Rules(columns={"code": Rule(ignore_case=True)})
    urls = filled(store, rows=1000, both=again)
    result, ranges = await segmented(urls, monkeypatch, key=("code",), rules=rules)
    assert result["rows"]["duplicate_keys_a"] == 2  # and NULL, of each eleventh row
    assert "code of the key is compared by a rule" in ranges.sentence()


async def test_a_type_without_a_common_text_is_named(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = "CREATE TABLE t AS SELECT i AS id, CAST('{{}}' AS JSON) AS doc FROM {} g (i)"
    a = store("postgres", made.format("generate_series(1, 2000)").replace("{{}}", "{}"))
    b = store("duckdb", made.format("range(1, 2001)").replace("{{}}", "{}"))
    result, ranges = await segmented([f"{a}#t", f"{b}#t"], monkeypatch)
    assert result["rows"]["matched"] == 2000
    assert ranges.ranges is None
    assert ranges.sentence() == (
        "All rows were copied to compare them: doc is json, which both databases do not write"
        " alike."
    )
