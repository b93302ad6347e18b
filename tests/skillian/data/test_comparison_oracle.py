"""The engine against an oracle in plain Python, over random tables."""

import asyncio
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from skillian.data.results import ComparisonResult
from skillian.data.services import DataServices
from skillian.data.sources import SourceRegistry

Row = tuple[str | None, int | None, Decimal | None]
Key = tuple[object, ...]

KEYS = ("1001", "1001 ", "é", "e\u0301", "o'neil", '"; DROP TABLE a; --', "名前", "")
AGGREGATIONS = ("sum", "count", "count_distinct", "avg", "min", "max")
LIMITS = ("0", "0.01", "1", "1.5", "100")


def sources_yaml(aggregations: Sequence[str]) -> str:
    text = "connections: {db: 'duckdb:///oracle.duckdb'}\nsources:\n"
    for name in ("a", "b"):
        text += f"  {name}:\n    connection: db\n    table: {name}\n"
        text += "    dimensions: {company: {column: company}, period: {column: period}}\n"
        text += "    measures:\n"
        for aggregation in aggregations:
            text += f"      {aggregation}: {{column: amount, aggregation: {aggregation}}}\n"
    return text


@dataclass(frozen=True)
class Case:
    a: tuple[Row, ...]
    b: tuple[Row, ...]
    align_on: tuple[str, ...]
    measures: tuple[str, ...]
    limits: tuple[str, str, str, str]
    filters: dict[str, Any]

    @property
    def thresholds(self) -> dict[str, dict[str, str]]:
        one, two, three, four = self.limits
        return {
            "match": {"absolute": one, "percentage": two},
            "minor_diff": {"absolute": three, "percentage": four},
        }


def kept(value: Any, test: Any) -> bool:
    """Whether a filter keeps a value, said in Python."""
    if isinstance(test, list):
        return value in test
    if not isinstance(test, dict):
        return bool(value == test)
    compare: dict[str, Callable[[Any], bool]] = {
        "ne": lambda other: not kept(value, other),
        "gte": lambda other: value is not None and value >= other,
        "gt": lambda other: value is not None and value > other,
        "lte": lambda other: value is not None and value <= other,
        "lt": lambda other: value is not None and value < other,
        "between": lambda ends: value is not None and ends[0] <= value <= ends[1],
    }
    return all(compare[operator](other) for operator, other in test.items())


def aggregated(values: Sequence[Decimal], how: str) -> Decimal | None:
    if how == "count":
        return Decimal(len(values))
    if how == "count_distinct":
        return Decimal(len(set(values)))
    if not values:
        return None
    if how == "avg":
        share = Fraction(sum(values)) / len(values)
        digits = (abs(share) * 10**8 + Fraction(1, 2)).__floor__()
        return Decimal(digits).scaleb(-8) * (1 if share >= 0 else -1)
    by_name: dict[str, Callable[[Iterable[Decimal]], Decimal]] = {"min": min, "max": max}
    return by_name[how](values) if how in by_name else sum(values, Decimal(0))


def groups(rows: Sequence[Row], case: Case) -> dict[Key, list[Decimal | None]]:
    found: dict[Key, list[Decimal | None]] = {}
    for company, period, amount in rows:
        named = {"company": company, "period": period}
        if all(kept(named[name], test) for name, test in case.filters.items()):
            found.setdefault(tuple(named[name] for name in case.align_on), []).append(amount)
    return found


def within(a: Decimal, b: Decimal, absolute: str, percentage: str) -> bool:
    difference = abs(Fraction(b) - Fraction(a))
    if difference > Fraction(absolute):
        return False
    return a == 0 or difference * 100 / abs(Fraction(a)) <= Fraction(percentage)


def classified(a: Decimal | None, b: Decimal | None, limits: Sequence[str]) -> str:
    if a is None or b is None:
        return "match" if a is b else "major_diff"
    if within(a, b, limits[0], limits[1]):
        return "match"
    return "minor_diff" if within(a, b, limits[2], limits[3]) else "major_diff"


@dataclass(frozen=True)
class Expected:
    status: str
    a: Decimal | None
    b: Decimal | None
    rows: tuple[int, int]

    @property
    def gap(self) -> Decimal:
        return (self.b or Decimal(0)) - (self.a or Decimal(0))


def expected(case: Case, measure: str) -> dict[Key, Expected]:
    side_a, side_b = groups(case.a, case), groups(case.b, case)
    found: dict[Key, Expected] = {}
    for key in side_a.keys() | side_b.keys():
        rows = len(side_a.get(key, ())), len(side_b.get(key, ()))
        a, b = (
            aggregated([v for v in side[key] if v is not None], measure) if key in side else None
            for side in (side_a, side_b)
        )
        status = classified(a, b, case.limits)
        status = "missing_in_b" if not rows[1] else status
        found[key] = Expected("missing_in_a" if not rows[0] else status, a, b, rows)
    return found


def text_order(key: Key) -> tuple[Any, ...]:
    return tuple((part is None, part if part is not None else 0) for part in key)


def check_measure(case: Case, measure: str, result: ComparisonResult) -> None:
    groups_expected = expected(case, measure)
    everything = list(groups_expected.values())
    summary = next(item for item in result.summary.measures if item.name == measure)
    for status, count in summary.classes.to_dict().items():
        assert count == sum(item.status == status for item in everything), status
    assert summary.net_difference == sum((item.gap for item in everything), Decimal(0))
    assert summary.gross_difference == sum((abs(item.gap) for item in everything), Decimal(0))
    if measure in {"sum", "count"}:
        for total, values in (
            (summary.total_a, [item.a for item in everything]),
            (summary.total_b, [item.b for item in everything]),
        ):
            present = [value for value in values if value is not None]
            assert total == (sum(present, Decimal(0)) if present else None)
    different = [(key, item) for key, item in groups_expected.items() if item.status != "match"]
    different.sort(key=lambda pair: (-abs(pair[1].gap), text_order(pair[0])))
    told = [item for item in result.top_differences if item.measure == measure]
    assert [
        (tuple(item.key.values()), item.status, item.a, item.b, (item.rows_a, item.rows_b))
        for item in told
    ] == [(key, item.status, item.a, item.b, item.rows) for key, item in different[:10]]
    check_percentages(told)


def check_percentages(differences: Iterable[Any]) -> None:
    for item in differences:
        if item.a and item.b is not None:
            share = Fraction(abs(item.b - item.a)) * 100 / abs(Fraction(item.a))
            rounded = (share * 10_000 + Fraction(1, 2)).__floor__()
            assert item.percentage_diff == Decimal(rounded).scaleb(-4)
        else:
            assert item.percentage_diff is None


def check_rows(case: Case, result: ComparisonResult) -> None:
    rank = ("match", "minor_diff", "major_diff", "missing_in_a", "missing_in_b")
    worst: dict[Key, str] = {}
    uneven: set[Key] = set()
    for measure in case.measures:
        for key, item in expected(case, measure).items():
            worst[key] = max(worst.get(key, "match"), item.status, key=rank.index)
            if all(item.rows) and item.rows[0] != item.rows[1]:
                uneven.add(key)
    for status, count in result.summary.classes.to_dict().items():
        assert count == sum(found == status for found in worst.values())
    assert result.summary.uneven_groups == len(uneven)
    assert result.summary.rows_a == sum(len(rows) for rows in groups(case.a, case).values())
    assert result.summary.rows_b == sum(len(rows) for rows in groups(case.b, case).values())


def compared(case: Case) -> ComparisonResult:
    async def run(folder: Path) -> ComparisonResult:
        async with DataServices(SourceRegistry.load(folder / "sources.yaml")) as services:
            return await services.comparison.compare(
                "a", "b", case.measures, case.align_on, case.filters, thresholds=case.thresholds
            )

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sources.yaml").write_text(sources_yaml(case.measures), encoding="utf-8")
        with duckdb.connect(folder / "oracle.duckdb") as connection:
            for table, rows in (("a", case.a), ("b", case.b)):
                connection.execute(
                    f"CREATE TABLE {table} (company VARCHAR, period BIGINT, amount DECIMAL(22, 2))"
                )
                if rows:
                    connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)  # noqa: S608
        return asyncio.run(run(folder))


companies = st.one_of(st.none(), st.sampled_from(KEYS), st.text(max_size=3))
periods = st.one_of(st.none(), st.sampled_from((2024001, 2024002, -1, 2**62)))
amounts = st.one_of(
    st.none(),
    st.sampled_from(
        [
            Decimal(text)
            for text in ("0", "0.01", "-0.01", "1", "100", "-100", "101", "99", "100.01")
        ]
    ),
    st.sampled_from([Decimal("999999999999999999.99"), Decimal("-999999999999999999.98")]),
    st.decimals(min_value=-1000, max_value=1000, places=2),
)
rows = st.lists(st.tuples(companies, periods, amounts), max_size=8)
texts = st.sampled_from(KEYS)
numbers = st.sampled_from((2024001, 2024002, -1, 2**62))


def filters_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(st.one_of(st.none(), values), min_size=1, max_size=3)
    ordered: Callable[[tuple[Any, Any]], list[Any]] = sorted
    return st.one_of(
        st.none(),
        values,
        lists,
        st.fixed_dictionaries({"ne": st.one_of(st.none(), values, lists)}),
        st.fixed_dictionaries({"gte": values, "lt": values}),
        st.fixed_dictionaries({"gt": values}),
        st.fixed_dictionaries({"lte": values}),
        st.fixed_dictionaries({"between": st.tuples(values, values).map(ordered)}),
    )


filters: st.SearchStrategy[Mapping[str, Any]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"company": filters_of(texts)}),
    st.fixed_dictionaries({"period": filters_of(numbers), "company": filters_of(texts)}),
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    a = draw(rows)
    # Rows of a again make groups that meet, and loads that ran twice.
    repeated = draw(st.lists(st.sampled_from(a), max_size=6)) if a else []
    nudge = draw(st.sampled_from([Decimal(text) for text in ("0", "0.01", "1", "-1")]))
    nudged = [
        (company, period, amount if amount is None else amount + nudge)
        for company, period, amount in repeated
    ]
    return Case(
        a=tuple(a),
        b=(*nudged, *draw(rows)),
        align_on=draw(st.sampled_from((("company",), ("company", "period"), ("period",)))),
        measures=tuple(draw(st.lists(st.sampled_from(AGGREGATIONS), min_size=1, unique=True))),
        limits=draw(st.tuples(*[st.sampled_from(LIMITS)] * 4)),
        filters=dict(draw(filters)),
    )


def on_the_limit(a: str, b: str, percentage: str) -> Case:
    return Case(
        a=(("1001", 1, Decimal(a)),),
        b=(("1001", 1, Decimal(b)),),
        align_on=("company",),
        measures=("sum", "avg"),
        limits=("9999999999999", percentage, "0", "0"),
        filters={},
    )


@pytest.mark.timeout(240)
@settings(
    max_examples=60,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(case=cases())
@example(case=on_the_limit("0.07", "0.08", "14.285714285"))
@example(case=on_the_limit("123456789012345.00", "124691356902468.45", "1"))
@example(case=on_the_limit("-200.00", "-202.00", "1"))
@example(case=on_the_limit("0.00", "1000000.00", "0"))
def test_engine_equals_oracle(case: Case) -> None:
    result = compared(case)
    for measure in case.measures:
        check_measure(case, measure, result)
    check_rows(case, result)
