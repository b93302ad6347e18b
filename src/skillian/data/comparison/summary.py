"""The summary and the largest differences of a comparison, from its rows in the workspace.

equal            counts and sums of the equal groups, as one row
summary          counts and sums of the groups that differ, as one row
top              the largest differences of each measure
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from skillian.connectors.duckdb.engine import Workspace, stored_type
from skillian.data.comparison.plan import ComparisonPlan, MeasurePlan
from skillian.data.query.measures import NAN, number_of
from skillian.data.results.groups import (
    EXACT,
    Classes,
    Difference,
    MeasureSummary,
    NearMisses,
    Summary,
)
from skillian.data.sql import Statement
from skillian.data.sql.values import fetch, none_last, python_value
from skillian.data.subjects import STATUSES

_ADDITIVE = frozenset({"sum", "count"})
# Some are only of sums, or of what may be NaN.
_COUNTS = (
    *("null_in_a", "null_in_b", "doubled_in_a", "doubled_in_b", "opposite_sign"),
    *("not_finite_in_a", "not_finite_in_b"),
)
_UNEVEN = -1
"""In the rows of `top`: the group differs only in its number of rows."""
_SHOWN = 3
"""The number of groups to name that differ only in their number of rows."""
_UNEVEN_MATCH = "status = 'match' AND rows_a <> rows_b"
# Keys that would match if they were written alike: counted, but never treated as equal.
_FOLDS = {
    "spaces": "TRIM({key}, ' ')",
    "case": "REPLACE(UPPER({key}), '\u1e9e', '\u00df')",
    "zeros": "LTRIM({key}, '0')",
    "unicode": "NFC_NORMALIZE({key})",
}


async def read_summary(
    plan: ComparisonPlan, workspace: Workspace, collapsed: str, different: str, top: int
) -> tuple[Summary, tuple[Difference, ...]]:
    """The summary and the top differences.

    The differences are those of each measure in turn, the largest first, then the groups that match
    and differ only in their number of rows. The equal groups are counted apart: each is a match.
    The tables of the workspace have the rows of `collapsed_statement` and `different_statement`.
    """
    # Each row has the summary and one of the top differences; without any there is one row.
    text = f"""
WITH different AS (FROM "{different}"),
equal AS (SELECT {", ".join(_of_equal(plan))} FROM "{collapsed}" WHERE same = 1),
summary AS (SELECT {", ".join(_of_different(plan))} FROM different),
largest AS ({" UNION ALL ".join(_largest(plan, top))})
SELECT equal.*, summary.*, largest.* FROM summary CROSS JOIN equal LEFT JOIN largest ON TRUE
"""  # noqa: S608 - our own names
    return _read(await fetch(workspace, Statement(text, {})), plan)


def _of_equal(plan: ComparisonPlan) -> Iterator[str]:
    sums = {"equal_groups": "together", "equal_rows": "rows_a", "equal_repeated": "repeated"}
    yield from (_sum_of(value, 0, name) for name, value in sums.items())
    for index, measure in enumerate(plan.measures):
        yield _sum_of(f"a_{index}", measure.scale, f"equal_total_{index}")
        if measure.has_code:
            yield f"MAX(xa_{index}) AS equal_high_{index}"
            yield f"MIN(low_{index}) AS equal_low_{index}"


def _of_different(plan: ComparisonPlan) -> Iterator[str]:
    yield from (_count_of(f"status = '{status}'", status) for status in STATUSES)
    yield _count_of("rows_a > 0 AND rows_b > 0 AND rows_a <> rows_b", "uneven")
    yield _count_of(_UNEVEN_MATCH, "uneven_matches")
    for side in "ab":
        yield _sum_of(f"rows_{side}", 0, f"all_rows_{side}")
        yield _count_of(f"rows_{side} > 1", f"repeated_{side}")
    for index, measure in enumerate(plan.measures):
        yield from _of_measure(index, measure)
    yield from _near_miss_columns(plan)


def _of_measure(index: int, measure: MeasurePlan) -> Iterator[str]:
    a, b, gap, status = (f"{name}_{index}" for name in ("a", "b", "gap", "status"))
    yield from (_count_of(f"{status} = '{known}'", f"{known}_{index}") for known in STATUSES)
    sums = {"total_a": a, "total_b": b, "net_difference": gap, "gross_difference": f"ABS({gap})"}
    for name, value in sums.items():
        yield _sum_of(value, measure.scale, f"{name}_{index}")
    none_a, none_b = (
        f"({side} IS NULL{f' AND x{side} IS NULL' if measure.has_code else ''})" for side in (a, b)
    )
    present = f"{status} NOT IN ('missing_in_a', 'missing_in_b')"
    yield _count_of(f"{present} AND {none_a} AND NOT {none_b}", f"null_in_a_{index}")
    yield _count_of(f"{present} AND {none_b} AND NOT {none_a}", f"null_in_b_{index}")
    yield _count_of(f"{a} <> 0 AND {b} = -{a}", f"opposite_sign_{index}")
    if measure.aggregation == "sum":
        # Twice the rows always double a count, and never change an average.
        for twice, once in ("ab", "ba"):
            rows = f"rows_{once} <> 0 AND rows_{twice} = 2 * rows_{once}"
            values = f"{once}_{index} <> 0 AND {twice}_{index} = 2 * {once}_{index}"
            yield _count_of(f"{rows} AND {values}", f"doubled_in_{twice}_{index}")
    for side in "ab" if measure.has_code else "":
        code = f"x{side}_{index}"
        yield f"MAX({code}) AS high_{side}_{index}"
        yield f"MIN({code}) AS low_{side}_{index}"
        test = f"{status} = 'major_diff' AND {code} IS NOT NULL"
        yield _count_of(test, f"not_finite_in_{side}_{index}")


def _largest(plan: ComparisonPlan, top: int) -> Iterator[str]:
    """Yield the SELECT of the largest differences of each measure that are not a match.

    The last one is of the first groups that differ only in their number of rows.
    """
    keys = [f"key_{index}" for index in range(len(plan.a.keys))]
    names = [*keys, "rows_a", "rows_b"]
    for index, measure in enumerate(plan.measures):
        names += [f"a_{index}", f"b_{index}", f"status_{index}"]
        names += [f"xa_{index}", f"xb_{index}"] if measure.has_code else []
    order = ", ".join(f"{key} NULLS LAST" for key in keys)
    selected = [
        (index, f"status_{index} <> 'match'", f"ABS(gap_{index}) DESC, {order}", top)
        for index in range(len(plan.measures))
    ]
    for index, test, by, limit in (*selected, (_UNEVEN, _UNEVEN_MATCH, order, _SHOWN)):
        rows = f"FROM different WHERE {test} ORDER BY {by} LIMIT {limit}"
        yield f"SELECT {index} AS measure, {', '.join(names)} FROM ({rows})"  # noqa: S608 - as above


def _sum_of(value: str, scale: int, name: str) -> str:
    return f"CAST(SUM({value}) AS {stored_type('decimal', scale)}) AS {name}"


def _count_of(test: str, name: str) -> str:
    return f'COUNT(CASE WHEN {test} THEN 1 END) AS "{name}"'


def _read(
    rows: Sequence[Mapping[str, Any]], plan: ComparisonPlan
) -> tuple[Summary, tuple[Difference, ...]]:
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
        near_misses=NearMisses(
            # All are 0 if no key is text.
            **{name: int(first.get(f"near_{name}", 0)) for name in _FOLDS}
        ),
        measures=tuple(
            _measure(first, index, measure) for index, measure in enumerate(plan.measures)
        ),
        uneven_matches=int(first["uneven_matches"]),
    )
    top = [(int(row["measure"]), row) for row in rows if row["measure"] is not None]
    differences = [difference(row, plan, index) for index, row in top if index != _UNEVEN]
    uneven = [difference(row, plan, 0) for index, row in top if index == _UNEVEN]
    uneven.sort(key=lambda item: [*map(none_last, item.key.values())])
    order = {measure.name: index for index, measure in enumerate(plan.measures)}
    differences.sort(
        key=lambda item: (
            order[item.measure],
            item.gap.copy_abs().copy_negate(),
            [*map(none_last, item.key.values())],
        )
    )
    return summary, (*differences, *uneven)


def _measure(row: Mapping[str, Any], index: int, measure: MeasurePlan) -> MeasureSummary:
    additive = measure.aggregation in _ADDITIVE
    counts = {name: int(row.get(f"{name}_{index}", 0)) for name in _COUNTS}
    return MeasureSummary(
        name=measure.name,
        unit=measure.unit,
        classes=_classes(row, f"_{index}"),
        total_a=_total(row, index, measure, "a") if additive else None,
        total_b=_total(row, index, measure, "b") if additive else None,
        net_difference=row[f"net_difference_{index}"] or Decimal(0),
        gross_difference=row[f"gross_difference_{index}"] or Decimal(0),
        note=measure.note,
        **counts,
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


def _near_miss_columns(plan: ComparisonPlan) -> Iterator[str]:
    """Yield a column for each kind of near miss, over the staged relation `different`.

    There are none unless a key is text: other types have only one form.
    """
    texts = [term.type.kind == "text" for term in plan.a.keys]
    for name, fold in _FOLDS.items() if any(texts) else ():
        keys = (f"key_{index}" for index in range(len(texts)))
        folded = [
            fold.format(key=key) if text else key for key, text in zip(keys, texts, strict=True)
        ]
        yield (
            "(SELECT COUNT(*) FROM (SELECT 1 FROM different"  # noqa: S608 - our own names
            f" WHERE status IN ('missing_in_a', 'missing_in_b') GROUP BY {', '.join(folded)}"
            f" HAVING SUM(rows_a) > 0 AND SUM(rows_b) > 0)) AS near_{name}"
        )
