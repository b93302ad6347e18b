"""What a comparison must find, in plain Python: no SQL, and nothing of the engine.

Exact throughout: sums in integers of Python's own width, shares as fractions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any

from tests.skillian.oracle.questions import Question, Side
from tests.skillian.oracle.values import kept, kind_of, meant

Key = tuple[Any, ...]
Row = Mapping[str, Any]
Limits = list[tuple[Fraction | None, Fraction | None]]

STATUSES = ("match", "minor_diff", "major_diff", "missing_in_a", "missing_in_b")
ADDITIVE = frozenset({"sum", "count"})
AGGREGATIONS = ("sum", "count", "count_distinct", "avg", "min", "max")


@dataclass(frozen=True)
class Cell:
    status: str
    a: Decimal | None
    b: Decimal | None

    @property
    def gap(self) -> Decimal:
        """b - a, a side without a finite value as 0."""
        return exact(Fraction(finite(self.b) or 0) - Fraction(finite(self.a) or 0), LONG)

    @property
    def reason(self) -> str | None:
        """Why a group on both sides is a major difference without two numbers."""
        if self.status != "major_diff":
            return None
        if self.a is None or self.b is None:
            return "null_in_a" if self.a is None else "null_in_b"
        for test, name in ((Decimal.is_nan, "nan"), (Decimal.is_infinite, "infinite")):
            for value, side in ((self.a, "a"), (self.b, "b")):
                if test(value):
                    return f"{name}_in_{side}"
        return None

    @property
    def percentage(self) -> Decimal | None:
        """100 * |b - a| / |a|, rounded half up to four digits."""
        if not finite(self.a) or finite(self.b) is None or self.a is None or self.b is None:
            return None
        share = abs(Fraction(self.b) - Fraction(self.a)) * 100 / abs(Fraction(self.a))
        return Decimal((share * 10_000 + Fraction(1, 2)).__floor__()).scaleb(-4)


@dataclass(frozen=True)
class Group:
    key: Key
    rows_a: int
    rows_b: int
    cells: Mapping[str, Cell]

    @property
    def status(self) -> str:
        """The worst of its measures'."""
        return max((cell.status for cell in self.cells.values()), key=STATUSES.index)

    @property
    def uneven(self) -> bool:
        """Whether it is on both sides with a different number of rows."""
        return bool(self.rows_a and self.rows_b and self.rows_a != self.rows_b)


class Oracle:
    """Answers a question."""

    def __init__(self, question: Question) -> None:
        self.question = question
        both = question.a.dimensions.keys() & question.b.dimensions.keys()
        default = question.settings.get("default_align_on", ())
        shared = tuple(name for name in default if name in both)
        self.align_on = shared if question.align_on is None else question.align_on

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        a, b = self.rows(self.question.a), self.rows(self.question.b)
        keys = dict.fromkeys((*a, *b))
        return tuple(self._group(key, a.get(key, ()), b.get(key, ())) for key in keys)

    def rows(self, side: Side) -> dict[Key, list[Row]]:
        """Return the rows that take part, by key, each by the names of its columns."""
        found: dict[Key, list[Row]] = {}
        for cells in side.table.rows:
            row = dict(zip((column.name for column in side.table.columns), cells, strict=True))
            tests = self.question.filters.items()
            if all(self._kept(side, name, row, test) for name, test in tests):
                key = tuple(self._part(side, name, row) for name in self.align_on)
                found.setdefault(key, []).append(row)
        return found

    def different(self, measure: str) -> list[Group]:
        groups = [group for group in self.groups if group.cells[measure].status != "match"]
        return sorted(groups, key=lambda group: by_size(group, measure))

    def limits(self, measure: str) -> Limits:
        names = self.question.a.name, self.question.b.name
        return limits_of(names, measure, self.question.settings, self.question.thresholds)

    def _kept(self, side: Side, name: str, row: Row, test: Any) -> bool:
        dimension = side.dimensions[name]
        kind = kind_of(dimension, side.table.column(dimension["column"]))
        return kept(value(side, name, row), test, kind)

    def _part(self, side: Side, name: str, row: Row) -> Any:
        """A part of a row's key; a date is midnight where the other side has timestamps."""
        part = value(side, name, row)
        if self._kinds(name) == {"date", "timestamp"} and type(part) is date:
            return datetime.combine(part, time())
        return part

    def _kinds(self, name: str) -> set[str]:
        return {
            kind_of(side.dimensions[name], side.table.column(side.dimensions[name]["column"]))
            for side in (self.question.a, self.question.b)
        }

    def _group(self, key: Key, a: Sequence[Row], b: Sequence[Row]) -> Group:
        cells: dict[str, Cell] = {}
        for name in self.question.measures:
            digits = max(digits_of(side, name) for side in (self.question.a, self.question.b))
            one = aggregated(self.question.a, name, a, digits) if a else None
            other = aggregated(self.question.b, name, b, digits) if b else None
            status = classified(one, other, self.limits(name))
            status = "missing_in_a" if not a else "missing_in_b" if not b else status
            cells[name] = Cell(status, one, other)
        return Group(key, len(a), len(b), cells)


def limits_of(
    names: Sequence[str], measure: str, settings: Mapping[str, Any], request: Mapping[str, Any]
) -> Limits:
    """Return the limits that hold: those of the request, the measure, the pair, then all."""
    levels = [settings.get("thresholds", {})]
    pairs = settings.get("pairs", ())
    levels += [pair["thresholds"] for pair in pairs if {*pair["sources"]} == {*names}]
    levels += [settings.get("measures", {}).get(measure, {}).get("thresholds", {}), request]
    return [_limits(levels, status) for status in ("match", "minor_diff")]


def value(side: Side, name: str, row: Row) -> Any:
    dimension = side.dimensions[name]
    column = side.table.column(dimension["column"])
    return meant(dimension, row[column.name], column)


def digits_of(side: Side, name: str) -> int:
    column = side.table.column(side.measures[name]["column"])
    if column.kind == "float":
        place = side.table.columns.index(column)
        values = [as_printed(row[place]) for row in side.table.rows if row[place] is not None]
        exponents = [each.normalize().as_tuple().exponent for each in values if each.is_finite()]
        return -min([0, *map(int, exponents)])
    return column.scale if column.kind == "decimal" else 0


def aggregated(side: Side, name: str, rows: Sequence[Row], digits: int) -> Decimal | None:
    measure = side.measures[name]
    given = [row[measure["column"]] for row in rows]
    values = [item for item in given if item is not None]
    how = measure["aggregation"]
    if how == "count":
        return Decimal(len(values))
    if how == "count_distinct":
        return Decimal(len(set(values)))
    if not values:
        return None
    if any(isinstance(item, float) for item in values):
        printed = [as_printed(item) for item in values]
        special = _special(how, printed)
        if special is not None:
            return special
        values = [item for item in printed if item.is_finite()]
    numbers = [Fraction(item) for item in values]
    if how == "avg":
        return rounded(sum(numbers, Fraction(0)) / len(numbers), digits + 6)
    total = {"sum": sum, "min": min, "max": max}[how](numbers)  # type: ignore[operator]
    return exact(total, LONG)


def finite(value: Decimal | None) -> Decimal | None:
    return value if value is not None and value.is_finite() else None


def as_printed(value: float) -> Decimal:
    """Return what a float counts as: the shortest decimal that means it."""
    return Decimal(repr(float(value)))


def _special(how: str, values: Sequence[Decimal]) -> Decimal | None:
    """Return the aggregate where it is NaN or infinite; NaN is above all numbers."""
    nan, high, low = Decimal("NaN"), Decimal("Infinity"), Decimal("-Infinity")
    has_nan = any(each.is_nan() for each in values)
    has_high, has_low = high in values, low in values
    if how in {"sum", "avg"}:
        if has_nan or (has_high and has_low):
            return nan
        return high if has_high else low if has_low else None
    ordered = [each for each in values if not each.is_nan()]
    largest = nan if has_nan else max(ordered)
    smallest = min(ordered) if ordered else nan
    found = largest if how == "max" else smallest
    return None if found.is_finite() else found


def rounded(share: Fraction, digits: int) -> Decimal:
    """Return a quotient with so many digits, rounded half away from zero."""
    size = (abs(share) * 10**digits + Fraction(1, 2)).__floor__()
    with localcontext(prec=100):
        return Decimal(size if share >= 0 else -size).scaleb(-digits)


LONG = 60


def exact(number: Fraction | int, digits: int = 18) -> Decimal:
    """Return a number with at most so many digits after the point as a decimal."""
    whole = Fraction(number) * 10**digits
    assert whole.denominator == 1
    with localcontext(prec=200):
        return Decimal(whole.numerator).scaleb(-digits)


def classified(a: Decimal | None, b: Decimal | None, limits: Limits) -> str:
    """Return the class of two values that are both there, or NULL."""
    if a is None or b is None:
        return "match" if a is b else "major_diff"
    if not (a.is_finite() and b.is_finite()):
        return "match" if str(a) == str(b) else "major_diff"
    difference = abs(Fraction(b) - Fraction(a))
    for status, (absolute, percentage) in zip(STATUSES, limits, strict=False):
        if difference and _is_wider(difference, Fraction(a), absolute, percentage):
            continue
        return status
    return "major_diff"


def _is_wider(
    difference: Fraction, a: Fraction, absolute: Fraction | None, percentage: Fraction | None
) -> bool:
    """Whether a difference that is not 0 breaks one of the stated limits."""
    if absolute is None and percentage is None:
        return True
    if absolute is not None and difference > absolute:
        return True
    if percentage is None:
        return False
    # Of 0 there is no percentage: the absolute limit alone decides, if there is one.
    return absolute is None if not a else difference * 100 / abs(a) > percentage


def by_size(group: Group, measure: str) -> tuple[Any, ...]:
    """Order by |b - a| descending, then by key; NULL comes last."""
    return -abs(Fraction(group.cells[measure].gap)), *key_order(group.key)


def key_order(key: Iterable[Any]) -> tuple[tuple[bool, Any], ...]:
    """Order keys part by part; texts by their code points, which is the order of their bytes."""
    return tuple((part is None, 0 if part is None else part) for part in key)


def _limits(
    levels: Sequence[Mapping[str, Any]], status: str
) -> tuple[Fraction | None, Fraction | None]:
    """Return both limits of the last level that states one; an unstated one does not apply."""
    stated = [level[status] for level in levels if level.get(status)]
    limits: Mapping[str, Any] = stated[-1] if stated else {}
    absolute, percentage = (limits.get(name) for name in ("absolute", "percentage"))
    return (
        None if absolute is None else Fraction(str(absolute)),
        None if percentage is None else Fraction(str(percentage)),
    )
