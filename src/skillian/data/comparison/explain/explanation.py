"""Why two sources differ: the members that carry the gap, the smallest explanation first."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from skillian.data.comparison.results import EXACT
from skillian.data.sql.values import jsonable

MEMBERS = 20
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Contribution:
    """The part of the gap that one member, or one combination of two, carries.

    `net` is the sum of b - a over its groups, `gross` that of |b - a|, with a missing or NULL side
    as 0; `groups` counts those that do not match.
    """

    member: Mapping[str, object]
    net: Decimal
    gross: Decimal
    groups: int

    def to_dict(self, net: Decimal, gross: Decimal) -> dict[str, object]:
        """Return the contribution for JSON, with its shares of the whole gap."""
        return {
            "member": {name: jsonable(value) for name, value in self.member.items()},
            "net": jsonable(self.net),
            "gross": jsonable(self.gross),
            "net_share": share(self.net, net),
            "gross_share": share(self.gross, gross),
            "groups": self.groups,
        }


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The gap by the members of one dimension, or of two together; the largest gross first.

    Attributes:
        dimensions: One or two names.
        members: The number of members with a gap.
        contributions: At most `MEMBERS` of them, the largest first.
        needed: How many of the largest carry 80 % of the gross gap; None if more than those held.
        is_trivial: Whether these are all members, with or without a gap, which explains nothing.
    """

    dimensions: tuple[str, ...]
    members: int
    contributions: tuple[Contribution, ...]
    needed: int | None
    is_trivial: bool = False

    def is_trivial_among(self, counts: Mapping[str, int]) -> bool:
        """Whether it explains nothing, given the number of all members of its dimensions."""
        if len(self.dimensions) > 1:
            return all(counts.get(name) == 1 for name in self.dimensions)
        return any(counts.get(name) == self.needed for name in self.dimensions)


@dataclass(frozen=True, slots=True)
class MeasureExplanation:
    """The gap of one measure; the smallest explanation is the first of `breakdowns`."""

    measure: str
    unit: str | None
    net: Decimal
    gross: Decimal
    breakdowns: tuple[Breakdown, ...]

    @property
    def doubtful(self) -> frozenset[str]:
        """The dimensions that explain something only if some of their members have no gap."""
        return frozenset(
            name
            for each in self.breakdowns
            if len(each.dimensions) == 1 and each.needed == each.members
            for name in each.dimensions
        )

    def with_member_counts(self, counts: Mapping[str, int]) -> "MeasureExplanation":
        """Return the same with trivial breakdowns last, given the number of all members."""
        known = [
            replace(each, is_trivial=each.is_trivial_among(counts)) for each in self.breakdowns
        ]
        return replace(self, breakdowns=tuple(sorted(known, key=_smallest_first)))

    def sentence(self) -> str:
        """Return the smallest explanation in words; all numbers are from this object."""
        unit = f" {self.unit}" if self.unit else ""
        if not self.gross:
            return f"There is no gap in {self.measure} to explain."
        if not self.breakdowns:
            return (
                f"The gap in {self.measure} of {jsonable(self.gross)}{unit} gross is not explained."
            )
        first = self.breakdowns[0]
        if first.needed is None or first.needed > _NAMED or first.is_trivial:
            return (
                f"The gap in {self.measure} of {jsonable(self.gross)}{unit} gross is spread over"
                " many members."
            )
        named = first.contributions[: first.needed]
        carried = total(each.gross for each in named)
        members = "; ".join(_words(each.member) for each in named)
        return f"{share(carried, self.gross)} of the gross gap in {self.measure}: {members}."

    def to_dict(self) -> dict[str, object]:
        """Return the explanation for JSON; numbers with a fraction are strings."""
        return {
            "unit": self.unit,
            "net": jsonable(self.net),
            "gross": jsonable(self.gross),
            "breakdowns": [
                {
                    "dimensions": list(each.dimensions),
                    "members": each.members,
                    "needed_for_80_percent": each.needed,
                    "contributions": [
                        one.to_dict(self.net, self.gross) for one in each.contributions
                    ],
                }
                for each in self.breakdowns
            ],
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why two sources differ, measure by measure.

    `grain` are the dimensions of the examined groups; `unused` the other dimensions that both
    sources share, which can also break the gap down; `notes` say what was omitted, and why.
    """

    cache_key: str
    grain: tuple[str, ...]
    unused: tuple[str, ...]
    measures: tuple[MeasureExplanation, ...]
    notes: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The smallest explanation of each measure in words, and the notes."""
        return (*(each.sentence() for each in self.measures), *self.notes)

    def to_dict(self) -> dict[str, object]:
        """Return the explanation for JSON."""
        return {
            "cache_key": self.cache_key,
            "grain": list(self.grain),
            "unused_dimensions": list(self.unused),
            "interpretation": list(self.sentences),
            "measures": {each.measure: each.to_dict() for each in self.measures},
        }


def share(part: Decimal, whole: Decimal) -> str | None:
    """Return a share in percent, cut to one digit so that 100.0 % means all; None of 0."""
    if not whole:
        return None
    tenths = int(EXACT.divide_int(EXACT.multiply(part.copy_abs(), Decimal(1000)), whole.copy_abs()))
    sign = "-" if tenths and (part < 0) != (whole < 0) else ""
    return f"{sign}{tenths // 10}.{tenths % 10} %"


def total(numbers: Iterable[Decimal]) -> Decimal:
    """Return the exact sum."""
    result = Decimal(0)
    for number in numbers:
        result = EXACT.add(result, number)
    return result


def _words(member: Mapping[str, object]) -> str:
    return ", ".join(
        f"{name} without a value" if value is None else f"{name} {jsonable(value)}"
        for name, value in member.items()
    )


def _smallest_first(breakdown: Breakdown) -> tuple[bool, int, int, Decimal]:
    needed = breakdown.needed if breakdown.needed is not None else breakdown.members + MEMBERS
    largest = breakdown.contributions[0].gross.copy_negate()
    return (breakdown.is_trivial, needed, len(breakdown.dimensions), largest)
