"""A report for pull requests: GitHub Markdown in which values neither format nor mention."""

import re
from collections.abc import Iterable, Iterator, Sequence

from skillian.data.results.groups import Difference
from skillian.data.results.result import ComparisonResult
from skillian.data.results.rows import ColumnResult, RowSample
from skillian.data.subjects import STATUS
from skillian.reports.outcome import Compared, Outcome, Verdict
from skillian.reports.words import number, text

_VERDICT: dict[Verdict, str] = {
    "equal": "✅ equal",
    "findings": "❌ findings",
    "failed": "⚠️ could not compare",
}
_ACTIVE = re.compile(r"(^[-+#>=]|^\d+(?=[.)](?:\s|$))|[\\`*_\[\]~|$])")
# An empty comment breaks what GitHub would turn into a mention, a link or an emoji.
_MENTION = re.compile(r"(?<=@)|(?<=#)|(?<=:)(?=\S)|(?<=www)(?=\.)", re.IGNORECASE)


def write_markdown(outcomes: Sequence[Outcome]) -> str:
    """The report as Markdown; keys and amounts are code, so that they are shown unchanged."""
    return "\n".join(line for outcome in outcomes for line in _comparison(outcome))


def _comparison(outcome: Outcome) -> Iterator[str]:
    comparison = outcome.comparison
    yield f"## {_VERDICT[outcome.verdict]}: {_plain(comparison.name)}"
    yield ""
    if not isinstance(outcome, Compared) or outcome.reason:
        yield _plain(outcome.reason or "")
        yield ""
        return
    yield f"a = {_code(comparison.a)}, b = {_code(comparison.b)}"
    yield ""
    for sentence in outcome.sentences:
        yield f"- {_plain(sentence)}"
    yield ""
    yield from _parts(outcome.result)
    yield from _why(outcome)


def _parts(result: ComparisonResult) -> Iterator[str]:
    """The tables of a result, those that have content."""
    headings, counts = zip(*result.counts_in_words, strict=True)
    yield from _table(headings, "-" * len(headings), [counts])
    yield from _differences(result.top_differences)
    yield from _columns([column for column in result.columns if column.mismatches])
    yield from _samples(result.samples.differing, result.key_columns)
    yield from _limits(result)


def _columns(columns: Sequence[ColumnResult]) -> Iterator[str]:
    if columns:
        yield from _table(
            ["column", "rule", "mismatches", "share", "largest gap", "most frequent pair"],
            "llrrrl",
            (
                [
                    _code(column.a),
                    _plain(column.rule),
                    str(column.mismatches),
                    column.percentage,
                    "" if column.largest_gap is None else format(column.largest_gap, "f"),
                    " → ".join(_value(each) for each in (column.pairs[0].a, column.pairs[0].b)),
                ]
                for column in columns
            ),
        )


def _samples(rows: Sequence[RowSample], keys: Sequence[str]) -> Iterator[str]:
    if rows:
        yield from _table(
            [*map(_plain, keys), "column", "a", "b"],
            "l" * (len(keys) + 3),
            (
                [*(_value(row.key[name]) for name in keys), _code(column), _value(a), _value(b)]
                for row in rows
                for column, (a, b) in row.cells.items()
            ),
        )


def _why(outcome: Compared) -> Iterator[str]:
    """What explains the rows that differ; the options are code to copy."""
    if outcome.why is None or not outcome.reasons:
        return
    yield "### Why"
    yield ""
    for rule in outcome.why.rules:
        before, options, after = rule.parts
        yield f"- {_plain(before)}{_code(options)}{_plain(after)}"
    for sentence in outcome.reasons[len(outcome.why.rules) :]:
        yield f"- {_plain(sentence)}"
    yield ""


def _value(value: str | None) -> str:
    return "NULL" if value is None else _code(value)


def _differences(differences: Sequence[Difference]) -> Iterator[str]:
    if not differences:
        return
    keys = list(differences[0].key)
    yield "Largest differences:"
    yield ""
    headings = [*map(_plain, keys), "measure", "class", "a", "b", "b - a", "%", "rows a:b"]
    yield from _table(
        headings, "l" * (len(keys) + 2) + "rrrrr", (_cells(each, keys) for each in differences)
    )


def _cells(each: Difference, keys: Iterable[str]) -> list[str]:
    percentage = "" if each.percentage_diff is None else number(each.percentage_diff)
    return [
        *(_code(text(each.key[name])) for name in keys),
        _plain(each.measure),
        STATUS[each.status],
        *(number(value) for value in (each.a, each.b, each.gap)),
        percentage,
        f"{each.rows_a}:{each.rows_b}",
    ]


def _limits(result: ComparisonResult) -> Iterator[str]:
    """How measures were compared: their groups, limits and filters."""
    proof = result.proof
    if not proof.thresholds:
        return
    limits = ", ".join(
        f"{_code(name)} match: {each.match.words()}; minor difference: {each.minor_diff.words()}"
        for name, each in proof.thresholds.items()
    )
    yield "<details><summary>How this was computed</summary>"
    yield ""
    yield f"- grouped by {', '.join(map(_code, result.key_columns))}; limits of {limits}"
    for condition in proof.filters:
        values = ", ".join(_code(text(value)) for value in condition.values)
        yield f"- filter: {_code(condition.dimension)} {_plain(condition.operator)} {values}"
    yield f"- snapshot {proof.snapshot}, cache key {_code(result.cache_key)}"
    yield ""
    yield "</details>"
    yield ""


def _table(headings: Sequence[str], align: str, rows: Iterable[Sequence[str]]) -> Iterator[str]:
    marks = {"l": ":--", "r": "--:", "-": "--:"}
    yield f"| {' | '.join(headings)} |"
    yield f"| {' | '.join(marks[each] for each in align)} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _plain(words: str) -> str:
    """Escape a text, so that nothing in it is Markdown, HTML, a mention or a link."""
    escaped = text(words).replace("&", "&amp;").replace("<", "&lt;")
    return _MENTION.sub("<!-- -->", _ACTIVE.sub(_inactive, escaped))


def _inactive(match: re.Match[str]) -> str:
    # The match is the number of a numbered list, which a backslash cannot escape, or a character.
    return f"{match[0]}<!-- -->" if match[0].isdigit() else f"\\{match[0]}"


def _code(value: str) -> str:
    """A value as code, which is shown unchanged; a `|` would end the cell of a table."""
    escaped = text(value).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", escaped)), default=0))
    space = " " if escaped.startswith(("`", " ")) or escaped.endswith(("`", " ")) else ""
    return f"{fence}{space}{escaped}{space}{fence}" if escaped else "(empty)"
