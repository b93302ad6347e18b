"""Why two sources differ: the members that carry the gap, the smallest explanation first."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import ClassVar

from skillian.data.results.groups import EXACT, key_words, share
from skillian.data.sql.values import jsonable

MEMBERS = 20
_NAMED = 3
# A share of the gap tells something if it is more than 11/10 of the share of the rows.
_TENTHS, _MORE = Decimal(10), Decimal(11)

RowCounts = Mapping[tuple[str, ...], Mapping[tuple[object, ...], int]]
"""The number of rows of members, by dimensions and member."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """The part of the gap that one member, or one combination of two, carries.

    `net` is the sum of b - a over its groups, `gross` that of |b - a|, with a missing or NULL side
    as 0; `groups` counts those that do not match. `rows` is the number of its rows on both sides,
    for the members that carry most of the gap.
    """

    member: Mapping[str, object]
    net: Decimal
    gross: Decimal
    groups: int
    rows: int | None = None

    def to_dict(self, net: Decimal, gross: Decimal, rows: int) -> dict[str, object]:
        """The contribution for JSON, with its shares of the whole gap and of all rows."""
        return {
            "member": {name: jsonable(value) for name, value in self.member.items()},
            "net": jsonable(self.net),
            "gross": jsonable(self.gross),
            "net_share": share(self.net, net),
            "gross_share": share(self.gross, gross),
            "groups": self.groups,
            "rows": self.rows,
            "rows_share": None if self.rows is None else share(Decimal(self.rows), Decimal(rows)),
        }


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The gap by the members of one dimension, or of two together; the largest gross first.

    Attributes:
        dimensions: One or two names.
        members: The number of members with a gap.
        contributions: At most `MEMBERS` of them, the largest first.
        needed: How many of the largest carry 80 % of the gross gap; None if more than those held.
        is_trivial: Whether they have about the same share of the rows, which explains nothing.
    """

    dimensions: tuple[str, ...]
    members: int
    contributions: tuple[Contribution, ...]
    needed: int | None
    is_trivial: bool = False

    @property
    def leading(self) -> tuple[Contribution, ...]:
        """The members that carry 80 % of the gross gap; empty if they are many."""
        return self.contributions[: self.needed] if (self.needed or _NAMED + 1) <= _NAMED else ()

    @property
    def rows(self) -> int | None:
        """The number of rows of the leading members; None if it is unknown."""
        counts = [each.rows for each in self.leading if each.rows is not None]
        return sum(counts) if self.leading and len(counts) == len(self.leading) else None

    def with_rows(
        self, counts: Mapping[tuple[object, ...], int], all_rows: int, gross: Decimal
    ) -> "Breakdown":
        """The same with the numbers of rows of its leading members."""
        leading = [
            replace(each, rows=counts.get((*each.member.values(),), 0)) for each in self.leading
        ]
        known = replace(self, contributions=(*leading, *self.contributions[len(leading) :]))
        carried = EXACT.multiply(total(each.gross for each in leading), Decimal(all_rows))
        expected = EXACT.multiply(gross, Decimal(known.rows or 0))
        is_trivial = EXACT.multiply(carried, _TENTHS) <= EXACT.multiply(expected, _MORE)
        return replace(known, is_trivial=bool(leading) and is_trivial)


@dataclass(frozen=True, slots=True)
class MeasureExplanation:
    """The gap of one measure; the smallest explanation is the first of `breakdowns`.

    `rows` is the number of rows of both sides together.
    """

    measure: str
    unit: str | None
    net: Decimal
    gross: Decimal
    breakdowns: tuple[Breakdown, ...]
    rows: int = 0

    def with_rows(self, counts: RowCounts) -> "MeasureExplanation":
        """The same with the rows of leading members, and trivial breakdowns last."""
        known = [
            each.with_rows(counts[each.dimensions], self.rows, self.gross)
            if each.dimensions in counts
            else each
            for each in self.breakdowns
        ]
        return replace(self, breakdowns=tuple(sorted(known, key=_smallest_first)))

    @property
    def is_explained(self) -> bool:
        """Whether few members carry most of the gap, and more than their share of the rows."""
        first = self.breakdowns[0] if self.breakdowns else None
        return first is not None and bool(first.leading) and not first.is_trivial

    def sentence(self) -> str:
        """The smallest explanation in words; all numbers are from this object."""
        if not self.gross:
            return f"There is no gap in {self.measure} to explain."
        if not self.breakdowns:
            return f"The gap in {self.gap} is not explained."
        if not self.is_explained:
            return f"The gap in {self.gap} is spread over many members."
        first = self.breakdowns[0]
        carried = total(each.gross for each in first.leading)
        members = "; ".join(key_words(each.member) for each in first.leading)
        rows = None if first.rows is None else share(Decimal(first.rows), Decimal(self.rows))
        compared = "" if rows is None else f", with {rows} of the rows"
        return (
            f"{share(carried, self.gross)} of the gross gap in {self.measure}: {members}{compared}."
        )

    @property
    def gap(self) -> str:
        """The measure and its gross gap in words."""
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.measure} of {self.gross:,f}{unit} gross"

    def to_dict(self) -> dict[str, object]:
        """The explanation for JSON; numbers with a fraction are strings."""
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
                        one.to_dict(self.net, self.gross, self.rows) for one in each.contributions
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
    kind: ClassVar = "measures"

    @property
    def sentences(self) -> tuple[str, ...]:
        """The smallest explanation of each measure in words, and the notes.

        Measures whose gaps are not explained share a sentence; those without a gap have one only
        if there is no gap at all.
        """
        with_gap = [each for each in self.measures if each.gross]
        spread = [each for each in with_gap if each.breakdowns and not each.is_explained]
        single = [each.sentence() for each in with_gap if each not in spread or len(spread) == 1]
        if len(spread) > 1:
            gaps = ", ".join(each.gap for each in spread)
            single.append(f"The gaps in {gaps} are spread over many members.")
        if self.measures and not with_gap:
            names = ", ".join(each.measure for each in self.measures)
            single.append(f"There is no gap in {names} to explain.")
        return (*single, *self.notes)

    def answer(self) -> dict[str, object]:
        """As `to_dict`, which names the comparison."""
        return self.to_dict()

    def to_dict(self) -> dict[str, object]:
        """The explanation for JSON."""
        return {
            "cache_key": self.cache_key,
            "grain": list(self.grain),
            "unused_dimensions": list(self.unused),
            "interpretation": list(self.sentences),
            "measures": {each.measure: each.to_dict() for each in self.measures},
        }


def total(numbers: Iterable[Decimal]) -> Decimal:
    """The exact sum."""
    result = Decimal(0)
    for number in numbers:
        result = EXACT.add(result, number)
    return result


def _smallest_first(breakdown: Breakdown) -> tuple[bool, int, int, Decimal]:
    needed = breakdown.needed if breakdown.needed is not None else breakdown.members + MEMBERS
    largest = breakdown.contributions[0].gross.copy_negate()
    return (breakdown.is_trivial, needed, len(breakdown.dimensions), largest)
