"""Rows joined directly: with a proof that no key is repeated; those that are, are aggregated."""

from unittest.mock import AsyncMock

import duckdb
import pytest
from tests.skillian.data.conftest import MakeServices, two_sources
from tests.support.asking import measures_asked

from skillian.data.comparison import statement
from skillian.data.results.result import ComparisonResult
from skillian.data.services import DataServices

SOURCES = two_sources(
    "k: {column: k}",
    "total: {column: amount, aggregation: sum}",
    tables=("connection: one, table: t", "connection: other, table: t"),
    connections="one: 'duckdb:///test.duckdb', other: 'duckdb:///other.duckdb'",
)
TABLE = "CREATE TABLE t (k INT, amount DECIMAL(10, 2))"
MANY = "SELECT 1, 1 FROM range(100_000)"
TOTAL = measures_asked("a", "b", ["total"], ["k"])


@pytest.fixture
def services(make_services: MakeServices) -> DataServices:
    """Over two databases with an empty table each."""
    made = make_services(TABLE, SOURCES)
    execute(made, "other", TABLE)
    return made


def execute(services: DataServices, name: str, script: str) -> None:
    with duckdb.connect(services.registry.folder / f"{name}.duckdb") as connection:
        connection.execute(script)


def is_direct(result: ComparisonResult) -> bool:
    """Whether rows were joined, and only the groups of the result were aggregated."""
    proof = result.proof
    return not proof.queries and "FULL JOIN" in proof.sql and proof.sql.count("GROUP BY") == 1


@pytest.mark.parametrize(
    ("a", "b", "direct"),
    [
        ("(1, 5), (2, 5), (NULL, 0)", "(1, 5), (NULL, 0)", True),
        ("(1, 5), (1, 5)", "(1, 5), (1, 5)", False),
        # Joined, these would be ten billion rows.
        (MANY, MANY, False),
    ],
)
async def test_rows_that_are_repeated_fail_the_proof(
    services: DataServices, monkeypatch: pytest.MonkeyPatch, a: str, b: str, *, direct: bool
) -> None:
    monkeypatch.setattr(statement, "_repeats", AsyncMock(return_value=False))
    for name, rows in (("test", a), ("other", b)):
        execute(services, name, f"INSERT INTO t {'' if rows == MANY else 'VALUES'} {rows}")
    result = await services.comparison.compare(TOTAL)
    assert is_direct(result) is direct
    counts = [100_000 if rows == MANY else rows.count("(") for rows in (a, b)]
    assert [result.summary.rows_a, result.summary.rows_b] == counts


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
    services: DataServices, rows: str, *, are_repeated: bool
) -> None:
    execute(services, "other", f"INSERT INTO t SELECT i, 1 FROM {rows}")  # noqa: S608
    result = await services.comparison.compare(TOTAL)
    groups = services.comparison._get(result.cache_key)
    assert await statement._repeats(groups.place) is are_repeated
