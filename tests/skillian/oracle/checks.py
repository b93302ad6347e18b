"""An answer of the engine, and what is asked about it afterwards, against those of the oracle."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any, cast
from unicodedata import normalize

from tests.skillian.oracle.oracle import (
    ADDITIVE,
    STATUSES,
    Cell,
    Group,
    Key,
    Oracle,
    Row,
    by_size,
    exact,
    finite,
    key_order,
)
from tests.skillian.oracle.questions import Question, Side
from tests.skillian.oracle.values import capitals
from tests.support.asking import page_of

from skillian.data.comparison.explain.explanation import Breakdown, Explanation
from skillian.data.comparison.explain.heat_map import HeatMap
from skillian.data.comparison.page import ComparisonRows
from skillian.data.comparison.rows import DrillDown, GroupRow
from skillian.data.query.engine import QueryResult
from skillian.data.results.groups import Difference, MeasureSummary
from skillian.data.results.result import ComparisonResult
from skillian.data.services import DataServices
from skillian.data.sql.values import jsonable

TOP = 10


def check(result: ComparisonResult, question: Question) -> None:
    """Every count, class, total and top difference, and no binary float anywhere."""
    oracle = Oracle(question)
    summary = result.summary
    groups = oracle.groups
    same(summary.classes.to_dict(), counted(group.status for group in groups))
    assert summary.classes.match_rate == rate([group.status for group in groups])
    assert summary.rows_a == sum(group.rows_a for group in groups)
    assert summary.rows_b == sum(group.rows_b for group in groups)
    assert summary.uneven_groups == sum(group.uneven for group in groups)
    assert summary.repeated_a == sum(group.rows_a > 1 for group in groups)
    assert summary.repeated_b == sum(group.rows_b > 1 for group in groups)
    assert summary.uneven_matches == sum(
        group.uneven and group.status == "match" for group in groups
    )
    assert summary.row_findings == row_findings(groups)
    same(summary.near_misses.to_dict(), near_misses(oracle))
    assert [measure.name for measure in summary.measures] == list(question.measures)
    for measure in summary.measures:
        check_measure(measure, oracle)
    check_top(result, oracle)
    check_proof(result, oracle)
    check_json(result.to_dict())


def same(found: object, wanted: object) -> None:
    assert found == wanted, f"\nfound:  {found}\nwanted: {wanted}"


def row_findings(groups: Sequence[Group]) -> int:
    """Groups that differ in their rows alone, where the key is there to name rows."""
    sides = [[g.rows_a for g in groups if g.rows_a], [g.rows_b for g in groups if g.rows_b]]
    few = all(sum(rows > 1 for rows in side) * 2 <= len(side) for side in sides)
    pairs = {(g.rows_a, g.rows_b) for g in groups}
    if not few and pairs not in ({(1, 2)}, {(2, 1)}):
        return 0
    return sum(group.uneven and group.status == "match" for group in groups)


def counted(statuses: Iterable[str]) -> dict[str, int]:
    found = list(statuses)
    return {status: found.count(status) for status in STATUSES}


def rate(statuses: Sequence[str]) -> str | None:
    """The share of matches, cut to one digit, so that only all of them are 100 %."""
    if not statuses:
        return None
    tenths = (Fraction(statuses.count("match"), len(statuses)) * 1000).__floor__()
    return f"{tenths // 10}.{tenths % 10} %"


def check_measure(measure: MeasureSummary, oracle: Oracle) -> None:
    groups, name = oracle.groups, measure.name
    cells = [group.cells[name] for group in groups]
    how = oracle.question.a.measures[name]["aggregation"]
    same(measure.classes.to_dict(), counted(cell.status for cell in cells))
    totals = (total(cell.a for cell in cells), total(cell.b for cell in cells))
    found_totals = comparable(measure.total_a), comparable(measure.total_b)
    same(found_totals, totals if how in ADDITIVE else (None, None))
    for side, count in (("a", measure.not_finite_in_a), ("b", measure.not_finite_in_b)):
        assert count == sum(is_special(cell, side) for cell in cells)
    assert measure.net_difference == sum(Fraction(cell.gap) for cell in cells)
    assert measure.gross_difference == sum(abs(Fraction(cell.gap)) for cell in cells)
    assert measure.null_in_a == sum(cell.reason == "null_in_a" for cell in cells)
    assert measure.null_in_b == sum(cell.reason == "null_in_b" for cell in cells)
    found = [sum(doubled(group, name)[side] for group in groups) for side in (0, 1)]
    assert [measure.doubled_in_a, measure.doubled_in_b] == (found if how == "sum" else [0, 0])
    assert measure.opposite_sign == sum(opposite(cell) for cell in cells)


def is_special(cell: Cell, side: str) -> bool:
    """Whether a cell is a major difference with NaN or an infinity on this side."""
    value = cell.a if side == "a" else cell.b
    return cell.status == "major_diff" and value is not None and not value.is_finite()


def comparable(value: Decimal | None) -> Any:
    """Return a value that equals itself, which NaN does not."""
    return value if value is None or value.is_finite() else str(value)


def total(values: Iterable[Decimal | None]) -> Fraction | str | None:
    """The sum of what is there; of nothing there is none."""
    given = [value for value in values if value is not None]
    special = {str(value) for value in given if not value.is_finite()}
    if special:
        return "NaN" if len(special) > 1 else special.pop()
    present = [Fraction(value) for value in given]
    return sum(present, Fraction(0)) if present else None


def doubled(group: Group, name: str) -> tuple[bool, bool]:
    """Whether a has exactly twice the rows and twice the value of b, and the reverse."""
    cell = group.cells[name]
    one, other = (cell.a, group.rows_a), (cell.b, group.rows_b)
    return _is_double(one, other), _is_double(other, one)


def _is_double(one: tuple[Decimal | None, int], other: tuple[Decimal | None, int]) -> bool:
    if not finite(one[0]) or not finite(other[0]) or one[0] is None or other[0] is None:
        return False
    return one[1] == 2 * other[1] and Fraction(one[0]) == 2 * Fraction(other[0])


def opposite(cell: Cell) -> bool:
    a, b = finite(cell.a), finite(cell.b)
    return bool(a and b is not None and Fraction(a) == -Fraction(b))


def near_misses(oracle: Oracle) -> dict[str, int]:
    """Keys that meet when one way of writing is left out, of those that are on one side only."""
    missing = [group for group in oracle.groups if group.status.startswith("missing")]
    return {name: _met(missing, fold) for name, fold in FOLDS.items()}


def _met(missing: Iterable[Group], fold: Callable[[str], str]) -> int:
    sides: dict[Key, set[str]] = {}
    for group in missing:
        key = tuple(fold(part) if isinstance(part, str) else part for part in group.key)
        sides.setdefault(key, set()).add(group.status)
    return sum(len(found) > 1 for found in sides.values())


FOLDS: dict[str, Callable[[str], str]] = {
    "spaces": lambda text: text.strip(" "),
    "case": capitals,
    "zeros": lambda text: text.lstrip("0"),
    "unicode": lambda text: normalize("NFC", text),
}


def check_top(result: ComparisonResult, oracle: Oracle) -> None:
    """The largest differences of each measure in turn, with all that is reported about them."""
    top = [(item.measure, shown(item)) for item in result.top_differences]
    wanted = [
        (name, wanted_of(group, name, oracle))
        for name in oracle.question.measures
        for group in oracle.different(name)[:TOP]
    ]
    same(top, wanted)
    for item in result.top_differences:
        for value in (item.a, item.b, item.gap, item.absolute_diff, item.percentage_diff):
            assert value is None or type(value) is Decimal
        for part in item.key.values():
            assert part is None or isinstance(part, str | int | Decimal | date)


def shown(item: Difference) -> tuple[Any, ...]:
    numbers = (item.a, item.b, item.gap, item.absolute_diff, item.percentage_diff)
    causes = (item.doubled(in_a=True), item.doubled(in_a=False), item.opposite_sign)
    rows = (item.rows_a, item.rows_b)
    values = tuple(comparable(number) for number in numbers)
    return dict(item.key), item.status, item.reason, values, rows, causes


def wanted_of(group: Group, name: str, oracle: Oracle) -> tuple[Any, ...]:
    cell = group.cells[name]
    both = finite(cell.a) is not None and finite(cell.b) is not None
    absolute = cell.gap.copy_abs() if both else None
    given = (cell.a, cell.b, cell.gap, absolute, cell.percentage)
    numbers = tuple(comparable(number) for number in given)
    causes = (*doubled(group, name), opposite(cell))
    key = dict(zip(oracle.align_on, group.key, strict=True))
    return key, cell.status, cell.reason, numbers, (group.rows_a, group.rows_b), causes


def check_proof(result: ComparisonResult, oracle: Oracle) -> None:
    assert result.key_columns == oracle.align_on
    for name in oracle.question.measures:
        used = result.proof.thresholds[name]
        for limits, wanted in zip((used.match, used.minor_diff), oracle.limits(name), strict=True):
            both = wanted if any(each is not None for each in wanted) else (0, 0)
            assert (limits.absolute, limits.percentage) == both


def check_json(data: object) -> None:
    """JSON without a float, and without an integer that a reader would round."""
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    walk(data)


def walk(data: object) -> None:
    assert not isinstance(data, float | Decimal), data
    if isinstance(data, Mapping):
        for key, value in data.items():
            assert isinstance(key, str)
            walk(value)
    elif isinstance(data, list | tuple):
        for value in data:
            walk(value)
    elif isinstance(data, int):
        assert abs(data) <= 2**53


DIFFERENT = STATUSES[1:]
# The groups that are drilled into, by their keys as they are, and as JSON has them.
DRILLED: tuple[Callable[[Any], Any], ...] = (lambda part: part, jsonable)


async def check_follow_up(services: DataServices, cache_key: str, question: Question) -> None:
    """Ask everything that can be asked about a comparison, and check it."""
    oracle, engine = Oracle(question), services.engine
    await check_pages(services, cache_key, oracle, None)
    await check_pages(services, cache_key, oracle, STATUSES)
    explanation = await engine.measures.explain(cache_key)
    check_explanation(explanation, oracle)
    for names in [*permutations(oracle.align_on, 2)][:2]:
        heat_map = await engine.measures.heat_map(cache_key, names, question.measures[-1])
        check_heat_map(heat_map, oracle)
    largest = sorted(oracle.groups, key=lambda group: by_size(group, question.measures[0]))
    for group, form in zip(largest, DRILLED, strict=False):
        key = dict(zip(oracle.align_on, map(form, group.key), strict=True))
        check_drill_down(await engine.measures.drill_down(cache_key, key), oracle, group)


async def check_pages(
    services: DataServices, cache_key: str, oracle: Oracle, statuses: Sequence[str] | None
) -> None:
    """Pages cover each group of these classes exactly once, the largest first."""
    wanted = [each for each in oracle.groups if each.status in (statuses or DIFFERENT)]
    wanted.sort(key=lambda each: by_size(each, oracle.question.measures[0]))
    limit = max(2, (len(wanted) + 2) // 3)
    found: list[GroupRow] = []
    for offset in range(0, len(wanted) + 1, limit):
        rows = await services.engine.rows(cache_key, page_of(statuses, offset, limit))
        page = cast("ComparisonRows[GroupRow]", rows)
        assert (page.total, page.offset) == (len(wanted), offset)
        check_json(page.to_dict())
        found += page.rows
    same([_group(row) for row in found], [_wanted(group, oracle) for group in wanted])


def _group(row: GroupRow) -> tuple[Any, ...]:
    cells = [(item.measure, shown(item)) for item in row.measures]
    return row.status, row.rows_a, row.rows_b, cells


def _wanted(group: Group, oracle: Oracle) -> tuple[Any, ...]:
    cells = [(name, wanted_of(group, name, oracle)) for name in oracle.question.measures]
    return group.status, group.rows_a, group.rows_b, cells


def check_explanation(explanation: Explanation, oracle: Oracle) -> None:
    """Each dimension, and each two, add up to the whole gap, the largest member first."""
    assert explanation.grain == oracle.align_on
    shared = oracle.question.a.dimensions.keys() & oracle.question.b.dimensions.keys()
    assert set(explanation.unused) == shared - {*oracle.align_on}
    assert [each.measure for each in explanation.measures] == list(oracle.question.measures)
    for measure in explanation.measures:
        gaps = [Fraction(group.cells[measure.measure].gap) for group in oracle.groups]
        assert measure.net == exact(sum(gaps, Fraction(0)))
        assert measure.gross == exact(sum(map(abs, gaps), Fraction(0)))
        found = {each.dimensions: each for each in measure.breakdowns}
        assert len(found) == len(measure.breakdowns)
        for dimensions in (
            *((name,) for name in oracle.align_on),
            *combinations(oracle.align_on, 2),
        ):
            wanted = contributions(oracle, measure.measure, dimensions)
            check_breakdown(found.pop(dimensions, None), wanted, measure.gross)
        assert not found
    check_json(explanation.to_dict())


def contributions(
    oracle: Oracle, measure: str, dimensions: Sequence[str]
) -> list[tuple[Mapping[str, Any], Decimal, Decimal, int]]:
    """Return what each member with a gap carries: net, gross, and groups that are no match."""
    places = [oracle.align_on.index(name) for name in dimensions]
    members: dict[tuple[Any, ...], list[Group]] = {}
    for group in oracle.groups:
        members.setdefault(tuple(group.key[place] for place in places), []).append(group)
    found: list[tuple[Any, ...]] = []
    for member, groups in members.items():
        gaps = [Fraction(group.cells[measure].gap) for group in groups]
        gross = sum(map(abs, gaps), Fraction(0))
        count = sum(group.cells[measure].status != "match" for group in groups)
        if gross:
            found.append((member, sum(gaps, Fraction(0)), gross, count))
    found.sort(key=lambda each: (-each[2], key_order(each[0])))
    return [
        (dict(zip(dimensions, member, strict=True)), exact(net), exact(gross), count)
        for member, net, gross, count in found
    ]


def check_breakdown(
    found: Breakdown | None, wanted: Sequence[tuple[Any, ...]], gross: Decimal
) -> None:
    shares = () if found is None else found.contributions
    same([(dict(each.member), each.net, each.gross, each.groups) for each in shares], list(wanted))
    if found is None:
        return
    assert found.members == len(wanted)
    carried, needed = Fraction(0), None
    for count, each in enumerate(wanted, 1):
        carried += Fraction(each[2])
        if carried * 100 >= Fraction(gross) * 80:
            needed = count
            break
    assert found.needed == needed


def check_heat_map(found: HeatMap, oracle: Oracle) -> None:
    """Each cell adds up the gap of its groups, and counts those that are no match."""
    places = [oracle.align_on.index(name) for name in found.dimensions]
    wanted: dict[tuple[Any, ...], tuple[Fraction, Fraction, int]] = {}
    for group in oracle.groups:
        member = tuple(group.key[place] for place in places)
        net, gross, count = wanted.get(member, (Fraction(0), Fraction(0), 0))
        cell = group.cells[found.measure]
        gap = Fraction(cell.gap)
        wanted[member] = net + gap, gross + abs(gap), count + (cell.status != "match")
    cells = {
        (found.rows[each.row], found.columns[each.column]): (each.net, each.gross, each.groups)
        for each in found.cells
    }
    same(cells, wanted if found.cells else {})
    assert bool(found.cells) >= any(gross or count for _, gross, count in wanted.values())
    assert (found.more_rows, found.more_columns) == (0, 0)
    check_json(found.to_dict())


def check_drill_down(found: DrillDown, oracle: Oracle, group: Group) -> None:
    """The rows of both sides that make up the group, and no others."""
    question = oracle.question
    check_rows(found.a, question.a, oracle.rows(question.a).get(group.key, ()))
    check_rows(found.b, question.b, oracle.rows(question.b).get(group.key, ()))
    check_json(found.to_dict())


def check_rows(found: QueryResult, side: Side, rows: Sequence[Row]) -> None:
    names = tuple(column.name for column in side.table.columns)
    assert found.columns == names
    wanted = [tuple(row[name] for name in names) for row in rows]
    # A float is shown as its database writes it.
    if side.is_typed and all(column.kind != "float" for column in side.table.columns):
        same(list(found.rows), sorted(wanted, key=key_order))
    assert len(found.rows) == len(wanted)
    assert not found.truncated
