"""What is asked about a comparison afterwards, against the oracle: pages, explanation, rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

from tests.skillian.oracle.checks import check_json, same, shown, wanted_of
from tests.skillian.oracle.oracle import STATUSES, Group, Oracle, Row, by_size, exact, key_order
from tests.skillian.oracle.questions import Question, Side
from tests.support.asking import page_of

from skillian.data.comparison.explain.explanation import Breakdown, Contribution, Explanation
from skillian.data.comparison.explain.heat_map import HeatMap
from skillian.data.comparison.page import ComparisonRows
from skillian.data.comparison.rows import DrillDown, GroupRow
from skillian.data.query.engine import QueryResult
from skillian.data.services import DataServices
from skillian.data.sql.values import jsonable

DIFFERENT = STATUSES[1:]
# The groups that are drilled into, by their keys as they are, and as JSON has them.
DRILLED: tuple[Callable[[Any], Any], ...] = (lambda part: part, jsonable)


async def check_follow_up(services: DataServices, cache_key: str, question: Question) -> None:
    """Ask everything that can be asked about a comparison, and check it."""
    oracle, engine = Oracle(question), services.comparison
    await check_pages(services, cache_key, oracle, None)
    await check_pages(services, cache_key, oracle, STATUSES)
    explanation = await engine.explain(cache_key)
    check_explanation(explanation, oracle)
    for names in [*permutations(oracle.align_on, 2)][:2]:
        heat_map = await engine.heat_map(cache_key, names, question.measures[-1])
        check_heat_map(heat_map, oracle)
    largest = sorted(oracle.groups, key=lambda group: by_size(group, question.measures[0]))
    for group, form in zip(largest, DRILLED, strict=False):
        key = dict(zip(oracle.align_on, map(form, group.key), strict=True))
        check_drill_down(await engine.drill_down(cache_key, key), oracle, group)


async def check_pages(
    services: DataServices, cache_key: str, oracle: Oracle, statuses: Sequence[str] | None
) -> None:
    """Pages cover each group of these classes exactly once, the largest first."""
    wanted = [each for each in oracle.groups if each.status in (statuses or DIFFERENT)]
    wanted.sort(key=lambda each: by_size(each, oracle.question.measures[0]))
    limit = max(2, (len(wanted) + 2) // 3)
    found: list[GroupRow] = []
    for offset in range(0, len(wanted) + 1, limit):
        page = await _page(services, cache_key, statuses, offset, limit)
        assert (page.total, page.offset) == (len(wanted), offset)
        check_json(page.to_dict())
        found += page.rows
    same([_group(row) for row in found], [_wanted(group, oracle) for group in wanted])


async def _page(
    services: DataServices, key: str, statuses: Any, offset: int, limit: int
) -> ComparisonRows[GroupRow]:
    return await services.comparison.rows(key, page_of(statuses, offset, limit))


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
        for dimensions in subsets(oracle.align_on):
            wanted = contributions(oracle, measure.measure, dimensions)
            check_breakdown(found.pop(dimensions, None), wanted, measure.gross)
        assert not found
    check_json(explanation.to_dict())


def subsets(names: Sequence[str]) -> Iterable[tuple[str, ...]]:
    """Each dimension alone, then each two together."""
    yield from ((name,) for name in names)
    yield from combinations(names, 2)


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
    same([_shown(each) for each in shares], list(wanted))
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


def _shown(each: Contribution) -> tuple[Any, ...]:
    return dict(each.member), each.net, each.gross, each.groups


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
    if side.is_typed:
        same(list(found.rows), sorted(wanted, key=key_order))
    assert len(found.rows) == len(wanted)
    assert not found.truncated
