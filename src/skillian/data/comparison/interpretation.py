"""Sentences about a comparison; each only restates numbers of the result."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from skillian.data.declare.definitions import Limits, Thresholds
from skillian.data.results.groups import Difference, MeasureSummary, Summary, key_words
from skillian.data.subjects import Status

_NAMED = 3
_WRITTEN = {
    "spaces": "spaces at the ends (normalise: [trim])",
    "case": "case (normalise: [upper])",
    "zeros": "leading zeros (normalise with lpad)",
    "unicode": "their Unicode form (normalise: [nfc])",
}


class Interpretation:
    """What a comparison found, in words.

    A match in `top` is a group whose sides differ only in their number of rows; `limits` are by
    measure.
    """

    def __init__(
        self,
        sources: tuple[str, str],
        summary: Summary,
        top: Sequence[Difference],
        limits: Mapping[str, Thresholds],
    ) -> None:
        self._a, self._b = sources
        self._summary = summary
        self._top = [each for each in top if each.status != "match"]
        self._uneven = [each for each in top if each.status == "match"]
        self._limits = limits

    def sentences(self) -> Iterator[str]:
        """Yield all sentences, the overall picture first."""
        classes = self._summary.classes
        if not classes.groups:
            yield (
                f"Neither {self._a} nor {self._b} has a row for this question: there is nothing to"
                " compare."
            )
            return
        yield self._overall()
        yield from self._empty_sides()
        yield from self._limits_used()
        yield from self._all_totals()
        yield from self._differences()
        yield from self._repeated()

    def findings(self) -> Iterator[str]:
        """Yield those that say more than the counts, limits and totals."""
        if self._summary.classes.groups:
            yield from self._empty_sides()
        yield from self._differences()
        if self._summary.key_names_rows:
            yield from self._repeated()

    def _differences(self) -> Iterator[str]:
        """Yield what causes differences first, then where they are."""
        classes = self._summary.classes
        yield from self._near_misses()
        for measure in self._summary.measures:
            yield from self._causes(measure)
        yield from self._missing("missing_in_a", self._b, classes.missing_in_a)
        yield from self._missing("missing_in_b", self._a, classes.missing_in_b)
        yield from self._rows()

    def _empty_sides(self) -> Iterator[str]:
        for source, rows in ((self._a, self._summary.rows_a), (self._b, self._summary.rows_b)):
            if not rows:
                yield f"{source} has no row for this question."

    def _overall(self) -> str:
        classes = self._summary.classes
        parts = [f"{classes.match:,} of {classes.groups:,} groups match ({classes.match_rate})"]
        if self._summary.uneven_matches:
            parts += [f"{self._summary.uneven_matches:,} of them with different numbers of rows"]
        for count, text in (
            (classes.minor_diff, "with a minor difference"),
            (classes.major_diff, "with a major difference"),
            (classes.missing_in_a, f"missing in {self._a}"),
            (classes.missing_in_b, f"missing in {self._b}"),
        ):
            parts += [f"{count:,} {text}"] if count else []
        return f"{', '.join(parts)}."

    def _limits_used(self) -> Iterator[str]:
        """Yield the limits that applied, once for all measures that share them."""
        named: dict[str, list[str]] = {}
        for measure in self._summary.measures:
            limits = self._limits.get(measure.name)
            if limits is not None and not (limits.match.is_exact and limits.minor_diff.is_exact):
                match = _within(limits.match, measure.unit)
                minor = _within(limits.minor_diff, measure.unit)
                text = f"a match is {match}"
                text += "" if limits.minor_diff.is_exact else f", a minor difference {minor}"
                named.setdefault(text, []).append(measure.name)
        for text, measures in named.items():
            yield f"Limits of {', '.join(measures)}: {text}."

    def _all_totals(self) -> Iterator[str]:
        """Yield the totals; many measures that agree share a sentence."""
        agreeing = [each.name for each in self._summary.measures if _agrees(each)]
        several = {*agreeing} if len(agreeing) > _NAMED else set[str]()
        for measure in self._summary.measures:
            if measure.name not in several:
                yield from self._totals(measure)
        if several:
            names = ", ".join(agreeing)
            yield f"The totals of {len(agreeing)} measures are equal, group by group: {names}."

    def _totals(self, measure: MeasureSummary) -> Iterator[str]:
        if measure.note:
            yield measure.note
        if measure.total_a is not None and measure.total_b is not None:
            yield (
                f"Total {measure.name}: {self._number(measure.total_a, measure)} in {self._a},"
                f" {self._number(measure.total_b, measure)} in {self._b}."
            )
        if measure.gross_difference:
            yield (
                f"The differences in {measure.name} add up to"
                f" {self._number(measure.net_difference, measure)} net and"
                f" {self._number(measure.gross_difference, measure)} gross."
            )
        largest = next((item for item in self._top if item.measure == measure.name), None)
        if largest is not None and largest.gap:
            yield (
                f"The largest difference beyond the match limits in {measure.name} is"
                f" {self._number(largest.gap, measure)}, at {key_words(largest.key)}."
            )

    def _missing(self, status: Status, other: str, count: int) -> Iterator[str]:
        if count:
            groups = (item for item in self._top if item.status == status)
            yield f"Only {other} has {_counted(count, groups)}."

    def _rows(self) -> Iterator[str]:
        summary = self._summary
        if summary.uneven_groups:
            yield (
                f"Of the groups in both sources, {summary.uneven_groups:,}"
                f" {'has' if summary.uneven_groups == 1 else 'have'} a"
                " different number of rows on each side."
            )
        if summary.row_findings:
            named = "; ".join(
                f"{key_words(each.key)}: {each.rows_a} in {self._a}, {each.rows_b} in {self._b}"
                for each in self._uneven
            )
            count = "1 group" if summary.row_findings == 1 else f"{summary.row_findings:,} groups"
            where = f" ({named})" if named else ""
            yield (
                f"In {count} all measures match and the number of rows does not{where}: rows are"
                " duplicated or missing, which counts as a finding."
            )

    def _repeated(self) -> Iterator[str]:
        summary = self._summary
        for source, repeated, groups in (
            (self._a, summary.repeated_a, summary.groups_a),
            (self._b, summary.repeated_b, summary.groups_b),
        ):
            if repeated:
                hold = "holds" if repeated == 1 else "hold"
                yield (
                    f"The key is not unique in {source}: {repeated:,} of {groups:,} groups"
                    f" {hold} more than one row."
                )

    def _near_misses(self) -> Iterator[str]:
        for name, count in self._summary.near_misses.to_dict().items():
            if count:
                keys, differ = ("1 key", "differs") if count == 1 else (f"{count:,} keys", "differ")
                yield f"{keys} on both sides {differ} only by {_WRITTEN[name]}."

    def _causes(self, measure: MeasureSummary) -> Iterator[str]:
        named = [item for item in self._top if item.measure == measure.name]
        yield from self._doubled(measure, named)
        if measure.opposite_sign:
            groups = (item for item in named if item.opposite_sign)
            yield (
                f"In {_counted(measure.opposite_sign, groups)} {measure.name} has the"
                " same size and the opposite sign."
            )
        for count, source, reason in (
            (measure.null_in_a, self._a, "null_in_a"),
            (measure.null_in_b, self._b, "null_in_b"),
        ):
            if count:
                where = _counted(count, (item for item in named if item.reason == reason))
                yield f"{source} has no value of {measure.name} in {where}."
        for special, source, side in (
            (measure.not_finite_in_a, self._a, "_in_a"),
            (measure.not_finite_in_b, self._b, "_in_b"),
        ):
            if special:
                reasons = {f"nan{side}", f"infinite{side}"}
                where = _counted(special, (item for item in named if item.reason in reasons))
                yield (
                    f"{measure.name} is NaN or infinite only in {source}, or differently there, in"
                    f" {where}; there it counts as 0 in the differences."
                )

    def _doubled(self, measure: MeasureSummary, named: Sequence[Difference]) -> Iterator[str]:
        for count, twice, once in (
            (measure.doubled_in_a, self._a, self._b),
            (measure.doubled_in_b, self._b, self._a),
        ):
            if count:
                groups = (item for item in named if item.doubled(in_a=twice is self._a))
                yield (
                    f"In {_counted(count, groups)} {twice} has exactly twice the rows"
                    f" and twice the {measure.name} of {once}, as if a load had run twice."
                )

    def _number(self, value: Decimal, measure: MeasureSummary) -> str:
        return f"{value:,f} {measure.unit}" if measure.unit else f"{value:,f}"


def _agrees(measure: MeasureSummary) -> bool:
    """Whether a measure has no difference at all, and nothing to note."""
    classes = measure.classes
    return not measure.note and not measure.gross_difference and classes.match == classes.groups


def _within(limits: Limits, unit: str | None) -> str:
    if limits.is_exact:
        return "exact"
    alone = ""
    if limits.percentage is None:
        alone = " whatever the percentage"
    elif limits.absolute is None:
        alone = " whatever the amount"
    return f"up to {limits.words(unit)} apart{alone}"


def _counted(count: int, differences: Iterable[Difference]) -> str:
    """The number of groups, and the keys of the first known ones."""
    groups = "1 group" if count == 1 else f"{count:,} groups"
    keys = list(dict.fromkeys(key_words(item.key) for item in differences))[:_NAMED]
    some = "such as " if len(keys) < count else ""
    return f"{groups} ({some}{'; '.join(keys)})" if keys else groups
