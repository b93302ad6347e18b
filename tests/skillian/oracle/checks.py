"""An answer of the engine against that of the oracle, number by number."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unicodedata import normalize

from tests.skillian.oracle.oracle import ADDITIVE, STATUSES, Cell, Group, Key, Oracle, finite
from tests.skillian.oracle.questions import Question
from tests.skillian.oracle.values import capitals

from skillian.data.results.groups import Difference, MeasureSummary
from skillian.data.results.result import ComparisonResult

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
