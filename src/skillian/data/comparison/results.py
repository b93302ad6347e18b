"""The answer to a comparison: numbers, the differences that matter, and the proof."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Literal

from skillian.data.comparison.near_misses import NearMisses
from skillian.data.declare.definitions import Thresholds
from skillian.data.query.filters import Condition
from skillian.data.sql import Statement
from skillian.data.sql.values import jsonable

Status = Literal["match", "minor_diff", "major_diff", "missing_in_a", "missing_in_b"]
Reason = Literal["null_in_a", "null_in_b", "nan_in_a", "nan_in_b", "infinite_in_a", "infinite_in_b"]

STATUSES: tuple[Status, ...] = (
    "match",
    "minor_diff",
    "major_diff",
    "missing_in_a",
    "missing_in_b",
)

_PERCENT_STEP = Decimal("0.0001")
# Python's own context rounds every operation, even abs(), to 28 digits.
EXACT = Context(prec=100, rounding=ROUND_HALF_UP)
"""What exact arithmetic on the numbers of a result is done in."""


def finite(value: Decimal | None) -> Decimal | None:
    """Return the value where it is a number, None for NULL, NaN and the infinities."""
    return value if value is not None and value.is_finite() else None


@dataclass(frozen=True, slots=True)
class Classes:
    """How many groups are in each of the five classes; every group is in exactly one."""

    match: int
    minor_diff: int
    major_diff: int
    missing_in_a: int
    missing_in_b: int

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return sum(self.to_dict().values())

    @property
    def match_rate(self) -> str | None:
        """The share of matches, rounded down, so that 100.0 % means all; None without groups."""
        if not self.groups:
            return None
        tenths = self.match * 1000 // self.groups
        return f"{tenths // 10}.{tenths % 10} %"

    def to_dict(self) -> dict[str, int]:
        """Return the counts by class."""
        return {
            "match": self.match,
            "minor_diff": self.minor_diff,
            "major_diff": self.major_diff,
            "missing_in_a": self.missing_in_a,
            "missing_in_b": self.missing_in_b,
        }


@dataclass(frozen=True, slots=True)
class MeasureSummary:
    """One measure over all groups.

    Totals are those of sums and counts; of an average, a minimum or a maximum there is none.
    The net difference adds up b - a over the groups, the gross difference |b - a|, a missing or
    NULL side as 0. `doubled_in_b` counts groups where b has exactly twice the rows and twice the
    sum of a (0 for what is no sum), `opposite_sign` groups where b = -a; `null_in_a` and
    `null_in_b` groups that are on both sides, where only that side has no value; `not_finite_in_a`
    and `not_finite_in_b` such groups with a major difference where that side is NaN or infinite,
    which counts as 0 in differences. `note` says how binary floats were taken.
    """

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

    def to_dict(self) -> dict[str, object]:
        """Return the summary for JSON; numbers with a fraction are strings."""
        return {
            "unit": self.unit,
            "by_status": self.classes.to_dict(),
            "match_rate": self.classes.match_rate,
            "total_a": jsonable(self.total_a),
            "total_b": jsonable(self.total_b),
            "net_difference": jsonable(self.net_difference),
            "gross_difference": jsonable(self.gross_difference),
            "null_in_a": self.null_in_a,
            "null_in_b": self.null_in_b,
            "doubled_in_a": self.doubled_in_a,
            "doubled_in_b": self.doubled_in_b,
            "opposite_sign": self.opposite_sign,
            "not_finite_in_a": self.not_finite_in_a,
            "not_finite_in_b": self.not_finite_in_b,
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """All groups: a group's class is the worst of its measures'.

    `rows_a` and `rows_b` count the rows behind the groups; `uneven_groups` the groups that are on
    both sides with a different number of rows; `repeated_a` and `repeated_b` the groups of more
    than one row on that side; `near_misses` keys that only their writing keeps apart;
    `uneven_matches` the uneven groups in which all measures match.
    """

    classes: Classes
    rows_a: int
    rows_b: int
    uneven_groups: int
    repeated_a: int
    repeated_b: int
    near_misses: NearMisses
    measures: tuple[MeasureSummary, ...]
    uneven_matches: int = 0

    @property
    def groups_a(self) -> int:
        """How many groups a has."""
        return self.classes.groups - self.classes.missing_in_a

    @property
    def groups_b(self) -> int:
        """How many groups b has."""
        return self.classes.groups - self.classes.missing_in_b

    @property
    def key_names_rows(self) -> bool:
        """Whether the key is there to name single rows, rather than to add up many.

        It is where at most half of the groups of each side hold more than one row, and where one
        side has a single row for each group and the other one exactly two.
        """
        few = 2 * self.repeated_a <= self.groups_a and 2 * self.repeated_b <= self.groups_b
        return few or self._is_doubled

    @property
    def row_findings(self) -> int:
        """How many groups differ in nothing but their rows, where the key names rows."""
        return self.uneven_matches if self.key_names_rows else 0

    @property
    def _is_doubled(self) -> bool:
        sides = sorted([(self.rows_a, self.repeated_a), (self.rows_b, self.repeated_b)])
        (fewer, repeated), (more, _) = sides
        return not repeated and more == 2 * fewer and self.uneven_groups == self.classes.groups

    def to_dict(self) -> dict[str, object]:
        """Return the summary for JSON."""
        return {
            "groups": self.classes.groups,
            "matched": self.classes.match,
            "match_rate": self.classes.match_rate,
            "by_status": self.classes.to_dict(),
            "rows_a": self.rows_a,
            "rows_b": self.rows_b,
            "uneven_groups": self.uneven_groups,
            "uneven_matches": self.uneven_matches,
            "row_findings": self.row_findings,
            "repeated_a": self.repeated_a,
            "repeated_b": self.repeated_b,
            "near_misses": self.near_misses.to_dict(),
            "measures": {measure.name: measure.to_dict() for measure in self.measures},
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure of one group."""

    measure: str
    key: Mapping[str, object]
    status: Status
    a: Decimal | None
    b: Decimal | None
    rows_a: int
    rows_b: int

    @property
    def gap(self) -> Decimal:
        """The signed b - a, by whose size differences are ordered.

        A side that is missing, NULL, NaN or infinite counts as 0.
        """
        return EXACT.subtract(finite(self.b) or Decimal(0), finite(self.a) or Decimal(0))

    @property
    def absolute_diff(self) -> Decimal | None:
        """|b - a|; None where a side has no finite value."""
        return None if finite(self.a) is None or finite(self.b) is None else self.gap.copy_abs()

    @property
    def percentage_diff(self) -> Decimal | None:
        """100 * |b - a| / |a| to four digits; None for a = 0 and without two finite values."""
        baseline = finite(self.a)
        if not baseline or finite(self.b) is None:
            return None
        hundredfold = EXACT.multiply(self.gap.copy_abs(), Decimal(100))
        share = EXACT.divide(hundredfold, baseline.copy_abs())
        return share.quantize(_PERCENT_STEP, context=EXACT)

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
        """Why a group on both sides is a major difference without two numbers."""
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

    def to_dict(self) -> dict[str, object]:
        """Return the difference for JSON; numbers with a fraction are strings."""
        return {
            "measure": self.measure,
            "key": {name: jsonable(value) for name, value in self.key.items()},
            "status": self.status,
            "reason": self.reason,
            "a": jsonable(self.a),
            "b": jsonable(self.b),
            "gap": jsonable(self.gap),
            "absolute_diff": jsonable(self.absolute_diff),
            "percentage_diff": jsonable(self.percentage_diff),
            "rows_a": self.rows_a,
            "rows_b": self.rows_b,
        }


@dataclass(frozen=True, slots=True)
class Proof:
    """How the answer was found: enough to run it again. `snapshot` is when, in UTC.

    `queries` are the statements that aggregated the sides at home, by source, where these are in
    two databases; `sql` then ran over what they gave.
    """

    sql: str
    parameters: Mapping[str, object]
    queries: Mapping[str, Statement]
    snapshot: str
    align_on: tuple[str, ...]
    filters: tuple[Condition, ...]
    thresholds: Mapping[str, Thresholds]

    def to_dict(self) -> dict[str, object]:
        """Return the proof for JSON."""
        return {
            "sql": self.sql,
            "parameters": _jsonable(self.parameters),
            "queries": {
                name: {"sql": query.text, "parameters": _jsonable(query.parameters)}
                for name, query in self.queries.items()
            },
            "snapshot": self.snapshot,
            "align_on": list(self.align_on),
            "filters": [condition.to_dict() for condition in self.filters],
            "thresholds": {
                name: limits.model_dump(mode="json") for name, limits in self.thresholds.items()
            },
        }


def _jsonable(values: Mapping[str, object]) -> dict[str, object]:
    return {name: jsonable(value) for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """Two sources compared; a is the first, b the second.

    `top_differences` are the largest by |b - a|, of each measure in turn; `interpretation` is
    sentences made from the numbers in `summary` and `top_differences` alone.
    """

    source_a: str
    source_b: str
    summary: Summary
    top_differences: tuple[Difference, ...]
    interpretation: tuple[str, ...]
    cache_key: str
    proof: Proof

    def to_dict(self) -> dict[str, object]:
        """Return the whole result for JSON."""
        return {
            "source_a": self.source_a,
            "source_b": self.source_b,
            "summary": self.summary.to_dict(),
            "top_differences": [difference.to_dict() for difference in self.top_differences],
            "interpretation": list(self.interpretation),
            "cache_key": self.cache_key,
            "proof": self.proof.to_dict(),
        }
