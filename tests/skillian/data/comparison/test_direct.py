"""Rows joined directly: with a proof that no key is repeated; those that are, are aggregated."""

import json
import random
from collections.abc import AsyncIterator, Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.asking import measures_asked, page_of

from skillian.data.comparison import differences, place
from skillian.data.comparison.engine import CachedComparison
from skillian.data.comparison.results import ComparisonResult
from skillian.data.declare.sources import SourceRegistry
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
SOURCE = """
  {name}:
    connection: {connection}
    table: t
    dimensions: {{k: {{column: k}}, text: {{column: text}}}}
    measures:
      total: {{column: amount, aggregation: sum}}
      lowest: {{column: amount, aggregation: min}}
      highest: {{column: amount, aggregation: max}}
      average: {{column: amount, aggregation: avg}}
      number: {{column: amount, aggregation: count}}
      texts: {{column: note, aggregation: count_distinct}}
      float: {{column: float, aggregation: sum}}
"""
SOURCES = "connections: {one: 'duckdb:///one.duckdb', other: 'duckdb:///other.duckdb'}\nsources:"

Rows = list[tuple[str, ...]]
Open = Callable[[Rows, Rows], DataServices]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Open]:
    """Opens two databases, with these rows in the table of each."""
    services: list[DataServices] = []

    def make(a: Rows, b: Rows, kind: str = "DECIMAL(10, 2)") -> DataServices:
        folder = tmp_path / str(len(services))
        folder.mkdir()
        for name, rows, amount in (("one", a, "DECIMAL(10, 2)"), ("other", b, kind)):
            with duckdb.connect(folder / f"{name}.duckdb") as connection:
                connection.execute(
                    f"CREATE TABLE t (k INT, text TEXT, amount {amount}, note TEXT, float DOUBLE)"
                )
                if rows:
                    values = ", ".join(f"({', '.join(row)})" for row in rows)
                    connection.execute(f"INSERT INTO t VALUES {values}")  # noqa: S608 - ours
        path = folder / "sources.yaml"
        sides = (("a", "one"), ("b", "other"))
        path.write_text(
            SOURCES + "".join(SOURCE.format(name=name, connection=at) for name, at in sides)
        )
        services.append(DataServices(SourceRegistry.load(path)))
        return services[-1]

    yield make
    for each in services:
        await each.aclose()


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


async def no_engine(*_: object) -> None:
    """Replaces `shared_engine`: both sides are staged."""


async def unique(*_: object) -> bool:
    """Replaces the look at some keys: only the proof decides."""
    return False


async def repeated(*_: object) -> bool:
    """Replaces the look at some keys: both sides are aggregated."""
    return True


@pytest.mark.parametrize("pattern", PATTERNS)
async def test_any_pattern_of_repeated_keys_gives_what_staged_sides_give(
    opened: Open, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    chance = random.Random(pattern)  # noqa: S311 - the same rows in every run
    a, b = (drawn(chance, counts) for counts in PATTERNS[pattern])
    with monkeypatch.context() as staged:
        staged.setattr(place, "shared_engine", no_engine)
        was_direct, expected = await everything(opened(a, b))
        assert not was_direct
    monkeypatch.setattr(differences, "_repeats", unique)
    was_direct, answers = await everything(opened(a, b))
    assert answers == expected
    assert was_direct == (is_unique(a) and is_unique(b))
    if was_direct:  # otherwise the proof has failed, and both sides are aggregated already
        monkeypatch.setattr(place, "JOINING", ())
        monkeypatch.setattr(differences, "_repeats", repeated)
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
    monkeypatch.setattr(differences, "_repeats", unique)
    more = ("'p'", "0.5")
    services = opened([(*row, *more) for row in a], [(*row, *more) for row in b])
    result = await services.comparison.compare(measures_asked("a", "b", ["total"], ["k", "text"]))
    assert not is_direct(result)
    assert (result.summary.rows_a, result.summary.rows_b) == (len(a), len(b))


async def test_keys_with_a_null_meet_where_rows_are_joined(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(differences, "_repeats", unique)
    keys = (("NULL", "'x'"), ("1", "NULL"), ("NULL", "NULL"), ("1", "'x'"))
    rows: Rows = [(*key, "5", "'p'", "0.5") for key in keys]
    services = opened(rows, rows[:3])
    result = await services.comparison.compare(measures_asked("a", "b", ["total"], ["k", "text"]))
    assert is_direct(result)
    assert (result.summary.classes.match, result.summary.classes.missing_in_b) == (3, 1)


async def test_amounts_of_two_scales_are_compared_as_numbers(opened: Open) -> None:
    row = ("1", "'x'", "1.25", "'p'", "0.5")
    services = opened([row], [row], "DECIMAL(12, 5)")  # type: ignore[call-arg]
    result = await services.comparison.compare(measures_asked("a", "b", ["total"], ["k", "text"]))
    assert is_direct(result)
    assert result.summary.classes.match == 1
    assert result.summary.measures[0].total_b == Decimal("1.25")


async def test_a_key_of_many_rows_cannot_multiply_them(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(differences, "_repeats", unique)
    services = opened([], [])
    for name in ("one", "other"):
        path = services.registry.folder / f"{name}.duckdb"
        with duckdb.connect(path) as connection:
            # Joined, these would be ten billion rows.
            connection.execute("INSERT INTO t SELECT 1, 'x', 1, 'p', 1 FROM range(100_000)")
    result = await services.comparison.compare(measures_asked("a", "b", ["total"], ["k", "text"]))
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
    with duckdb.connect(services.registry.folder / "other.duckdb") as connection:
        connection.execute(f"INSERT INTO t SELECT i, 'x', 1, 'p', 1 FROM {rows}")  # noqa: S608 - ours
    question = await services.comparison.compare(measures_asked("a", "b", ["total"], ["k", "text"]))
    remembered = services.comparison._cache.get(question.cache_key, CachedComparison)
    assert await differences._repeats(remembered.place) is are_repeated
