"""Across databases only the ranges of the key that differ travel."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.asking import rows_asked
from tests.support.mysql import Database as MySQLDatabase
from tests.support.postgres import Database
from tests.support.postgres import Server as PostgresServer

from skillian.data.comparison.cache import Memory
from skillian.data.declare.rules import Rule, Rules
from skillian.data.declare.sources import Connections
from skillian.data.query.binding import Binder
from skillian.data.query.relation import bare_tables
from skillian.data.tables.across import segments as looks
from skillian.data.tables.across.segments import Segments
from skillian.data.tables.engine import TableEngine
from skillian.data.tables.place import RowComparison

ROWS = 6000
COLUMNS = (
    "id {integer}, code VARCHAR(20), amount DECIMAL(12, 2), booked DATE, moment {timestamp},"
    " ok BOOLEAN"
)
TYPES = {
    "duckdb": {"integer": "INTEGER", "timestamp": "TIMESTAMP"},
    "postgres": {"integer": "INTEGER", "timestamp": "TIMESTAMP"},
    "mysql": {"integer": "INTEGER", "timestamp": "DATETIME(6)"},
}
Rows = dict[int, tuple[str, ...]]


def row(number: int) -> tuple[str, ...]:
    """The literals of a row, with NULLs in some."""
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


def changed(rows: Rows, numbers: Sequence[int]) -> Rows:
    """The same rows, with another amount in some."""
    return rows | {number: (*rows[number][:2], "0.01", *rows[number][3:]) for number in numbers}


class Pair:
    """Two databases of these kinds, and the URLs of a table in each."""

    def __init__(self, *sides: tuple[str, str, Callable[[str], object]]) -> None:
        self._sides = sides

    def filled(
        self, a: Sequence[tuple[str, ...]], b: Sequence[tuple[str, ...]], key: str = ""
    ) -> list[str]:
        for (kind, _, execute), rows in zip(self._sides, (a, b), strict=True):
            execute("DROP TABLE IF EXISTS t")
            execute(f"CREATE TABLE t ({COLUMNS.format(**TYPES[kind])}{key})")
            for start in range(0, len(rows), 2000):
                values = ", ".join(f"({', '.join(row)})" for row in rows[start : start + 2000])
                execute(f"INSERT INTO t VALUES {values}")  # noqa: S608 - ours
        return [f"{url}#t" for _, url, _ in self._sides]


@pytest.fixture(params=["postgres-duckdb"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Pair:
    sides: list[tuple[str, str, Callable[[str], object]]] = []
    for index, kind in enumerate(request.param.split("-")):
        if kind == "duckdb":
            path = tmp_path / "x.duckdb"

            def in_duckdb(script: str, path: Path = path) -> None:
                with duckdb.connect(path) as connection:
                    connection.execute(script)

            sides.append((kind, f"duckdb:///{path}", in_duckdb))
        elif kind == "mysql":
            mysql: MySQLDatabase = request.getfixturevalue("mysql_database")
            sides.append((kind, mysql.url, mysql.execute))
        else:
            name = "other_postgres" if index else "postgres_database"
            postgres: Database = request.getfixturevalue(name)
            sides.append((kind, postgres.url, postgres.execute))
    return Pair(*sides)


@pytest.fixture
def other_postgres(postgres_server: PostgresServer) -> Any:
    with postgres_server.database() as database:
        yield database


async def compare(
    urls: Sequence[str],
    monkeypatch: pytest.MonkeyPatch,
    key: tuple[str, ...] = ("id",),
    rules: Rules | None = None,
) -> tuple[dict[str, Any], Segments]:
    """The result as JSON without its proof, and the ranges that travelled.

    The statements that fetched the rows are the last two of `queries`.
    """
    seen: list[Segments] = []
    narrow = RowComparison._narrow

    async def noted(self: RowComparison) -> None:
        await narrow(self)
        seen.append(self.segments)

    registry, (one, other) = await bare_tables(urls)
    with monkeypatch.context() as patched:
        patched.setattr(RowComparison, "_narrow", noted)
        async with Connections(registry) as connections:
            memory = Memory()
            engine = TableEngine(Binder(registry, connections), memory)
            question = rows_asked(one, other, key=key, rules=rules or Rules())
            result = await engine.compare(question)
            await memory.aclose()
    data = json.loads(json.dumps(result.to_dict()))
    seen[0].queries += result.proof.queries.values()
    del data["proof"]
    for part in ("sentences", "notes"):
        data[part] = [each for each in data[part] if "checksums" not in each]
    return data, seen[0]


@pytest.fixture(autouse=True)
def small_tables_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "SMALL", 1000)
    monkeypatch.setattr(looks, "FEW_ROWS", 16)
    monkeypatch.setattr(looks, "RANGES", 1024)


async def test_of_identical_tables_no_row_travels(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*rows_of().values()]
    result, ranges = await compare(pair.filled(rows, rows), monkeypatch)
    assert result["equal"]
    assert (result["rows"]["a"], result["rows"]["matched"]) == (ROWS, ROWS)
    assert (ranges.ranges, ranges.equal_rows, ranges.reason) == ((), ROWS, "")
    assert ranges.received < 2 * (ROWS // looks.FEW_ROWS) * 72  # whatever the number of columns


async def test_of_altered_ranges_only_these_travel(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of()
    altered = [*range(100, 110), 3000, *range(5990, 6001)]
    urls = pair.filled([*rows.values()], [*changed(rows, altered).values()])
    result, ranges = await compare(urls, monkeypatch)
    assert result["rows"]["differing"] == len(altered)
    assert result["rows"]["matched"] == ROWS - len(altered)
    assert ROWS - ranges.equal_rows < 200
    assert ranges.ranges is not None
    assert len(ranges.ranges) <= 5


@pytest.mark.parametrize(
    "pair",
    ["postgres-postgres", "postgres-duckdb", "duckdb-mysql", "postgres-mysql"],
    indirect=True,
)
@pytest.mark.parametrize("key", [("id",), ("id", "code")], ids="-".join)
async def test_any_difference_is_reported_as_if_all_rows_had_travelled(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, key: tuple[str, ...]
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
    urls = pair.filled(a, b)
    narrowed, ranges = await compare(urls, monkeypatch, key)
    assert ranges.ranges is not None
    assert ranges.equal_rows > 0
    monkeypatch.setattr(looks, "SMALL", 10**9)
    everything, none = await compare(urls, monkeypatch, key)
    assert none.ranges is None
    assert narrowed == everything


async def test_a_statement_computes_the_digest_of_a_key_once(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {number: (str(number % 3), f"'key {number}'", *row(number)[2:]) for number in rows_of()}
    altered = changed(rows, range(1, ROWS, 400))
    urls = pair.filled([*rows.values()], [*altered.values()])
    _, ranges = await compare(urls, monkeypatch, ("code",))
    assert len(ranges.ranges or ()) > 10
    bounds, sample, sums, fetched = (ranges.queries[start : start + 2] for start in (0, 2, 4, 6))
    assert [each.count("MD5") for each in bounds] == [0, 0]
    for statement in (*sample, *sums):
        assert statement.count("MD5") == 2  # of the key, and of the row
    for statement in fetched:
        assert statement.count("MD5") == 1
    assert max(map(len, ranges.queries)) < 4000
    assert len(ranges.queries) == 8


async def test_a_sample_that_differs_is_an_end_to_sums(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(2000)
    urls = pair.filled([*rows.values()], [*changed(rows, range(1, 2000, 3)).values()])
    result, ranges = await compare(urls, monkeypatch)
    assert result["rows"]["differing"] == len(range(1, 2000, 3))
    assert ranges.ranges is None
    assert "more than a tenth of a sample" in ranges.sentence()
    assert len(ranges.queries) == 6  # the counts, the sample, and all rows


async def test_keys_that_a_rule_makes_the_same_are_found_repeated(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*rows_of(1000).values(), ("1", "'CODE 1'", *row(1)[2:])]
    rules = Rules(columns={"code": Rule(ignore_case=True)})
    result, ranges = await compare(pair.filled(rows, rows), monkeypatch, ("code",), rules)
    assert result["rows"]["duplicate_keys_a"] == 2  # and NULL, of each eleventh row
    assert "code of the key is compared by a rule" in ranges.sentence()


async def test_a_type_without_a_common_text_is_named(
    tmp_path: Path, postgres_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = "CREATE TABLE t AS SELECT {} AS id, CAST('{{}}' AS JSON) AS doc FROM {}"
    postgres_database.execute(made.format("i", "generate_series(1, 2000) g (i)"))
    with duckdb.connect(tmp_path / "x.duckdb") as connection:
        connection.execute(made.format("i", "range(1, 2001) g (i)"))
    urls = [f"{postgres_database.url}#t", f"duckdb:///{tmp_path / 'x.duckdb'}#t"]
    result, ranges = await compare(urls, monkeypatch)
    assert result["rows"]["matched"] == 2000
    assert ranges.ranges is None
    assert ranges.sentence() == (
        "All rows were copied to compare them: doc is json, which both databases do not write"
        " alike."
    )
