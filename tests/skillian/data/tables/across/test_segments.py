"""Across databases only the ranges of the key that differ travel."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from tests.skillian.data.tables.comparing import compare
from tests.skillian.data.tables.conftest import Store

from skillian.data.declare.rules import Rule, Rules
from skillian.data.tables.across import segments as looks
from skillian.data.tables.across.segments import Segments
from skillian.data.tables.place import RowComparison

ROWS = 6000
COLUMNS = (
    "id INTEGER, code VARCHAR(20), amount DECIMAL(12, 2), booked DATE, moment TIMESTAMP, ok BOOLEAN"
)
Rows = dict[int, tuple[str, ...]]


def row(number: int) -> tuple[str, ...]:
    return (
        str(number),
        "NULL" if number % 11 == 0 else f"'code {number}'",
        "NULL" if number % 7 == 0 else f"{number}.25",
        f"'2024-01-{number % 28 + 1:02}'",
        f"'2024-01-01 00:{number % 60:02}:00.5'",
        "NULL" if number % 5 == 0 else str(number % 3 == 0).lower(),
    )


def rows_of(count: int = ROWS) -> Rows:
    return {number: row(number) for number in range(1, count + 1)}


def changed(rows: Rows, numbers: Iterable[int]) -> Rows:
    return rows | {number: (*rows[number][:2], "0.01", *rows[number][3:]) for number in numbers}


def filled(
    store: Store,
    a: Iterable[tuple[str, ...]],
    b: Iterable[tuple[str, ...]],
    databases: Sequence[str] = ("postgres", "duckdb"),
) -> list[str]:
    names: list[str] = []
    for database, rows in zip(databases, ([*a], [*b]), strict=True):
        kinds = COLUMNS.replace("TIMESTAMP", "DATETIME(6)") if database == "mysql" else COLUMNS
        script = [f"CREATE TABLE t ({kinds})"]
        for start in range(0, len(rows), 2000):
            values = ", ".join(f"({', '.join(row)})" for row in rows[start : start + 2000])
            script.append(f"INSERT INTO t VALUES {values}")  # noqa: S608 - ours
        names.append(f"{store(database, *script)}#t")
    return names


async def segmented(
    urls: Sequence[str], monkeypatch: pytest.MonkeyPatch, **question: Any
) -> tuple[dict[str, Any], Segments]:
    """The result as JSON without its proof, and the ranges that travelled.

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
    data = json.loads(json.dumps(result.to_dict()))
    seen[0].queries += (each.text for each in result.proof.queries.values())
    del data["proof"]
    for part in ("sentences", "notes"):
        data[part] = [each for each in data[part] if "checksums" not in each]
    return data, seen[0]


@pytest.fixture(autouse=True)
def small_tables_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SMALL": 1000, "FEW_ROWS": 16, "RANGES": 1024}.items():
        monkeypatch.setattr(looks, name, value)


async def test_of_altered_ranges_only_these_travel(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of()
    altered = [*range(100, 110), 3000, *range(5990, 6001)]
    urls = filled(store, rows.values(), changed(rows, altered).values())
    result, ranges = await segmented(urls, monkeypatch)
    assert result["rows"]["differing"] == len(altered)
    assert result["rows"]["matched"] == ROWS - len(altered)
    assert ROWS - ranges.equal_rows < 200
    assert ranges.ranges is not None
    assert len(ranges.ranges) <= 5


@pytest.mark.parametrize(
    "databases",
    ["postgres-postgres other", "postgres-duckdb", "duckdb-mysql", "postgres-mysql"],
)
@pytest.mark.parametrize("key", [("id",), ("id", "code")], ids="-".join)
async def test_any_difference_is_reported_as_if_all_rows_had_travelled(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    databases: str,
    key: tuple[str, ...],
) -> None:
    monkeypatch.setattr(looks, "WORTH", 1)  # whatever is in the sample
    chance = random.Random(1)  # noqa: S311 - the same rows in every run
    rows = rows_of(2000)
    a, b = [*rows.values()], [*changed(rows, chance.sample(range(1, 2000), 5)).values()]
    # Missing and repeated rows on both sides, some of them equal, and keys without a value.
    for side in (a, b):
        for _ in range(3):
            del side[chance.randrange(len(side))]
        side.append(chance.choice(a))
        side += [("NULL", *row(number)[1:]) for number in range(chance.choice((0, 1, 2)))]
    a.append(row(77))
    b.append(row(77))
    urls = filled(store, a, b, databases.split("-"))
    narrowed, ranges = await segmented(urls, monkeypatch, key=key)
    assert ranges.ranges is not None
    assert ranges.equal_rows > 0
    monkeypatch.setattr(looks, "SMALL", 10**9)
    everything, none = await segmented(urls, monkeypatch, key=key)
    assert none.ranges is None
    assert narrowed == everything


async def test_a_statement_computes_the_digest_of_a_key_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {number: (str(number % 3), f"'key {number}'", *row(number)[2:]) for number in rows_of()}
    urls = filled(store, rows.values(), changed(rows, range(1, ROWS, 400)).values())
    _, ranges = await segmented(urls, monkeypatch, key=("code",))
    assert len(ranges.ranges or ()) > 10
    # Of the bounds, the samples (whose rows are selected by one) and the sums, in which the rows
    # have one too, and the rows.
    assert [each.count("MD5") for each in ranges.queries] == [0, 0, 3, 3, 2, 2, 1, 1]
    assert max(map(len, ranges.queries)) < 4000


async def test_a_sample_that_differs_is_an_end_to_sums(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, altered = rows_of(2000), range(1, 2000, 3)
    urls = filled(store, rows.values(), changed(rows, altered).values())
    result, ranges = await segmented(urls, monkeypatch)
    assert result["rows"]["differing"] == len(altered)
    assert ranges.ranges is None
    assert "more than a tenth of a sample" in ranges.sentence()
    assert len(ranges.queries) == 6  # the counts, the sample, and all rows


async def test_keys_that_a_rule_makes_the_same_are_found_repeated(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*rows_of(1000).values(), ("1", "'CODE 1'", *row(1)[2:])]
    rules = Rules(columns={"code": Rule(ignore_case=True)})
    urls = filled(store, rows, rows)
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
