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
from skillian.errors import (
    InvalidInputError,
    QueryError,
    SourceNotFoundError,
    UnknownNameError,
)

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


async def test_every_group_is_in_one_of_five_classes(compared: Callable[..., Any]) -> None:
    result = await compared(
        ["('same', 1)", "('near', 100)", "('far', 100)", "('only a', 5)", "(NULL, 7)"],
        ["('same', 1)", "('near', 101)", "('far', 102)", "('only b', -6)", "(NULL, 7)"],
        thresholds={"minor_diff": {"absolute": 1, "percentage": 1}},
    )
    assert result.summary.classes.to_dict() == {
        "match": 2,
        "minor_diff": 1,
        "major_diff": 1,
        "missing_in_a": 1,
        "missing_in_b": 1,
    }
    assert [(item.key["key"], item.status, item.gap) for item in result.top_differences] == [
        ("only b", "missing_in_a", Decimal(-6)),
        ("only a", "missing_in_b", Decimal(-5)),
        ("far", "major_diff", Decimal(2)),
        ("near", "minor_diff", Decimal(1)),
    ]
    amount = result.summary.measures[0]
    assert (amount.total_a, amount.total_b) == (Decimal(213), Decimal(205))
    assert (amount.net_difference, amount.gross_difference) == (Decimal(-8), Decimal(14))
    assert (result.summary.rows_a, result.summary.rows_b) == (5, 5)


async def test_a_null_measure_is_not_zero(compared: Callable[..., Any]) -> None:
    result = await compared(
        ["('both', NULL)", "('in a', NULL)", "('in b', 0)"],
        ["('both', NULL)", "('in a', 0)", "('in b', NULL)"],
        thresholds={"match": {"absolute": 100, "percentage": 100}},
    )
    assert [(item.key["key"], item.status, item.reason) for item in result.top_differences] == [
        ("in a", "major_diff", "null_in_a"),
        ("in b", "major_diff", "null_in_b"),
    ]
    [amount] = result.summary.measures
    assert (amount.classes.match, amount.null_in_a, amount.null_in_b) == (1, 1, 1)


@pytest.mark.parametrize(
    ("a", "b", "match", "status"),
    [
        ("100", "101", {"absolute": 1, "percentage": 1}, "match"),
        ("100", "101", {"absolute": 1, "percentage": "0.999999999"}, "major_diff"),
        ("100", "101", {"absolute": "0.99", "percentage": 1}, "major_diff"),
        ("100", "101", {"absolute": 1}, "match"),
        ("100", "101", {"percentage": 1}, "match"),
        ("100", "101", {"percentage": "0.99"}, "major_diff"),
        ("-100", "-101", {"absolute": 1, "percentage": 1}, "match"),
        ("0", "1", {"absolute": 1}, "match"),
        ("0", "1.01", {"absolute": 1, "percentage": 100}, "major_diff"),
        ("1", "0", {"absolute": 1, "percentage": 100}, "match"),
        ("100", "100", {}, "match"),
        ("999999999999999.99", "999999999999999.98", {}, "major_diff"),
    ],
)
async def test_every_stated_limit_must_be_kept_and_is_inclusive(
    compared: Callable[..., Any], a: str, b: str, match: dict[str, Any], status: str
) -> None:
    result = await compared([f"('x', {a})"], [f"('x', {b})"], thresholds={"match": match})
    assert result.summary.classes.to_dict()[status] == 1


async def test_limits_of_the_request_go_before_those_of_the_file(
    compared: Callable[..., Any],
) -> None:
    sources = SOURCES + "  thresholds: {match: {absolute: 5, percentage: 5}}\n"
    result = await compared(
        ["('x', 100)"], ["('x', 104)"], sources, thresholds={"match": {"absolute": 3}}
    )
    assert result.summary.classes.major_diff == 1
    assert result.to_dict()["proof"]["thresholds"] == {
        "amount": {
            "match": {"absolute": "3", "percentage": None},
            "minor_diff": {"absolute": "0", "percentage": "0"},
        }
    }


async def test_a_load_run_twice_names_itself(compared: Callable[..., Any]) -> None:
    once = ["('x', 10)", "('x', 5)", "('y', 1)"]
    result = await compared(once, [*once[:2], *once])
    [x] = result.top_differences
    assert (x.rows_a, x.rows_b, x.percentage_diff) == (2, 4, Decimal("100.0000"))
    assert result.summary.uneven_groups == 1
    assert result.summary.measures[0].doubled_in_b == 1
    assert (
        "In 1 group (key x) b has exactly twice the rows and twice the amount of a, as if a load"
        " had run twice." in result.interpretation
    )


async def test_only_the_largest_differences_leave_the_engine(
    compared: Callable[..., Any],
) -> None:
    result = await compared(
        [f"('k{n:02d}', {n})" for n in range(15)], [f"('k{n:02d}', 0)" for n in range(15)]
    )
    assert [item.a for item in result.top_differences] == [Decimal(n) for n in range(14, 4, -1)]
    assert result.summary.classes.major_diff == 14


async def test_an_empty_comparison_is_reported(compared: Callable[..., Any]) -> None:
    result = await compared([], ["('x', 1)"], filters={"key": "y"})
    assert (result.summary.classes.groups, result.summary.classes.match_rate) == (0, None)
    assert result.interpretation == (
        "Neither a nor b has a row for this question: there is nothing to compare.",
    )
    assert result.to_dict()["summary"]["measures"]["amount"]["net_difference"] == "0"


async def test_key_types_must_agree_or_be_declared(make_services: MakeServices) -> None:
    script = """
    CREATE TABLE a (k VARCHAR, v INTEGER); INSERT INTO a VALUES ('0007', 1), ('0008', 2);
    CREATE TABLE b (k BIGINT, v INTEGER); INSERT INTO b VALUES (7, 1), (8, 3);
    """
    services = make_services(script, SOURCES)
    with pytest.raises(QueryError, match=r"VARCHAR in a and BIGINT in b; declare .*`type: text`"):
        await services.comparison.compare(measures_asked("a", "b", ["amount"]))
    for declared in (
        ("{column: k, type: integer}", "{column: k}"),
        ("{column: k}", "{column: k, normalise: [\"lpad(4, '0')\"]}"),
        ("{column: k}", "{column: k, values: {7: '0007', 8: '0008'}}"),
    ):
        a, b, rest = SOURCES.split("{column: k}", 2)
        services = make_services(script, declared[0].join([a, declared[1].join([b, rest])]))
        result = await services.comparison.compare(measures_asked("a", "b", ["amount"]))
        assert result.summary.classes.to_dict()["match"] == 1
        assert result.summary.classes.groups == 2


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


async def test_wrong_questions_say_what_is_wrong(compared: Callable[..., Any]) -> None:
    with pytest.raises(UnknownNameError) as unknown:
        await compared([], [], align_on=["kee"])
    assert unknown.value.to_dict()["available_dimensions"] == ["key"]


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


async def test_the_same_question_is_answered_from_memory(make_services: MakeServices) -> None:
    services = make_services(TABLES + rows("a", "('x', 1)"), SOURCES)
    compare = comparing(services.comparison)
    first = await compare("a", "b", ["amount"], filters={"key": "x"})
    assert await compare("a", "b", "amount", ["key"], {"key": ["x"]}) is first
    others = [
        await compare("b", "a", ["amount"], filters={"key": "x"}),
        await compare("a", "b", ["amount"]),
        await compare("a", "b", ["amount"], filters={"key": "y"}),
        await compare(
            "a", "b", ["amount"], filters={"key": "x"}, thresholds={"match": {"absolute": 1}}
        ),
    ]
    keys = {first.cache_key, *(other.cache_key for other in others)}
    assert len(keys) == 5
    assert all(len(key) == 64 for key in keys)


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


async def test_the_proof_holds_what_ran(compared: Callable[..., Any]) -> None:
    result = await compared(["('x', 1)"], [], filters={"key": {"gte": "o'neil"}})
    proof = result.to_dict()["proof"]
    assert proof["align_on"] == ["key"]
    assert proof["filters"] == [{"dimension": "key", "operator": "gte", "values": ["o'neil"]}]
    assert "o'neil" not in proof["sql"]
    assert "o'neil" in proof["parameters"].values()
    assert proof["snapshot"].endswith("+00:00")


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
