"""From the names in a question and the conversation to the call that answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rapidfuzz import fuzz, utils

from skillian.offline import follow_up
from skillian.offline.earlier import COMPARE, QUERY, Earlier
from skillian.offline.grounding import Grounding
from skillian.offline.vocabulary import Vocabulary

_PAIR = 2
_LIKE = 80.0
_ROW_WORDS = {"row", "rows", "record", "records", "line", "lines", "entry", "entries"}


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A tool call to make."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """Why there is no call, as a sentence; empty if nothing was understood."""

    reason: str = ""


Plan = PlannedCall | NotUnderstood


def plan(grounding: Grounding, earlier: Earlier, vocabulary: Vocabulary) -> Plan:
    """Return the call that answers a question, or why there is none."""
    sources = grounding.sources if len(grounding.sources) >= _PAIR else grounding.said_sources
    doubt = _doubt(grounding, sources, vocabulary)
    if doubt:
        return NotUnderstood(doubt)
    if _is_listing(grounding):
        return PlannedCall("list_sources", {})
    looked_into = follow_up.look_into(grounding, earlier, sources)
    if looked_into is not None:
        return PlannedCall(*looked_into)
    ambiguous = _ambiguous(grounding)
    if ambiguous:
        return NotUnderstood(ambiguous)
    if len(sources) == _PAIR:
        return _comparison(grounding, sources, vocabulary)
    return _of_one_or_none(grounding, earlier, vocabulary)


def _doubt(grounding: Grounding, sources: Sequence[str], vocabulary: Vocabulary) -> str:
    """Return why the question cannot be answered at all, or an empty text."""
    if grounding.unread:
        return f"I did not understand: {', '.join(grounding.unread)}."
    unknown = _unlike_any(sources, vocabulary)
    if unknown:
        return f"There is no source {' or '.join(unknown)}."
    if len(set(sources)) < len(sources):
        return "A source is compared with another one, not with itself."
    return "I compare two sources at a time." if len(sources) > _PAIR else ""


def wants_more(grounding: Grounding) -> bool:
    """Whether a comparison is not enough: the question also asks why, or for rows."""
    return follow_up.requested_look(grounding) is not None


def is_like(text: str, name: str) -> bool:
    """Whether `text` may be a part or a misspelling of `name`."""
    return fuzz.WRatio(text, name, processor=utils.default_process) >= _LIKE


def _of_one_or_none(grounding: Grounding, earlier: Earlier, vocabulary: Vocabulary) -> Plan:
    if follow_up.requested_look(grounding) and earlier.comparison is None and not grounding.sources:
        return NotUnderstood("That needs a comparison first: name two sources and a measure.")
    if len(grounding.sources) == 1:
        return _of_one(grounding, earlier, vocabulary)
    changed = follow_up.change(grounding, earlier)
    if changed is not None:
        return PlannedCall(*changed)
    return NotUnderstood()


def _of_one(grounding: Grounding, earlier: Earlier, vocabulary: Vocabulary) -> Plan:
    source = grounding.sources[0]
    again = follow_up.change_source(grounding, earlier)
    if again is not None:
        return PlannedCall(*again)
    names_data = (
        grounding.measures or grounding.filters or grounding.breakdown or grounding.mentioned
    )
    if "describe" in grounding.cues and not (
        grounding.measures or grounding.filters or grounding.breakdown
    ):
        return PlannedCall("describe_source", {"source": source})
    several = [name for name, value in grounding.filters.items() if isinstance(value, list)]
    if "compare" in grounding.cues and not several:
        return NotUnderstood("Which other source should it be compared with?")
    if "compare" in grounding.cues and not grounding.breakdown:
        grounding.breakdown += several
    if not names_data and "most" in grounding.cues:
        return NotUnderstood("The largest what? Name a dimension.")
    return _query(grounding, source, vocabulary)


def _comparison(grounding: Grounding, sources: Sequence[str], vocabulary: Vocabulary) -> Plan:
    measures = grounding.measures or _shared_measures(sources, vocabulary)[: _how_many(grounding)]
    if not measures:
        return NotUnderstood("Which measure should be compared?")
    source_a, source_b = reversed(sources) if "swap" in grounding.cues else sources
    arguments = {
        "source_a": source_a,
        "source_b": source_b,
        "measures": measures,
        "align_on": list(dict.fromkeys((*grounding.breakdown, *grounding.mentioned))),
        "filters": grounding.filters,
        "thresholds": grounding.thresholds,
    }
    return PlannedCall(COMPARE, _without_empty(arguments))


def _query(grounding: Grounding, source: str, vocabulary: Vocabulary) -> Plan:
    if grounding.thresholds:
        return NotUnderstood("A tolerance is for comparing two sources.")
    ranked = _rank(grounding)
    measures = grounding.measures + [n for n in grounding.ordered_by if n not in grounding.measures]
    dimensions = list(dict.fromkeys((*grounding.mentioned, *grounding.breakdown)))
    if not measures and (ranked or not grounding.mentioned):
        measures = list(vocabulary.sources[source].measures)[: _how_many(grounding)]
    order = grounding.ordered_by
    if ranked and dimensions:
        by = (order or measures)[0]
        order = [f"-{by}" if ranked == "most" else by]
    arguments = {
        "source": source,
        "measures": measures,
        "dimensions": dimensions,
        "filters": grounding.filters,
        "order": order,
        "limit": _count(grounding, ranked) if dimensions else None,
    }
    return PlannedCall(QUERY, _without_empty(arguments))


def _without_empty(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value}


def _how_many(grounding: Grounding) -> int | None:
    """Return how many measures to use if none is named: "how much" asks for the first one."""
    return 1 if "how much" in grounding.cues else None


def _rank(grounding: Grounding) -> str:
    return next((cue for cue in ("most", "least") if cue in grounding.cues), "")


def _count(grounding: Grounding, ranked: str) -> int | None:
    """Return the number of rows: "which company has the largest" asks for one."""
    if grounding.count is not None:
        return grounding.count
    return 1 if ranked and grounding.is_singular else None


def _ambiguous(grounding: Grounding) -> str:
    """Return why words may name an unknown measure, as in "compare the documents"."""
    doubtful = [word for word in grounding.row_words if word.lower() not in _ROW_WORDS]
    if doubtful and not grounding.measures:
        return f"I did not understand: {', '.join(doubtful)}."
    return ""


def _is_listing(grounding: Grounding) -> bool:
    named = (
        grounding.sources,
        grounding.said_sources,
        grounding.measures,
        grounding.filters,
        grounding.breakdown,
    )
    return "list" in grounding.cues and not any(named)


def _unlike_any(sources: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    return [
        name
        for name in sources
        if name not in vocabulary.sources
        and not any(is_like(name, known) for known in vocabulary.sources)
    ]


def _shared_measures(sources: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    """Return the measures that all of the known sources have, for a question without one."""
    known = [vocabulary.sources[name] for name in sources if name in vocabulary.sources]
    if not known:
        known = list(vocabulary.sources.values())
    return [name for name in known[0].measures if all(name in other.measures for other in known)]
