"""Questions that are offered: examples at the beginning, and follow-ups of a result.

A follow-up is offered only if the planner without a model reads it as exactly the call that it
promises.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

from skillian.chat.scope import part_of
from skillian.data.query.catalogue import SourceInfo
from skillian.offline.calls import PlannedCall, sentence_of
from skillian.offline.earlier import COMPARE, QUERY, ROWS, Earlier, with_result
from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.planner import OfflinePlanner
from tinyagent import ToolCall

MOST = 4
"""The maximum number of questions that are offered at once."""
_WHY = "explain_difference"
_BEHIND = "drill_down"


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call of a turn that succeeded."""

    tool: str
    arguments: Mapping[str, Any]
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question that a reader can ask next.

    Attributes:
        label: What it shows, in a few words.
        question: The question.
        call: The call that answers it; None for a reading of a question that was not answered.
    """

    label: str
    question: str
    call: PlannedCall | None = None


def follow_ups(
    calls: Sequence[PastCall], vocabulary: Vocabulary, hidden: Collection[str] = ()
) -> tuple[FollowUp, ...]:
    """At most `MOST` questions about the last comparison or query of a turn.

    Args:
        calls: The calls of the turn, in their order.
        vocabulary: The names that questions can use.
        hidden: The sources whose values only a person may read.
    """
    last = next((each for each in reversed(calls) if each.tool in {COMPARE, QUERY}), None)
    if last is None:
        return ()
    call = ToolCall("", last.tool, dict(last.arguments))
    earlier = with_result(Earlier(), call, json.dumps(last.result), last.result)
    offered = (_of_query if last.tool == QUERY else _of_comparison)(last, vocabulary)
    planner, answered = OfflinePlanner(vocabulary), {each.tool for each in calls} - {last.tool}
    refused = {_BEHIND, ROWS} if {*earlier.sources} & {*hidden} else set[str]()
    usable = (
        each
        for each in offered
        if each.call is not None
        and each.call.tool not in answered | refused
        and planner.plan(each.question, earlier) == each.call
    )
    return tuple(islice(usable, MOST))


def _of_comparison(last: PastCall, vocabulary: Vocabulary) -> Iterator[FollowUp]:
    """Yield what a comparison can also show, of its rows and of its groups."""
    key = {"cache_key": last.result["cache_key"]}
    rows: Mapping[str, int] = last.result.get("rows", {})
    summary: Mapping[str, int] = last.result.get("summary", {"groups": 0, "matched": 0})
    if rows.get("differing") or summary["matched"] < summary["groups"]:
        yield FollowUp("Why", "Why?", PlannedCall(_WHY, key))
    if rows.get("differing"):
        yield FollowUp("Show the rows that differ", "Which ones differ?", PlannedCall(ROWS, key))
    for side in ("a", "b"):
        status, source = f"only_in_{side}", last.arguments[f"source_{side}"]
        if rows.get(status):
            call = PlannedCall(ROWS, {**key, "status": status})
            yield FollowUp(f"Only in {source}", f"What is only in {source}?", call)
    if summary["groups"]:
        yield from _of_groups(last, vocabulary, key)


def _of_groups(
    last: PastCall, vocabulary: Vocabulary, key: Mapping[str, Any]
) -> Iterator[FollowUp]:
    """Yield other groups of the measures, and the rows behind the largest difference."""
    known = [vocabulary.sources.get(str(last.arguments[name])) for name in ("source_a", "source_b")]
    shared = [
        name
        for name in (known[0].dimensions if known[0] else ())
        if known[1] and name in known[1].dimensions
    ]
    groups, fixed = _groups(last.result), _fixed(last.arguments)
    others = [name for name in shared if name not in groups and name not in fixed]
    largest = next(iter(last.result["top_differences"]), None)
    if largest is not None:
        yield from _only(last, largest["key"], others)
        named = (f"{name} {_written(value)}" for name, value in largest["key"].items())
        behind = PlannedCall(_BEHIND, {**key, "key": largest["key"]})
        question = f"Show the rows behind {' and '.join(named)}"
        yield FollowUp("Show the rows behind", question, behind)
    alone = [name for name in groups if name not in fixed] if len(groups) > 1 else []
    for name in (*others, *alone):
        changed = {**last.arguments, "align_on": [name]}
        yield FollowUp(f"By {name}", f"By {name}", PlannedCall(COMPARE, changed))


def _only(last: PastCall, key: Mapping[str, Any], others: Sequence[str]) -> Iterator[FollowUp]:
    """Yield the comparison for a member of the largest difference, if it has several groups."""
    free = [name for name in key if name not in _fixed(last.arguments) and key[name] is not None]
    if not free or (len(free) == 1 and not others):
        return
    member = f"{free[0]} {key[free[0]]}"
    before: Mapping[str, Any] = last.arguments.get("filters") or {}
    filters: dict[str, Any] = {**before, free[0]: str(key[free[0]])}
    changed: dict[str, Any] = {**last.arguments, "filters": filters}
    if len(free) > 1:
        yield FollowUp(f"Only {member}", f"Only for {member}", PlannedCall(COMPARE, changed))
        return
    question, label = f"Only for {member} by {others[0]}", f"Only {member}, by {others[0]}"
    yield FollowUp(label, question, PlannedCall(COMPARE, {**changed, "align_on": [others[0]]}))


def _written(value: Any) -> str:
    """A value as a question has it: in quotes if it is more than letters and digits."""
    return str(value) if str(value).isalnum() else f'"{value}"'


def _of_query(last: PastCall, vocabulary: Vocabulary) -> Iterator[FollowUp]:
    """Yield what a query can also show: the same of another source, or by another dimension."""
    arguments, source = last.arguments, str(last.arguments["source"])
    measures = [str(name) for name in last.result.get("measures", ())]
    known = vocabulary.sources.get(source)
    has_values = any(value is not None for row in last.result["rows"] for value in row)
    if known is None or not measures or not has_values:
        return
    groups: list[str] = arguments.get("dimensions") or []
    filters: Mapping[str, Any] = arguments.get("filters") or {}
    others = [
        name
        for name, other in vocabulary.sources.items()
        if name != source
        and {*measures} <= other.measures.keys()
        and {*groups, *filters} <= other.dimensions.keys()
    ]
    for other in others:
        stated = {"measures": measures, "align_on": groups, "filters": dict(filters)}
        call = {name: value for name, value in stated.items() if value}
        compared = PlannedCall(COMPARE, {"source_a": source, "source_b": other, **call})
        question = sentence_of(compared)
        if question is not None:
            yield FollowUp(f"Compare with {other}", question, compared)
    for name in known.dimensions:
        if name not in groups and name not in _fixed(arguments):
            changed = {**arguments, "dimensions": [name], "order": _order(arguments, name)}
            query = PlannedCall(QUERY, {key: each for key, each in changed.items() if each})
            whole = sentence_of(query) if arguments.get("limit") else None
            yield FollowUp(f"By {name}", whole or f"By {name}", query)


def _order(arguments: Mapping[str, Any], group: str) -> list[str]:
    known = {*(arguments.get("measures") or ()), group}
    return [each for each in arguments.get("order") or () if each.removeprefix("-") in known]


def _groups(result: Mapping[str, Any]) -> list[str]:
    """The dimensions by which a comparison was made."""
    parts = enumerate(str(part) for part in result["scope"])
    words = next((words for index, words in parts if part_of(index, words) == "groups"), "by ")
    return words.removeprefix("by ").split(", ")


def _fixed(arguments: Mapping[str, Any]) -> set[str]:
    """The dimensions that have a single value."""
    filters: Mapping[str, Any] = arguments.get("filters") or {}
    return {name for name, value in filters.items() if not isinstance(value, list | dict)}


def example_questions(sources: Sequence[SourceInfo]) -> tuple[str, ...]:
    """A few questions; the first compare the first two sources that can be compared."""
    return tuple(_questions(sources))[:MOST]


def _questions(sources: Sequence[SourceInfo]) -> Iterator[str]:
    yield from next((_compared(a, b) for a, b in combinations(sources, 2) if _shared(a, b)), ())
    yield "Which sources are there?"
    for source in sources:
        if source.measures and source.dimensions:
            measure, dimension = next(iter(source.measures)), next(iter(source.dimensions))
            yield f"Show {measure} in {source.name} by {dimension}"


def _compared(a: SourceInfo, b: SourceInfo) -> Iterable[str]:
    measure = next(iter(_both(a.measures, b.measures)))
    dimensions = list(_both(a.dimensions, b.dimensions))
    pair = f"{measure} between {a.name} and {b.name}"
    for name in dimensions:
        value = next((one for one in a.dimensions[name].values or () if one is not None), None)
        if value is not None:
            yield f"Compare {pair} for {name} {value}"
            break
    yield f"Compare {pair} by {dimensions[0]}"


def _shared(a: SourceInfo, b: SourceInfo) -> bool:
    return bool(_both(a.measures, b.measures)) and bool(_both(a.dimensions, b.dimensions))


def _both(first: Iterable[str], second: Iterable[str]) -> dict[str, None]:
    shared = set(second)
    return {name: None for name in first if name in shared}
