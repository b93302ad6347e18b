"""Results as a language model may read them.

Long texts and lists are shortened. Of sources with hidden values it reads counts and shares only:
neither a value of a row nor an amount, nor the members of a dimension.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple, cast

from skillian.data.comparison.explain.explanation import Breakdown, Explanation, MeasureExplanation
from skillian.data.comparison.interpretation import Interpretation
from skillian.data.comparison.rows import GroupRow
from skillian.data.declare.sources import SourceRegistry
from skillian.data.for_code import Content, groups_in_code, rows_in_code
from skillian.data.query.catalogue import SourceInfo
from skillian.data.query.engine import QueryResult
from skillian.data.query.filters import Condition
from skillian.data.results.groups import share
from skillian.data.results.result import ComparisonResult
from skillian.data.results.rows import Samples
from skillian.data.sql.values import jsonable, named
from skillian.data.subjects import words_for
from skillian.data.tables.differing import DifferingRow
from skillian.data.tables.sentences import findings, in_words
from skillian.data.tables.why.results import Why
from skillian.errors import InvalidInputError, UnavailableError

BREAKDOWNS = 6
MEMBERS = 5
FACTS = 10
LONGEST_TEXT = 200
_MOST_NAMED = 6


def brief_comparison(result: ComparisonResult) -> dict[str, Any]:
    """The comparison without its proof, which has thousands of characters of SQL.

    Of the schemas it has what counts as a finding.
    """
    omitted = {"proof", "schema"}
    brief = {name: value for name, value in result.to_dict().items() if name not in omitted}
    brief["findings"] = list(result.findings)
    if result.schema.findings:
        brief["schema"] = [each.sentence for each in result.schema.findings]
    return brief


def comparison_scope(result: ComparisonResult) -> list[str]:
    """What a comparison covers, in parts: sources, measures, rows, key, limits, time."""
    proof, units = result.proof, {measure.name: measure.unit for measure in result.measures}
    limits = {
        f"match within {limits.match.words(units.get(name))}"
        + (f" ({name})" if len(proof.thresholds) > 1 else "")
        for name, limits in proof.thresholds.items()
    }
    return [
        f"{result.source_a} and {result.source_b}",
        words_for(measure.name for measure in result.measures),
        *(_rows_covered(result.filters, proof.align_on) or ["all of the rows"]),
        *([f"by {', '.join(result.key_columns)}"] if result.key_columns else []),
        *sorted(limits),
        *(f"compared as {each.rule} ({each.a})" for each in result.columns if each.rule != "exact"),
        f"as of {result.started}",
    ]


def query_scope(
    result: QueryResult, info: SourceInfo, dimensions: Sequence[str], snapshot: str
) -> list[str]:
    """What a query covers, in parts: source, measures, rows, groups, time."""
    measures = [name for name in result.columns if name in info.measures]
    return [
        result.source,
        *([", ".join(measures)] if measures else []),
        *_rows_covered(result.filters, tuple(info.dimensions)),
        *([f"by {', '.join(dimensions)}"] if dimensions else ["in total"]),
        *([_first(result.row_count)] if result.truncated else []),
        *(["others tie with the last row"] if result.tied else []),
        f"as of {snapshot}",
    ]


def _rows_covered(filters: Sequence[Condition], dimensions: Sequence[str]) -> list[str]:
    """The conditions in words, and the dimensions without one."""
    limited = {condition.dimension for condition in filters}
    free = [name for name in dimensions if name not in limited]
    others = [f"and {len(free) - _MOST_NAMED} others"] if len(free) > _MOST_NAMED + 1 else []
    names = [", ".join(free[:_MOST_NAMED] if others else free), *others]
    return [*map(_condition, filters), *([f"all of {' '.join(names)}"] if free else [])]


def _first(count: int) -> str:
    return "the first row" if count == 1 else f"the first {count:,} rows"


def _condition(condition: Condition) -> str:
    words = {"in": "", "not_in": "not ", "gte": "from ", "gt": "after ", "lte": "up to "}
    values = ", ".join(
        "empty" if value is None else str(brief_value(jsonable(value)))
        for value in condition.values
    )
    return f"{condition.dimension}: {words.get(condition.operator, 'before ')}{values}"


def brief_row_comparison(result: ComparisonResult) -> dict[str, Any]:
    """The comparison of whole rows without its proof, and with the columns that differ."""
    whole = result.to_dict()
    columns = [column for column in result.columns if column.mismatches]
    return {
        "kind": "rows",
        **{name: whole[name] for name in ("source_a", "source_b", "equal", "key", "rows")},
        "coverage": whole["coverage"],
        "columns": [_cut(column.to_dict()) for column in columns],
        **{name: whole[name] for name in ("not_compared", "proposals")},
        "samples": _cut(whole["samples"]),
        "interpretation": [brief_value(sentence) for sentence in result.sentences],
        "findings": [brief_value(sentence) for sentence in result.findings],
        "cache_key": result.cache_key,
    }


def brief_row(row: DifferingRow) -> dict[str, Any]:
    """A row that differs, with only the cells that do."""
    whole, is_pair = _cut(row.to_dict()), row.status == "differing"
    cells = {
        name: {"a": cell["a"], "b": cell["b"]}
        for name, cell in whole["cells"].items()
        if cell["differs"] or not is_pair
    }
    return {**whole, "cells": cells}


def brief_why(why: Why) -> dict[str, Any]:
    """The proved rules; `changes` are arguments of compare_sources that apply them."""
    facts = [fact.to_dict() for fact in why.facts[:FACTS]]
    return {
        "kind": "rows",
        "cache_key": why.cache_key,
        "rules": [rule.to_dict() for rule in why.rules],
        "facts": _cut(facts),
        "interpretation": [brief_value(each) for each in why.sentences[: len(why.rules) + FACTS]]
        or [why.nothing],
    }


def _cut(value: Any) -> Any:
    """The value with the long texts in it cut."""
    if isinstance(value, dict):
        return {name: _cut(part) for name, part in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_cut(part) for part in cast("Sequence[Any]", value)]
    return brief_value(value)


def brief_explanation(explanation: Explanation) -> dict[str, Any]:
    """The smallest breakdowns, each with the members that carry most of the gap."""
    brief: dict[str, Any] = explanation.to_dict()
    for measure in brief["measures"].values():
        measure["breakdowns"] = [
            {**each, "contributions": each["contributions"][:MEMBERS]}
            for each in measure["breakdowns"][:BREAKDOWNS]
        ]
    return brief


def brief_side(result: QueryResult) -> dict[str, Any]:
    """The rows of one side of a group, without their statement."""
    return {
        "source": result.source,
        "columns": result.columns,
        "rows": brief_rows(result),
        "truncated": result.truncated,
    }


def brief_rows(result: QueryResult) -> list[list[object]]:
    """All rows with their long values cut."""
    return [[brief_value(value) for value in row] for row in result.rows]


def brief_value(value: object) -> object:
    """A value for JSON; of a long text its beginning and its length."""
    plain = jsonable(value)
    if isinstance(plain, str) and len(plain) > LONGEST_TEXT:
        return f"{plain[:LONGEST_TEXT]}… ({len(plain)} characters)"
    return plain


_COUNTED = "columns kinds explained differences matched total"
_AMOUNTS = frozenset({"total_a", "total_b", "net_difference", "gross_difference"})


def hidden_among(registry: SourceRegistry, names: Iterable[str]) -> tuple[str, ...]:
    """The sources whose values are hidden; unknown names are ignored."""
    known = (name for name in names if name in registry.names)
    return tuple(name for name in known if registry.get(name).values == "hidden")


def refuse_hidden(registry: SourceRegistry, names: Iterable[str]) -> None:
    """Raise `UnavailableError` with the reason if the values of one of them are hidden."""
    hidden = hidden_among(registry, names)
    if hidden:
        raise UnavailableError(
            f"the values of {' and '.join(hidden)} are hidden from language models"
            " (`values: hidden`); compare_sources and explain_difference give counts and shares"
        )


def refuse_undeclared(
    registry: SourceRegistry, hidden: Iterable[str], filters: Mapping[str, object]
) -> None:
    """Raise `InvalidInputError` for a filter on what a hidden source does not declare.

    Counts of the rows with a value would give the values of any column away, one by one.
    """
    for name in hidden:
        unknown = sorted(filters.keys() - registry.get(name).dimensions.keys())
        if unknown:
            raise InvalidInputError(
                f"the values of {name} are hidden from language models, so a filter may only name"
                f" a declared dimension, not {unknown[0]!r}"
            )


def comparison_counts(result: ComparisonResult) -> dict[str, object]:
    """A comparison's counts and match rates, and sentences with no more than these."""
    summary = result.summary
    bare = tuple(
        replace(
            measure,
            total_a=None,
            total_b=None,
            net_difference=Decimal(0),
            gross_difference=Decimal(0),
        )
        for measure in summary.measures
    )
    sources = result.source_a, result.source_b
    words = Interpretation(sources, replace(summary, measures=bare), (), result.proof.thresholds)
    measures = {
        measure.name: {k: v for k, v in measure.to_dict().items() if k not in _AMOUNTS}
        for measure in summary.measures
    }
    return {
        "source_a": result.source_a,
        "source_b": result.source_b,
        "summary": {**summary.to_dict(), "measures": measures},
        "top_differences": [],
        "interpretation": list(words.sentences()),
        "findings": list(words.findings()),
        "cache_key": result.cache_key,
    }


def rows_counts(result: ComparisonResult) -> dict[str, object]:
    """The counts of a comparison of whole rows, and sentences with no more than these."""
    columns = tuple(replace(each, largest_gap=None, pairs=()) for each in result.columns)
    refused = tuple(replace(each, reason=each.without_values) for each in result.not_compared)
    bare = replace(
        result, columns=columns, not_compared=refused, samples=Samples(), proposals=(), notes=()
    )
    names = ("a", "b", "compared", "mismatches", "share")
    return {
        "kind": "rows",
        **{name: bare.to_dict()[name] for name in ("source_a", "source_b", "equal", "rows")},
        "key": list(result.key_columns),
        "columns": [
            {name: column.to_dict()[name] for name in names}
            for column in columns
            if column.mismatches
        ],
        "interpretation": list(in_words(bare)),
        "findings": list(findings(bare)),
        "cache_key": result.cache_key,
    }


def why_counts(why: Why) -> dict[str, object]:
    """The kinds and the counts of the proved rules, without any value."""
    sentences = [
        f"A rule ({', '.join(rule.kinds)}) for {' and '.join(rule.columns)} explains"
        f" {rule.explained:,} of {rule.differences:,} {rule.of}; with the rules so far,"
        f" {rule.matched:,} of {rule.total:,} rows match."
        for rule in why.rules
    ]
    return {
        "kind": "rows",
        "cache_key": why.cache_key,
        "rules": [named(rule, _COUNTED) for rule in why.rules],
        "interpretation": sentences or [why.nothing],
    }


def explanation_shares(explanation: Explanation) -> dict[str, object]:
    """How many members of each dimension carry the gap, and their shares of it."""
    return {
        "cache_key": explanation.cache_key,
        "grain": list(explanation.grain),
        "unused_dimensions": list(explanation.unused),
        "interpretation": [
            _sentence(measure, measure.breakdowns[0])
            for measure in explanation.measures
            if measure.breakdowns
        ]
        + list(explanation.notes),
        "measures": {
            measure.measure: {"breakdowns": [_shares(measure, each) for each in measure.breakdowns]}
            for measure in explanation.measures
        },
    }


def _shares(measure: MeasureExplanation, breakdown: Breakdown) -> dict[str, object]:
    return {
        "dimensions": list(breakdown.dimensions),
        "members": breakdown.members,
        "needed_for_80_percent": breakdown.needed,
        "gross_shares": [share(each.gross, measure.gross) for each in breakdown.contributions],
    }


def _sentence(measure: MeasureExplanation, breakdown: Breakdown) -> str:
    dimensions = " and ".join(breakdown.dimensions)
    if breakdown.needed is None or breakdown.is_trivial:
        return f"The gap in {measure.measure} is spread over many members."
    return (
        f"{breakdown.needed} of {breakdown.members} members of {dimensions} with a gap carry 80 %"
        f" or more of the gross gap in {measure.measure}."
    )


class ForModels(NamedTuple):
    """What a model reads of one kind of comparison; of hidden values, only counts."""

    brief: Callable[[Any], dict[str, Any]]
    counts: Callable[[Any], dict[str, object]]
    brief_why: Callable[[Any], dict[str, Any]]
    why_counts: Callable[[Any], dict[str, object]]
    row: Callable[[Any], dict[str, Any]]
    in_code: Callable[[ComparisonResult, Any], Content]


_OF_ROWS = ForModels(
    brief_row_comparison, rows_counts, brief_why, why_counts, brief_row, rows_in_code
)
_OF_GROUPS = ForModels(
    *(brief_comparison, comparison_counts, brief_explanation, explanation_shares),
    *(GroupRow.to_dict, groups_in_code),
)


def for_models(result: ComparisonResult) -> ForModels:
    """What a model reads of a comparison."""
    return _OF_GROUPS if result.measures else _OF_ROWS
