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
    """What one member, or one combination of two, carries of the gap.

    `net` is the sum of b - a over its groups, `gross` that of |b - a|, a missing or NULL side as 0;
    `groups` how many of them are no match.
    """

    member: Mapping[str, object]
    net: Decimal
    gross: Decimal
    groups: int

    def to_dict(self, net: Decimal, gross: Decimal) -> dict[str, object]:
        """Return it for JSON, with its shares of the whole."""
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

    `members` counts all members with a gap, of which at most `MEMBERS` are held. `needed` is how
    many of the largest carry 80 % of the gross gap; None where those held do not. `is_trivial` says
    that those are all members there are, with a gap or without, which explains nothing.
    """

    dimensions: tuple[str, ...]
    members: int
    contributions: tuple[Contribution, ...]
    needed: int | None
    is_trivial: bool = False

    def is_trivial_among(self, counts: Mapping[str, int]) -> bool:
        """Whether it explains nothing, by how many members its dimensions have in all."""
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
        """The dimensions that explain something only if they have members without a gap."""
        return frozenset(
            name
            for each in self.breakdowns
            if len(each.dimensions) == 1 and each.needed == each.members
            for name in each.dimensions
        )

    def given_members(self, counts: Mapping[str, int]) -> "MeasureExplanation":
        """Return the same, with what is trivial by these numbers of all members last."""
        known = [
            replace(each, is_trivial=each.is_trivial_among(counts)) for each in self.breakdowns
        ]
        return replace(self, breakdowns=tuple(sorted(known, key=_smallest_first)))

    def sentence(self) -> str:
        """Return the smallest explanation in words, each number of it from here."""
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
                f"No few members carry the gap in {self.measure} of {jsonable(self.gross)}{unit}"
                " gross; it is spread."
            )
        named = first.contributions[: first.needed]
        carried = total(each.gross for each in named)
        members = "; ".join(_words(each.member) for each in named)
        return f"{share(carried, self.gross)} of the gross gap in {self.measure}: {members}."

    def to_dict(self) -> dict[str, object]:
        """Return it for JSON; numbers with a fraction are strings."""
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

    `grain` are the dimensions whose groups were looked at; `unused` those that both sources share
    besides, by which the gap may be broken down too; `notes` say what was left out, and why.
    """

    cache_key: str
    grain: tuple[str, ...]
    unused: tuple[str, ...]
    measures: tuple[MeasureExplanation, ...]
    notes: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The smallest explanation of each measure in words, and what was left out."""
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
    """Return a share in percent, cut to one digit so that 100.0 % means all; None of nothing."""
    if not whole:
        return None
    tenths = int(EXACT.divide_int(EXACT.multiply(part.copy_abs(), Decimal(1000)), whole.copy_abs()))
    sign = "-" if tenths and (part < 0) != (whole < 0) else ""
    return f"{sign}{tenths // 10}.{tenths % 10} %"


def total(numbers: Iterable[Decimal]) -> Decimal:
    """Return the exact sum."""
    found = Decimal(0)
    for number in numbers:
        found = EXACT.add(found, number)
    return found


def _words(member: Mapping[str, object]) -> str:
    return ", ".join(
        f"{name} without a value" if value is None else f"{name} {jsonable(value)}"
        for name, value in member.items()
    )


def _smallest_first(breakdown: Breakdown) -> tuple[bool, int, int, Decimal]:
    needed = breakdown.needed if breakdown.needed is not None else breakdown.members + MEMBERS
    largest = breakdown.contributions[0].gross.copy_negate()
    return (breakdown.is_trivial, needed, len(breakdown.dimensions), largest)
