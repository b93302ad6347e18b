"""From the rows of the comparison statement to its summary and top differences."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from skillian.data.comparison.near_misses import read_near_misses
from skillian.data.comparison.plan import ComparisonPlan, MeasurePlan
from skillian.data.comparison.results import (
    EXACT,
    STATUSES,
    Classes,
    Difference,
    MeasureSummary,
    Summary,
)
from skillian.data.comparison.statement import UNEVEN
from skillian.data.query.measures import NAN, number_of
from skillian.data.sql.values import python_value

_ADDITIVE = frozenset({"sum", "count"})


def read_rows(
    rows: Sequence[Mapping[str, Any]], plan: ComparisonPlan
) -> tuple[Summary, tuple[Difference, ...]]:
    """The summary, which is the same in every row, and the top differences.

    The differences are those of each measure in turn, the largest first, then the groups that match
    and differ only in their number of rows. The equal groups are counted apart: each is a match.
    """
    first = rows[0]
    equal_rows, equal_repeated = (
        int(first[name] or 0) for name in ("equal_rows", "equal_repeated")
    )
    summary = Summary(
        classes=_classes(first),
        rows_a=int(first["all_rows_a"] or 0) + equal_rows,
        rows_b=int(first["all_rows_b"] or 0) + equal_rows,
        uneven_groups=int(first["uneven"]),
        repeated_a=int(first["repeated_a"]) + equal_repeated,
        repeated_b=int(first["repeated_b"]) + equal_repeated,
        near_misses=read_near_misses(first),
        measures=tuple(
            _measure(first, index, measure) for index, measure in enumerate(plan.measures)
        ),
        uneven_matches=int(first["uneven_matches"]),
    )
    top = [(int(row["measure"]), row) for row in rows if row["measure"] is not None]
    differences = [difference(row, plan, index) for index, row in top if index != UNEVEN]
    uneven = [difference(row, plan, 0) for index, row in top if index == UNEVEN]
    uneven.sort(key=lambda item: _key_order(item.key))
    order = {measure.name: index for index, measure in enumerate(plan.measures)}
    differences.sort(
        key=lambda item: (
            order[item.measure],
            item.gap.copy_abs().copy_negate(),
            _key_order(item.key),
        )
    )
    return summary, (*differences, *uneven)


def _measure(row: Mapping[str, Any], index: int, measure: MeasurePlan) -> MeasureSummary:
    additive = measure.aggregation in _ADDITIVE

    def count(name: str) -> int:
        return int(row[f"{name}_{index}"])

    def total(name: str) -> Decimal | None:
        value: Decimal | None = row[f"{name}_{index}"]
        return value

    return MeasureSummary(
        name=measure.name,
        unit=measure.unit,
        classes=_classes(row, f"_{index}"),
        total_a=_total(row, index, measure, "a") if additive else None,
        total_b=_total(row, index, measure, "b") if additive else None,
        net_difference=total("net") or Decimal(0),
        gross_difference=total("gross") or Decimal(0),
        null_in_a=count("null_in_a"),
        null_in_b=count("null_in_b"),
        doubled_in_a=count("doubled_in_a") if measure.aggregation == "sum" else 0,
        doubled_in_b=count("doubled_in_b") if measure.aggregation == "sum" else 0,
        opposite_sign=count("opposite"),
        not_finite_in_a=count("special_a") if measure.has_code else 0,
        not_finite_in_b=count("special_b") if measure.has_code else 0,
        note=measure.note,
    )


def _total(row: Mapping[str, Any], index: int, measure: MeasurePlan, side: str) -> Decimal | None:
    """The sum over all groups: NaN if one is NaN, or if both infinities occur."""
    finite = _sum(row[f"total_{side}_{index}"], row[f"equal_total_{index}"])
    if not measure.has_code:
        return finite
    bounds = (f"high_{side}", f"low_{side}", "equal_high", "equal_low")
    codes = {int(row[f"{name}_{index}"]) for name in bounds if row[f"{name}_{index}"] is not None}
    if NAN in codes or codes >= {1, -1}:
        return number_of(None, NAN)
    return number_of(finite, max(codes, default=None))


def _classes(row: Mapping[str, Any], measure: str = "") -> Classes:
    counts = {status: int(row[f"{status}{measure}"]) for status in STATUSES}
    counts["match"] += int(row["equal_groups"] or 0)
    return Classes(**counts)


def _sum(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    """The sum as SQL defines it: NULL is ignored, and the sum of NULLs is NULL."""
    if one is None or other is None:
        return other if one is None else one
    return EXACT.add(one, other)


def key_of(row: Mapping[str, Any], plan: ComparisonPlan) -> dict[str, object]:
    """The key of a group, by dimension."""
    return {
        term.name: python_value(row[f"key_{position}"], term.type.kind)
        for position, term in enumerate(plan.a.keys)
    }


def difference(row: Mapping[str, Any], plan: ComparisonPlan, index: int) -> Difference:
    """One measure of a group."""
    return Difference(
        measure=plan.measures[index].name,
        key=key_of(row, plan),
        status=row[f"status_{index}"],
        a=_number(row, plan.measures[index], f"a_{index}"),
        b=_number(row, plan.measures[index], f"b_{index}"),
        rows_a=int(row["rows_a"]),
        rows_b=int(row["rows_b"]),
    )


def _number(row: Mapping[str, Any], measure: MeasurePlan, name: str) -> Decimal | None:
    return number_of(row[name], row[f"x{name}"] if measure.has_code else None)


def _key_order(key: Mapping[str, object]) -> tuple[tuple[bool, Any], ...]:
    return tuple((value is None, 0 if value is None else value) for value in key.values())
