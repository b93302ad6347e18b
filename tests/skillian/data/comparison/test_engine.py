from collections.abc import Callable
from decimal import Decimal
from typing import Any
from unittest.mock import AsyncMock

import duckdb
import pytest
from tests.skillian.data.conftest import MakeServices
from tests.support.asking import measures_asked, two_sources

from skillian.data.comparison import statement
from skillian.data.results.result import ComparisonResult
from skillian.data.services import DataServices
from skillian.errors import InvalidInputError, QueryError, SourceNotFoundError, UnknownNameError

AMOUNT = "amount: {column: v, aggregation: sum}"
SOURCES = two_sources("key: {column: k}", f"{AMOUNT[:-1]}, unit: EUR}}", "key", measures_b=AMOUNT)
KINDS = "k VARCHAR, v DECIMAL(17, 2)"
Compared = Callable[..., Any]


@pytest.fixture
def compared(make_services: MakeServices) -> Compared:
    """Compare the rows of a with those of b; `kinds` are the types of key and amount."""

    async def compare(
        a: str, b: str, kinds: str = KINDS, sources: str = SOURCES
    ) -> ComparisonResult:
        script = ""
        for name, rows in (("a", a), ("b", b)):
            script += f"CREATE TABLE {name} ({kinds});"
            script += f"INSERT INTO {name} VALUES {rows};" if rows else ""  # noqa: S608 - ours
        engine = make_services(script, sources).engine
        return await engine.compare(measures_asked("a", "b", ["amount"]))

    return compare


@pytest.mark.parametrize(
    ("kinds", "both", "lone"),
    [
        (("DATE", "TIMESTAMP_NS"), "2024-01-31", "2024-01-31 00:00:01"),
        (("TINYINT", "HUGEINT"), "7", "8"),
    ],
)
async def test_a_key_that_only_one_side_has_is_alone(
    make_services: MakeServices, kinds: tuple[str, str], both: str, lone: str
) -> None:
    script = (
        f"CREATE TABLE a AS SELECT '{both}'::{kinds[0]} AS k, 1.5::DECIMAL(5, 1) AS v;"
        f"CREATE TABLE b AS SELECT UNNEST(['{both}', '{lone}'])::{kinds[1]} AS k,"
        " 1.5001::DECIMAL(30, 4) AS v"
    )
    engine = make_services(script, SOURCES).engine
    result = await engine.compare(measures_asked("a", "b", ["amount"]))
    classes = result.summary.classes
    assert (classes.major_diff, classes.missing_in_a, classes.missing_in_b) == (1, 1, 0)
    [alone, near] = result.top_differences
    assert (near.gap, type(near.key["key"]) is int) == (Decimal("0.0001"), kinds[0] == "TINYINT")
    rows = await engine.measures.drill_down(result.cache_key, alone.key)
    assert (len(rows.a.rows), len(rows.b.rows)) == (0, 1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("aggregation: sum}", "aggregation: max, unit: EUR}", "sum in a and max in b"),
        ("aggregation: sum}", "aggregation: sum, unit: USD}", "in EUR in a and in USD in b"),
        ("v, aggregation: sum}", "k, aggregation: sum}", r"source b: .* not a number"),
    ],
)
async def test_measures_that_cannot_be_compared_say_why(
    compared: Compared, old: str, new: str, message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        await compared("", "", sources=SOURCES.replace(old, new, 1))


async def test_keys_of_different_types_are_refused_with_the_fix(
    make_services: MakeServices,
) -> None:
    for key in ("7", "true"):
        cells = zip("ab", (f"'{key}'", key), strict=True)
        script = ";".join(
            f"CREATE TABLE {name} AS SELECT {cell} AS k, 1 AS v" for name, cell in cells
        )
        engine = make_services(script, SOURCES).engine
        with pytest.raises(QueryError, match="declare the same `type` for the dimension 'key'"):
            await engine.compare(measures_asked("a", "b", ["amount"]))


async def test_binary_floats_of_too_many_digits_are_refused_with_what_works(
    compared: Compared,
) -> None:
    given = "('x', 1e20), ('x', 1e-20)", "('x', 1e20)", "k VARCHAR, v DOUBLE"
    with pytest.raises(QueryError, match="is DOUBLE, whose values take") as refused:
        await compared(*given)
    name, _, expression = str(refused.value).partition("`")[2].rstrip("`").partition(": ")
    declared = SOURCES.replace("column: v", f"'{name}': '{expression}'")
    assert (await compared(*given, declared)).summary.classes.match == 1


async def test_too_large_numbers_fail_rather_than_be_wrong(compared: Compared) -> None:
    sources = SOURCES.replace("column: v", "expression: 'CAST(v AS DECIMAL(38, 2))'")
    row = f"('x', {'9' * 15})"
    assert (await compared(row, row, sources=sources)).summary.classes.match == 1
    wide = sources.replace("AS DECIMAL(38, 2)", "AS DECIMAL(38, 22)")
    with pytest.raises(QueryError, match=r"more than 38 digits; .* `expression` that rounds"):
        await compared(", ".join([row] * 12), row, sources=wide)
    huge = f"('x', {6 * 10**37}), ('x', {6 * 10**37})", "('x', 1)", "k VARCHAR, v HUGEINT"
    with pytest.raises(QueryError, match="more than 38 digits"):
        await compared(*huge)


async def test_wrong_names_say_what_there_is(make_services: MakeServices) -> None:
    tables = f"CREATE TABLE a ({KINDS}); CREATE TABLE b AS FROM a"
    engine = make_services(tables, SOURCES.replace("[key]", "[]")).engine
    aligned = "name the dimensions to group a and b by; they share: key"
    with pytest.raises(InvalidInputError, match=aligned):
        await engine.compare(measures_asked("a", "b", ["amount"]))
    with pytest.raises(UnknownNameError, match="no measure 'amout' in a"):
        await engine.compare(measures_asked("a", "b", ["amout"], ["key"]))
    with pytest.raises(SourceNotFoundError):
        await engine.compare(measures_asked("a", "c", ["amount"]))


async def test_unsigned_huge_integers_are_added_exactly(compared: Compared) -> None:
    a, b = "('x', 1180591620717411303425)", "('x', 1180591620717411303426)"
    for sources in (SOURCES, SOURCES.replace("sum", "avg")):
        result = await compared(a, b, "k VARCHAR, v UHUGEINT", sources)
        assert [item.gap for item in result.top_differences] == [Decimal(1)]


async def test_a_key_outside_the_years_of_python_says_what_to_do(compared: Compared) -> None:
    given = "(DATE 'infinity', 1)", "", "k DATE, v DECIMAL(17, 2)"
    with pytest.raises(QueryError, match="outside the years 1 to 9999; declare `type: text`"):
        await compared(*given)
    result = await compared(*given, SOURCES.replace("{column: k}", "{column: k, type: text}"))
    assert [item.key for item in result.top_differences] == [{"key": "infinity"}]


APART = two_sources(
    "k: {column: k}",
    "total: {column: amount, aggregation: sum}",
    tables=("connection: one, table: t", "connection: other, table: t"),
    connections="one: 'duckdb:///test.duckdb', other: 'duckdb:///other.duckdb'",
)
TABLE = "CREATE TABLE t (k INT, amount DECIMAL(10, 2))"
MANY = "SELECT 1, 1 FROM range(100_000)"
TOTAL = measures_asked("a", "b", ["total"], ["k"])


@pytest.fixture
def apart(make_services: MakeServices) -> DataServices:
    """Over two databases with an empty table each."""
    made = make_services(TABLE, APART)
    execute(made, "other", TABLE)
    return made


def execute(apart: DataServices, name: str, script: str) -> None:
    with duckdb.connect(apart.registry.folder / f"{name}.duckdb") as connection:
        connection.execute(script)


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
    apart: DataServices, monkeypatch: pytest.MonkeyPatch, a: str, b: str, *, direct: bool
) -> None:
    monkeypatch.setattr(statement, "_repeats", AsyncMock(return_value=False))
    for name, rows in (("test", a), ("other", b)):
        execute(apart, name, f"INSERT INTO t {'' if rows == MANY else 'VALUES'} {rows}")
    result = await apart.engine.compare(TOTAL)
    proof = result.proof
    joined = not proof.queries and "FULL JOIN" in proof.sql
    assert (joined and proof.sql.count("GROUP BY") == 1) is direct  # that of the result
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
    apart: DataServices, rows: str, *, are_repeated: bool
) -> None:
    execute(apart, "other", f"INSERT INTO t SELECT i, 1 FROM {rows}")  # noqa: S608
    result = await apart.engine.compare(TOTAL)
    groups = apart.engine.measures.groups(result.cache_key)
    assert await statement._repeats(groups.place) is are_repeated
