"""A report as one self-contained HTML page.

Its Content-Security-Policy allows only the script and the style in the page and no requests. The
template escapes every value.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from skillian.data.comparison.explain.explanation import Breakdown, MeasureExplanation
from skillian.data.results.groups import Difference, MeasureSummary, share
from skillian.data.results.result import ComparisonResult
from skillian.data.sql.values import jsonable
from skillian.data.subjects import STATUS, STATUSES, Status
from skillian.display import printable
from skillian.reports.charts import Bar, from_zero, stacked
from skillian.reports.outcome import Compared, Outcome, worst
from skillian.reports.words import key_words

_BREAKDOWNS = 4
_MEMBERS = 8


@dataclass(frozen=True, slots=True)
class Part:
    """A class in the bar of all groups."""

    status: Status
    count: int
    bar: Bar


@dataclass(frozen=True, slots=True)
class BarLine:
    """A line of a chart: its label, its amount, and its share of the whole."""

    label: str
    status: Status | None
    amount: Decimal
    share: str | None
    bar: Bar


@dataclass(frozen=True, slots=True)
class Chart:
    """A bar chart; `zero` is the position at which the bars start, `left` the members left out."""

    title: str
    unit: str | None
    zero: int
    entries: tuple[BarLine, ...]
    left: int = 0


def write_html(outcomes: Sequence[Outcome]) -> str:
    """The report as HTML."""
    return render_page(
        "report.html",
        outcomes=outcomes,
        verdict=worst(outcomes),
        STATUSES=STATUSES,
        STATUS=STATUS,
        has_result=_has_result,
        parts=_parts,
        largest=_largest,
        explained=_explained,
    )


def render_page(name: str, **content: object) -> str:
    """A page from a template, with the style and the script that its policy allows."""
    style, script = _page("style.css"), _page("script.js")
    hashes = {"style_hash": _digest(style), "script_hash": _digest(script)}
    return _environment().get_template(name).render(content, style=style, script=script, **hashes)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("skillian.reports", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_plain,
    )
    environment.filters |= {"written": _written, "key_words": key_words}
    return environment


def _plain(value: object) -> object:
    """Remove the characters that HTML cannot hold."""
    return printable(value) if isinstance(value, str) else value


def _page(name: str) -> str:
    return files("skillian.reports").joinpath("page", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _written(value: object) -> str:
    """A value with all of its digits."""
    return str(jsonable(value))


def _has_result(outcome: Outcome) -> bool:
    return isinstance(outcome, Compared) and not outcome.reason


def _parts(result: ComparisonResult) -> list[Part]:
    counts = result.counts
    bars = stacked([counts[status] for status in STATUSES])
    return [Part(status, counts[status], bar) for status, bar in zip(STATUSES, bars, strict=True)]


def _largest(result: ComparisonResult, measure: MeasureSummary) -> Chart | None:
    """The largest differences of one measure."""
    differences = [each for each in result.top_differences if each.measure == measure.name]
    if not differences:
        return None
    zero, bars = from_zero([each.gap for each in differences])
    entries = tuple(
        BarLine(key_words(each.key), each.status, each.gap, _percentage(each), bar)
        for each, bar in zip(differences, bars, strict=True)
    )
    return Chart(f"Largest differences in {measure.name}", measure.unit, zero, entries)


def _percentage(each: Difference) -> str | None:
    return None if each.percentage_diff is None else f"{each.percentage_diff.normalize():f} %"


def _explained(measure: MeasureExplanation) -> list[Chart]:
    """The members that carry a measure's gap, the smallest explanation first."""
    useful = [each for each in measure.breakdowns if not each.is_trivial]
    return [_breakdown(each, measure) for each in useful[:_BREAKDOWNS]]


def _breakdown(breakdown: Breakdown, measure: MeasureExplanation) -> Chart:
    members = breakdown.contributions[:_MEMBERS]
    *bars, _ = from_zero([*(each.gross for each in members), measure.gross])[1]
    entries = tuple(
        BarLine(key_words(each.member), None, each.net, share(each.gross, measure.gross), bar)
        for each, bar in zip(members, bars, strict=True)
    )
    title = f"By {' and '.join(breakdown.dimensions)}"
    return Chart(title, measure.unit, 0, entries, breakdown.members - len(members))
