"""Rows joined directly: with a proof that no key is repeated; those that are, are aggregated."""

import json
import random
from collections.abc import Callable, Mapping
from typing import Any
from unittest.mock import AsyncMock

import duckdb
import pytest
from tests.skillian.data.conftest import MakeServices, two_sources
from tests.support.asking import measures_asked, page_of

from skillian.data.comparison import groups as grouping
from skillian.data.comparison import statement
from skillian.data.results.result import ComparisonResult
from skillian.data.services import DataServices

MEASURES = ("total", "lowest", "highest", "average", "number", "texts", "float")
KEYS = [(k, text) for k in (None, 1, 2, 3) for text in (None, "x", "y")]
# How often a key may occur on each side.
PATTERNS = {
    "unique on both sides": ((0, 1), (0, 1)),
    "few repeated in b": ((1,), (1, 1, 1, 1, 1, 2)),
    "m rows against n": ((0, 1, 2, 3), (0, 1, 2, 3)),
    "nothing in a": ((0,), (0, 1)),
}
AMOUNTS = ("NULL", "0", "1.25", "2.50")
FLOATS = ("NULL", "0.1", "-0.0", "1e20", "'nan'", "'inf'", "'-inf'")
SOURCES = two_sources(
    "k: {column: k}, text: {column: text}",
    "total: {column: amount, aggregation: sum}, lowest: {column: amount, aggregation: min},"
    " highest: {column: amount, aggregation: max}, average: {column: amount, aggregation: avg},"
    " number: {column: amount, aggregation: count},"
    " texts: {column: note, aggregation: count_distinct}, float: {column: float, aggregation: sum}",
    tables=("connection: one, table: t", "connection: other, table: t"),
    connections="one: 'duckdb:///test.duckdb', other: 'duckdb:///other.duckdb'",
)
TABLE = "CREATE TABLE t (k INT, text TEXT, amount DECIMAL(10, 2), note TEXT, float DOUBLE)"
TOTAL = measures_asked("a", "b", ["total"], ["k", "text"])

Rows = list[tuple[str, ...]]
Open = Callable[[Rows, Rows], DataServices]


@pytest.fixture
def opened(make_services: MakeServices) -> Open:
    """Opens two databases, with these rows in the table of each."""

    def filled(rows: Rows) -> str:
        values = ", ".join(f"({', '.join(row)})" for row in rows)
        return f"{TABLE}; INSERT INTO t VALUES {values}" if rows else TABLE  # noqa: S608 - ours

    def make(a: Rows, b: Rows) -> DataServices:
        services = make_services(filled(a), SOURCES)
        execute(services, "other", filled(b))
        return services

    return make


def execute(services: DataServices, name: str, script: str) -> None:
    with duckdb.connect(services.registry.folder / f"{name}.duckdb") as connection:
        connection.execute(script)


def drawn(chance: random.Random, counts: tuple[int, ...]) -> Rows:
    """Rows with each key as often as one of the counts says."""
    return [
        (
            "NULL" if k is None else str(k),
            "NULL" if text is None else f"'{text}'",
            chance.choice(AMOUNTS),
            chance.choice(("NULL", "'p'", "'q'")),
            chance.choice(FLOATS),
        )
        for k, text in KEYS
        for _ in range(chance.choice(counts))
    ]


def is_direct(result: ComparisonResult) -> bool:
    """Whether rows were joined, and only the groups of the result were aggregated."""
    proof = result.proof
    return not proof.queries and "FULL JOIN" in proof.sql and proof.sql.count("GROUP BY") == 1


async def everything(services: DataServices) -> tuple[bool, Mapping[str, Any]]:
    """Whether rows were joined directly; and all that can be asked, as the same JSON for all."""
    comparison = services.comparison
    result = await comparison.compare(measures_asked("a", "b", MEASURES, ["k", "text"]))
    answers = result.to_dict()
    del answers["proof"]
    for status in (None, "match"):
        page = await comparison.rows(result.cache_key, page_of(status))
        answers[f"rows {status}"] = page.to_dict()
    answers["why"] = (await comparison.explain(result.cache_key)).to_dict()
    heat_map = await comparison.heat_map(result.cache_key, ("k", "text"), "total")
    answers["map"] = heat_map.to_dict()
    return is_direct(result), json.loads(json.dumps(answers))


def is_unique(rows: Rows) -> bool:
    return len({row[:2] for row in rows}) == len(rows)


# Replace the look at some keys: only the proof decides; or both sides are aggregated.
unique, repeated = AsyncMock(return_value=False), AsyncMock(return_value=True)


@pytest.mark.parametrize("pattern", PATTERNS)
async def test_any_pattern_of_repeated_keys_gives_what_staged_sides_give(
    opened: Open, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    chance = random.Random(pattern)  # noqa: S311 - the same rows in every run
    a, b = (drawn(chance, counts) for counts in PATTERNS[pattern])
    with monkeypatch.context() as staged:
        staged.setattr(grouping, "shared_engine", AsyncMock(return_value=None))
        was_direct, expected = await everything(opened(a, b))
        assert not was_direct
    monkeypatch.setattr(statement, "_repeats", unique)
    was_direct, answers = await everything(opened(a, b))
    assert answers == expected
    assert was_direct == (is_unique(a) and is_unique(b))
    if was_direct:  # otherwise the proof has failed, and both sides are aggregated already
        monkeypatch.setattr(grouping, "JOINING", ())
        monkeypatch.setattr(statement, "_repeats", repeated)
        was_direct, answers = await everything(opened(a, b))
        assert answers == expected
        assert not was_direct


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([("1", "'x'", "5")], [("1", "'x'", "5"), ("1", "'x'", "5")]),
        ([("1", "'x'", "5"), ("1", "'x'", "5")], [("1", "'x'", "5")]),
        ([("1", "'x'", "5")] * 2, [("1", "'x'", "5")] * 2),
        ([("1", "'x'", "0")] * 2, [("2", "'x'", "0")]),
        ([("NULL", "'x'", "0")] * 2, [("NULL", "'x'", "0")]),
        # As many rows as keys in all, because one key has two rows and another has none.
        ([("1", "'x'", "5")] * 2 + [("2", "'x'", "5")], [("1", "'x'", "5")] * 2),
    ],
)
async def test_equal_rows_that_are_repeated_fail_the_proof(
    opened: Open, monkeypatch: pytest.MonkeyPatch, a: Rows, b: Rows
) -> None:
    monkeypatch.setattr(statement, "_repeats", unique)
    more = ("'p'", "0.5")
    services = opened([(*row, *more) for row in a], [(*row, *more) for row in b])
    result = await services.comparison.compare(TOTAL)
    assert not is_direct(result)
    assert (result.summary.rows_a, result.summary.rows_b) == (len(a), len(b))


async def test_a_key_of_many_rows_cannot_multiply_them(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statement, "_repeats", unique)
    services = opened([], [])
    for name in ("test", "other"):  # joined, these would be ten billion rows
        execute(services, name, "INSERT INTO t SELECT 1, 'x', 1, 'p', 1 FROM range(100_000)")
    result = await services.comparison.compare(TOTAL)
    assert not is_direct(result)
    assert result.summary.classes.match == 1


@pytest.mark.parametrize(
    ("rows", "are_repeated"),
    [
        ("range(5000) r (i)", False),
        ("range(5000) r (i), range(2) s (j) WHERE j = 0 OR i = 4000", True),
        ("range(50_000) r (i)", False),
        ("(SELECT i FROM range(50_000) r (i) UNION ALL SELECT 10 * i FROM range(1000) r (i))",
         True),
        ("range(9000) r (i), range(3) s (j)", True),
    ],
)  # fmt: skip
async def test_the_keys_of_the_first_rows_show_whether_keys_are_repeated(
    opened: Open, rows: str, *, are_repeated: bool
) -> None:
    services = opened([], [])
    execute(services, "other", f"INSERT INTO t SELECT i, 'x', 1, 'p', 1 FROM {rows}")  # noqa: S608
    result = await services.comparison.compare(TOTAL)
    groups = services.comparison._get(result.cache_key)
    assert await statement._repeats(groups.place) is are_repeated
