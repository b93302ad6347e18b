"""What a comparison finds in groups: numbers, and the largest differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Literal

from skillian.data.sql.values import Record, jsonable
from skillian.data.subjects import STATUS, STATUSES, Status

Reason = Literal["null_in_a", "null_in_b", "nan_in_a", "nan_in_b", "infinite_in_a", "infinite_in_b"]

_ZERO, _HUNDRED = Decimal(0), Decimal(100)
_PERCENT_STEP = Decimal("0.0001")
# Python's default context rounds every operation, even abs(), to 28 digits.
EXACT = Context(prec=100, rounding=ROUND_HALF_UP)
"""The context for exact arithmetic on the numbers of a result."""


def finite(value: Decimal | None) -> Decimal | None:
    """A finite value, or None for NULL, NaN and the infinities."""
    return value if value is not None and value.is_finite() else None


def gap_of(a: Decimal | None, b: Decimal | None) -> Decimal:
    """The signed b - a, where a side without a finite value counts as 0."""
    return EXACT.subtract(finite(b) or _ZERO, finite(a) or _ZERO)


def percentage_of(a: Decimal | None, b: Decimal | None) -> Decimal | None:
    """100 * |b - a| / |a| to four digits; None for a = 0 and without two finite values."""
    baseline = finite(a)
    if not baseline or finite(b) is None:
        return None
    hundredfold = EXACT.multiply(gap_of(a, b).copy_abs(), _HUNDRED)
    share = EXACT.divide(hundredfold, baseline.copy_abs())
    return share.quantize(_PERCENT_STEP, context=EXACT)


def share(part: Decimal, whole: Decimal) -> str | None:
    """A share in percent, cut to one digit so that 100.0 % means all; None of 0."""
    if not whole:
        return None
    tenths = int(EXACT.divide_int(EXACT.multiply(part.copy_abs(), Decimal(1000)), whole.copy_abs()))
    sign = "-" if tenths and (part < 0) != (whole < 0) else ""
    return f"{sign}{tenths // 10}.{tenths % 10} %"


def key_words(key: Mapping[str, object]) -> str:
    """The key of a group in words."""
    return ", ".join(
        f"{name} without a value" if value is None else f"{name} {jsonable(value)}"
        for name, value in key.items()
    )


@dataclass(frozen=True, slots=True)
class Classes(Record):
    """The number of groups in each of the five classes; every group is in exactly one."""

    match: int = 0
    minor_diff: int = 0
    major_diff: int = 0
    missing_in_a: int = 0
    missing_in_b: int = 0

    @property
    def groups(self) -> int:
        """The number of groups."""
        return sum(self.to_dict().values())

    @property
    def in_words(self) -> Sequence[tuple[str, str]]:
        """Each number with its heading, their sum and the share of matches."""
        counts = [(STATUS[status], str(getattr(self, status))) for status in STATUSES]
        return [*counts, ("groups", str(self.groups)), ("match rate", self.match_rate or "")]

    @property
    def match_rate(self) -> str | None:
        """The share of matches, rounded down so that 100.0 % means all; None without groups."""
        return share(Decimal(self.match), Decimal(self.groups))


@dataclass(frozen=True, slots=True)
class MeasureSummary(Record):
    """One measure over all groups.

    Only sums and counts have totals. The net difference is the sum of b - a over the groups, the
    gross difference that of |b - a|; a missing or NULL side counts as 0.

    Attributes:
        doubled_in_a: Groups where a has exactly twice the rows and twice the sum of b; 0 for
            aggregations other than sums.
        doubled_in_b: Groups where b has exactly twice the rows and twice the sum of a.
        opposite_sign: Groups where b = -a.
        null_in_a: Groups on both sides where only a has no value.
        null_in_b: Groups on both sides where only b has no value.
        not_finite_in_a: Groups on both sides with a major difference where a is NaN or infinite,
            which counts as 0 in differences.
        not_finite_in_b: The same for b.
        note: How binary floats were read.
    """

    json_names = (
        "unit by_status=classes match_rate=classes.match_rate total_a total_b net_difference "
        "gross_difference null_in_a null_in_b doubled_in_a doubled_in_b opposite_sign "
        "not_finite_in_a not_finite_in_b"
    )

    name: str
    unit: str | None
    classes: Classes
    total_a: Decimal | None
    total_b: Decimal | None
    net_difference: Decimal
    gross_difference: Decimal
    null_in_a: int
    null_in_b: int
    doubled_in_a: int
    doubled_in_b: int
    opposite_sign: int
    not_finite_in_a: int = 0
    not_finite_in_b: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class NearMisses(Record):
    """The number of keys that are missing on each side only because they are written differently.

    Each counts the keys of both sides that become one when leading and trailing spaces, case,
    leading zeros, or the Unicode form (NFC) of their text is ignored.
    """

    spaces: int = 0
    case: int = 0
    zeros: int = 0
    unicode: int = 0


@dataclass(frozen=True, slots=True)
class Summary(Record):
    """All groups; the class of a group is the worst of its measures' classes.

    Attributes:
        rows_a: Rows of a in all groups.
        rows_b: Rows of b in all groups.
        uneven_groups: Groups on both sides with different numbers of rows.
        repeated_a: Groups of more than one row in a.
        repeated_b: Groups of more than one row in b.
        near_misses: Keys that differ only in how they are written.
        uneven_matches: The uneven groups in which all measures match.
    """

    json_names = (
        "groups=classes.groups matched=classes.match match_rate=classes.match_rate "
        "by_status=classes rows_a rows_b uneven_groups uneven_matches row_findings repeated_a "
        "repeated_b near_misses measures=by_measure"
    )

    classes: Classes = field(default_factory=Classes)
    rows_a: int = 0
    rows_b: int = 0
    uneven_groups: int = 0
    repeated_a: int = 0
    repeated_b: int = 0
    near_misses: NearMisses = field(default_factory=NearMisses)
    measures: tuple[MeasureSummary, ...] = ()
    uneven_matches: int = 0

    @property
    def groups_a(self) -> int:
        """The number of groups in a."""
        return self.classes.groups - self.classes.missing_in_a

    @property
    def groups_b(self) -> int:
        """The number of groups in b."""
        return self.classes.groups - self.classes.missing_in_b

    @property
    def key_names_rows(self) -> bool:
        """Whether the key identifies single rows, rather than groups of many.

        It does if at most half of the groups of each side have more than one row, or if one side
        has a single row for each group and the other exactly two.
        """
        few = 2 * self.repeated_a <= self.groups_a and 2 * self.repeated_b <= self.groups_b
        sides = sorted([(self.rows_a, self.repeated_a), (self.rows_b, self.repeated_b)])
        (fewer, repeated), (more, _) = sides
        all_uneven = self.uneven_groups == self.classes.groups
        return few or (not repeated and more == 2 * fewer and all_uneven)

    @property
    def row_findings(self) -> int:
        """The groups that differ only in their number of rows, if the key identifies rows."""
        return self.uneven_matches if self.key_names_rows else 0

    @property
    def by_measure(self) -> Mapping[str, MeasureSummary]:
        """The measures by their names."""
        return {measure.name: measure for measure in self.measures}


@dataclass(frozen=True, slots=True)
class Difference(Record):
    """One measure of one group."""

    json_names = "measure key status reason a b gap absolute_diff percentage_diff rows_a rows_b"

    measure: str
    key: Mapping[str, object]
    status: Status
    a: Decimal | None
    b: Decimal | None
    rows_a: int
    rows_b: int

    @property
    def gap(self) -> Decimal:
        """The signed b - a; differences are ordered by its size.

        A side that is missing, NULL, NaN or infinite counts as 0.
        """
        return gap_of(self.a, self.b)

    @property
    def absolute_diff(self) -> Decimal | None:
        """|b - a|; None if a side has no finite value."""
        return None if finite(self.a) is None or finite(self.b) is None else self.gap.copy_abs()

    @property
    def percentage_diff(self) -> Decimal | None:
        """100 * |b - a| / |a| to four digits; None for a = 0 and without two finite values."""
        return percentage_of(self.a, self.b)

    @property
    def opposite_sign(self) -> bool:
        """Whether b = -a, and neither is 0."""
        baseline = finite(self.a)
        return baseline.copy_negate() == self.b if baseline else False

    def doubled(self, *, in_a: bool) -> bool:
        """Whether one side has exactly twice the rows and twice the value of the other."""
        sides = finite(self.a), finite(self.b)
        values = sides if in_a else sides[::-1]
        rows = (self.rows_a, self.rows_b) if in_a else (self.rows_b, self.rows_a)
        if not values[0] or not values[1] or rows[0] != 2 * rows[1]:
            return False
        return values[0] == EXACT.multiply(values[1], Decimal(2))

    @property
    def reason(self) -> Reason | None:
        """Why a group on both sides is a major difference if it does not have two numbers."""
        if self.status != "major_diff":
            return None
        if self.a is None:
            return "null_in_a"
        if self.b is None:
            return "null_in_b"
        if self.a.is_nan() or self.b.is_nan():
            return "nan_in_a" if self.a.is_nan() else "nan_in_b"
        if self.a.is_infinite():
            return "infinite_in_a"
        return "infinite_in_b" if self.b.is_infinite() else None
