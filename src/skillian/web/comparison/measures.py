"""The verdict on a comparison of measures, and each of its measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skillian.data.declare.definitions import Limits, Thresholds
from skillian.data.results.groups import MeasureSummary
from skillian.data.results.result import ComparisonResult
from skillian.data.schema.diff import distinct_names
from skillian.data.subjects import STATUSES
from skillian.web.comparison.context import ComparisonContext
from skillian.web.comparison.schema import show_table
from skillian.web.comparison.status_bar import ClassCount, StatusBar
from skillian.web.comparison.statuses import styles_of
from skillian.web.comparison.verdict import (
    Conclusion,
    Figure,
    ScopePart,
    Verdict,
    conditions,
    joined,
)
from skillian.web.shell import text


def verdict_on(result: ComparisonResult) -> Verdict:
    """What a comparison of measures begins with."""
    measures = result.summary.measures
    names = distinct_names((result.source_a, result.source_b))
    of = ", ".join(measure.name for measure in measures)
    return Verdict(
        names=names,
        snapshot=result.proof.snapshot,
        scope=(
            ScopePart((f"{of} by {', '.join(result.key_columns)}",), "columns"),
            *conditions([each.to_dict() for each in result.proof.filters]),
            *(ScopePart(words, "limits") for words in _limits(result)),
        ),
        conclusion=_conclusion(result),
        sentence=_sentence(result, names),
        figures=_figures(result, names),
        findings=(*(each.note for each in measures if each.note), *result.findings),
        cache_key=result.cache_key,
    )


def classes_panel(comparison: ComparisonContext) -> None:
    """Show how many groups each class has, and let the reader choose those that are listed."""
    counts = comparison.result.summary.classes.to_dict()
    classes: dict[str, ClassCount] = {
        status: ClassCount(status, style, counts[status])
        for status, style in styles_of(comparison.names).items()
    }

    def select(statuses: tuple[str, ...]) -> None:
        comparison.select_statuses(tuple(each for each in STATUSES if each in statuses))

    bar = StatusBar("Groups by class", classes, comparison.statuses, select)
    comparison.follow(on_statuses=bar.show)


def measures_panel(result: ComparisonResult) -> None:
    """Show the totals, the gap and the matches of each measure."""
    a, b = distinct_names((result.source_a, result.source_b))
    rows = [
        [
            measure.name,
            text.amount(measure.total_a, measure.unit or ""),
            text.amount(measure.total_b, measure.unit or ""),
            text.amount(measure.net_difference, measure.unit or "", signed=True),
            text.amount(measure.gross_difference, measure.unit or ""),
            text.percentage(measure.classes.match_rate or "–"),  # noqa: RUF001 - a dash
            text.amount(measure.null_in_a),
            text.amount(measure.null_in_b),
        ]
        for measure in result.summary.measures
    ]
    names = (a, b, "Net gap", "Gross gap", "Match rate", f"No value in {a}", f"No value in {b}")
    show_table("Measures", ("Measure", *names), rows)


def _conclusion(result: ComparisonResult) -> Conclusion:
    classes = result.summary.classes
    if not classes.groups:
        return Conclusion("minor_diff", "∅", "Nothing to compare")
    if classes.match < classes.groups:
        return Conclusion("major_diff", "≠", "They differ")
    if result.summary.row_findings:
        return Conclusion("minor_diff", "△", "Rows are missing or duplicated")
    return Conclusion("match", "✓", "They match")


def _limits(result: ComparisonResult) -> Iterator[Sequence[str]]:
    """The limits, once for all measures that share them."""
    units = {measure.name: measure.unit for measure in result.summary.measures}
    named: dict[tuple[str, ...], list[str]] = {}
    for name, limits in result.proof.thresholds.items():
        named.setdefault(tuple(_words(limits, units.get(name) or "")), []).append(name)
    for words, names in named.items():
        of = f" of {', '.join(names)}" if len(named) > 1 else ""
        yield f"Limits{of}: ", *words


def _words(limits: Thresholds, unit: str) -> Sequence[str]:
    if limits.match.is_exact and limits.minor_diff.is_exact:
        return ("only equal numbers match",)
    parts = ["equal numbers match"]
    if not limits.match.is_exact:
        parts = ["match up to ", *_limit(limits.match, unit)]
    if not limits.minor_diff.is_exact:
        parts += [", minor up to ", *_limit(limits.minor_diff, unit)]
    return parts


def _limit(limits: Limits, unit: str) -> Sequence[str]:
    stated = ((limits.absolute, unit), (limits.percentage, "%"))
    both = [text.amount(limit, name) for limit, name in stated if limit is not None]
    return both[:1] if len(both) == 1 else (both[0], " and ", both[1])


def _sentence(result: ComparisonResult, names: tuple[str, str]) -> Sequence[str]:
    summary, classes = result.summary, result.summary.classes
    if not classes.groups:
        return result.sentences[:1]
    groups = text.amount(classes.groups)
    uneven: list[str] = []
    if summary.uneven_matches:
        have = "has" if summary.uneven_matches == 1 else "have"
        count = text.amount(summary.uneven_matches)
        uneven = ["; of those that match, ", count, f" {have} another number of rows"]
    if classes.match == classes.groups:
        every = (
            ["All ", groups, " groups match"] if classes.groups > 1 else ["The only group matches"]
        )
        return [*every, *uneven, "."]
    kinds = [
        [text.amount(count), f" {name}"]
        for count, name in (
            (classes.major_diff, "major"),
            (classes.minor_diff, "minor"),
            (classes.missing_in_b, f"only in {names[0]}"),
            (classes.missing_in_a, f"only in {names[1]}"),
        )
        if count
    ]
    differing = text.amount(classes.groups - classes.match)
    verb = "differs" if classes.groups - classes.match == 1 else "differ"
    return [differing, " of ", groups, f" groups {verb}: ", *joined(kinds), *uneven, "."]


def _figures(result: ComparisonResult, names: tuple[str, str]) -> Sequence[Figure]:
    """The totals of the first measure with a gap, or else the groups."""
    summary = result.summary
    with_gap = [measure for measure in summary.measures if measure.gross_difference]
    first = next(iter((*with_gap, *summary.measures)))
    rows = [text.amount(summary.rows_a), " rows"], [text.amount(summary.rows_b), " rows"]
    if first.total_a is None and first.total_b is None:
        return (
            Figure(f"Groups in {names[0]}", summary.groups_a, note=rows[0]),
            Figure(f"Groups in {names[1]}", summary.groups_b, note=rows[1]),
            _gap(first, names),
        )
    return (
        Figure(f"{first.name} in {names[0]}", first.total_a, first.unit, rows[0]),
        Figure(f"{first.name} in {names[1]}", first.total_b, first.unit, rows[1]),
        _gap(first, names),
    )


def _gap(measure: MeasureSummary, names: tuple[str, str]) -> Figure:
    note = [text.amount(measure.gross_difference, measure.unit or ""), " without regard to sign"]
    return Figure(
        f"Gap in {measure.name}: {names[1]} − {names[0]}",  # noqa: RUF001 - a minus
        measure.net_difference,
        measure.unit,
        note if measure.gross_difference else (),
        is_gap=True,
    )
