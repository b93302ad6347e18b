from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.support.asking import comparing, measures_asked

from skillian.data.comparison.cache import Memory
from skillian.data.comparison.engine import MeasureEngine
from skillian.data.comparison.results import ComparisonResult
from skillian.data.declare.sources import Connections, SourceRegistry
from skillian.data.query.binding import Binder
from skillian.data.services import DataServices
from skillian.errors import InvalidInputError, QueryError, SourceNotFoundError, UnknownNameError

MakeServices = Callable[[str, str], DataServices]

TABLES = """
CREATE TABLE a (k VARCHAR, v DECIMAL(17, 2)); CREATE TABLE b (k VARCHAR, v DECIMAL(17, 2));
"""
SOURCES = """
connections: {db: 'duckdb:///test.duckdb', other: 'duckdb:///other.duckdb'}
sources:
  a:
    connection: db
    table: a
    dimensions: {key: {column: k}}
    measures: {amount: {column: v, aggregation: sum, unit: EUR}}
  b:
    connection: db
    table: b
    dimensions: {key: {column: k}}
    measures: {amount: {column: v, aggregation: sum}}
  far:
    connection: other
    table: b
    dimensions: {key: {column: k}}
    measures: {amount: {column: v, aggregation: sum}}
comparison:
  default_align_on: [key]
"""


def rows(table: str, *values: str) -> str:
    return f"INSERT INTO {table} VALUES {', '.join(values)};"  # noqa: S608 - written in the tests


@pytest.fixture
def compared(make_services: MakeServices) -> Callable[..., Any]:
    """Compare the rows of a with those of b."""

    async def compare(
        a: list[str], b: list[str], sources: str = SOURCES, **given: Any
    ) -> ComparisonResult:
        script = TABLES + "".join(rows(n, *v) for n, v in (("a", a), ("b", b)) if v)
        services = make_services(script, sources)
        return await services.comparison.compare(measures_asked("a", "b", ["amount"], **given))

    return compare


async def test_numbers_of_different_widths_meet(make_services: MakeServices) -> None:
    script = """
    CREATE TABLE a (k TINYINT, v DECIMAL(5, 1)); INSERT INTO a VALUES (7, 1.5), (8, 2);
    CREATE TABLE b (k HUGEINT, v DECIMAL(30, 4)); INSERT INTO b VALUES (7, 1.5), (8, 2.0001);
    """
    result = await make_services(script, SOURCES).comparison.compare(
        measures_asked("a", "b", ["amount"])
    )
    [difference] = result.top_differences
    assert (difference.key, difference.gap) == ({"key": 8}, Decimal("0.0001"))
    assert type(difference.key["key"]) is int


async def test_averages_of_different_scales_are_rounded_alike(make_services: MakeServices) -> None:
    script = """
    CREATE TABLE a (k VARCHAR, v DECIMAL(5, 1)); INSERT INTO a VALUES ('x', 1), ('x', 0), ('x', 0);
    CREATE TABLE b (k VARCHAR, v DECIMAL(30, 4)); INSERT INTO b VALUES ('x', 1), ('x', 0), ('x', 0);
    """
    sources = SOURCES.replace("sum", "avg")
    result = await make_services(script, sources).comparison.compare(
        measures_asked("a", "b", ["amount"])
    )
    assert result.summary.classes.match == 1
    assert result.summary.measures[0].total_a is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{column: v, aggregation: sum}", "{column: v, aggregation: max}", "sum in a and max in b"),
        ("aggregation: sum}", "aggregation: sum, unit: USD}", "in EUR in a and in USD in b"),
        (
            "column: v, aggregation: sum}",
            "column: k, aggregation: sum}",
            r"source b: .* not a number",
        ),
    ],
)
async def test_measures_that_cannot_be_compared_say_why(
    make_services: MakeServices, old: str, new: str, message: str
) -> None:
    services = make_services(TABLES, SOURCES.replace(old, new, 1))
    with pytest.raises(QueryError, match=message):
        await services.comparison.compare(measures_asked("a", "b", ["amount"]))


async def test_binary_floats_of_too_many_digits_are_refused_with_what_works(
    make_services: MakeServices,
) -> None:
    script = TABLES.replace("DECIMAL(17, 2)", "DOUBLE")
    script += "INSERT INTO a VALUES ('x', 1e20), ('x', 1e-20); INSERT INTO b VALUES ('x', 1e20);"
    services = make_services(script, SOURCES)
    with pytest.raises(QueryError, match="binary float") as refused:
        await services.comparison.compare(measures_asked("a", "b", ["amount"]))
    advice = str(refused.value).partition("`")[2].rstrip("`")
    declared = SOURCES.replace(
        "column: v", f"'{advice.partition(': ')[0]}': '{advice.partition(': ')[2]}'"
    )
    services = make_services(script, declared)
    result = await services.comparison.compare(measures_asked("a", "b", ["amount"]))
    assert result.summary.classes.match == 1


async def test_too_large_numbers_fail_rather_than_be_wrong(compared: Callable[..., Any]) -> None:
    sources = SOURCES.replace("column: v", "expression: 'CAST(v AS DECIMAL(38, 2))'")
    huge = "9" * 15
    result = await compared([f"('x', {huge})"], [f"('x', {huge})"], sources)
    assert result.summary.classes.match == 1
    wide = sources.replace("AS DECIMAL(38, 2)", "AS DECIMAL(38, 22)")
    with pytest.raises(QueryError, match=r"(?i)out of range|overflow"):
        await compared([f"('y', {huge})"] * 12, [f"('y', {huge})"], wide)


async def test_wrong_names_say_what_there_is(make_services: MakeServices) -> None:
    engine = make_services(TABLES, SOURCES.replace("[key]", "[]")).comparison
    with pytest.raises(
        InvalidInputError, match="name the dimensions to align a and b on; they share: key"
    ):
        await engine.compare(measures_asked("a", "b", ["amount"]))
    with pytest.raises(UnknownNameError, match="no measure 'amout' in a"):
        await engine.compare(measures_asked("a", "b", ["amout"], ["key"]))
    with pytest.raises(SourceNotFoundError):
        await engine.compare(measures_asked("a", "c", ["amount"]))


async def test_the_order_of_alignment_and_the_definitions_are_part_of_the_question(
    make_services: MakeServices,
) -> None:
    two = SOURCES.replace("{key: {column: k}}", "{key: {column: k}, again: {column: k}}")
    compare = comparing(make_services(TABLES, two).comparison)
    one = await compare("a", "b", ["amount"], ["key", "again"])
    other = await compare("a", "b", ["amount"], ["again", "key"])
    changed = await make_services(TABLES, two.replace("unit: EUR", "unit: USD")).comparison.compare(
        measures_asked("a", "b", ["amount"], ["key", "again"])
    )
    assert len({one.cache_key, other.cache_key, changed.cache_key}) == 3


async def test_nothing_is_kept_where_the_file_says_so(make_services: MakeServices) -> None:
    sources = SOURCES + "  cache_ttl_seconds: 0\n"
    compare = comparing(make_services(TABLES, sources).comparison)
    assert await compare("a", "b", ["amount"]) is not await compare("a", "b", ["amount"])


async def test_fewer_top_differences_can_be_requested(
    make_services: MakeServices, tmp_path: Path
) -> None:
    make_services(TABLES + rows("a", "('x', 1)", "('y', 2)"), SOURCES)
    registry = SourceRegistry.load(tmp_path / "0" / "sources.yaml")
    async with Connections(registry) as connections:
        engine = MeasureEngine(registry, Binder(registry, connections), Memory(), top=1)
        result = await engine.compare(measures_asked("a", "b", ["amount"]))
    assert [item.key["key"] for item in result.top_differences] == ["y"]


@pytest.mark.parametrize("aggregation", ["sum", "avg"])
async def test_unsigned_huge_integers_are_added_exactly(
    make_services: MakeServices, aggregation: str
) -> None:
    script = """
    CREATE TABLE a (k VARCHAR, v UHUGEINT); INSERT INTO a VALUES ('x', 1180591620717411303425);
    CREATE TABLE b (k VARCHAR, v UHUGEINT); INSERT INTO b VALUES ('x', 1180591620717411303426);
    """
    services = make_services(script, SOURCES.replace("sum", aggregation))
    result = await services.comparison.compare(measures_asked("a", "b", ["amount"]))
    assert [item.gap for item in result.top_differences] == [Decimal(1)]


@pytest.mark.parametrize("day", ["12000-01-01", "infinity", "0044-01-01 (BC)"])
async def test_a_key_outside_the_years_of_python_is_reported_with_the_fix(
    make_services: MakeServices, day: str
) -> None:
    tables = TABLES.replace("k VARCHAR", "k DATE")
    script = tables + rows("a", f"(DATE '{day}', 1)")
    services = make_services(script, SOURCES)
    with pytest.raises(QueryError, match="outside the years 1 to 9999; declare `type: text`"):
        await services.comparison.compare(measures_asked("a", "b", ["amount"]))
    services = make_services(script, SOURCES.replace("{column: k}", "{column: k, type: text}"))
    result = await services.comparison.compare(measures_asked("a", "b", ["amount"]))
    assert [item.key for item in result.top_differences] == [{"key": day}]


@pytest.mark.parametrize("aggregation", ["count", "max"])
async def test_only_a_sum_can_be_that_of_a_load_run_twice(
    compared: Callable[..., Any], aggregation: str
) -> None:
    sources = SOURCES.replace("sum", aggregation)
    result = await compared(["('x', 1)"], ["('x', 2)", "('x', 2)"], sources)
    [amount] = result.summary.measures
    assert (amount.doubled_in_a, amount.doubled_in_b) == (0, 0)
    assert "twice" not in "".join(result.interpretation)


async def test_every_column_of_the_statement_is_read(compared: Callable[..., Any]) -> None:
    result = await compared(["('x', 1)"], [])
    assert '"summary"."groups"' not in result.proof.sql
