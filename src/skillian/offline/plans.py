"""From what a question names and what was done before to the call that answers it."""

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
class Call:
    """A tool call to make."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """Why no call is made, as a sentence; empty where nothing at all was understood."""

    reason: str = ""


Plan = Call | NotUnderstood


def plan(found: Grounding, earlier: Earlier, vocabulary: Vocabulary) -> Plan:
    """The call that answers a question, or why there is none."""
    sources = found.sources if len(found.sources) >= _PAIR else found.said_sources
    doubt = _doubt(found, sources, vocabulary)
    if doubt:
        return NotUnderstood(doubt)
    if _is_listing(found):
        return Call("list_sources", {})
    looked_into = follow_up.look_into(found, earlier, sources)
    if looked_into is not None:
        return Call(*looked_into)
    ambiguous = _ambiguous(found)
    if ambiguous:
        return NotUnderstood(ambiguous)
    if len(sources) == _PAIR:
        return _comparison(found, sources, vocabulary)
    return _of_one_or_none(found, earlier, vocabulary)


def _doubt(found: Grounding, sources: Sequence[str], vocabulary: Vocabulary) -> str:
    """What keeps a question from being answered whatever it asks for."""
    if found.unread:
        return f"I did not understand: {', '.join(found.unread)}."
    unknown = _unlike_any(sources, vocabulary)
    if unknown:
        return f"There is no source {' or '.join(unknown)}."
    if len(set(sources)) < len(sources):
        return "A source is compared with another one, not with itself."
    return "I compare two sources at a time." if len(sources) > _PAIR else ""


def wants_more(found: Grounding) -> bool:
    """Whether a comparison alone does not answer: why, or which rows, was asked too."""
    return follow_up.wanted(found) is not None


def is_like(asked: str, name: str) -> bool:
    """Whether a name may be what was meant by another: a part or a misspelling of it."""
    return fuzz.WRatio(asked, name, processor=utils.default_process) >= _LIKE


def _of_one_or_none(found: Grounding, earlier: Earlier, vocabulary: Vocabulary) -> Plan:
    if follow_up.wanted(found) and earlier.comparison is None and not found.sources:
        return NotUnderstood("That needs a comparison first: name two sources and a measure.")
    if len(found.sources) == 1:
        return _of_one(found, earlier, vocabulary)
    changed = follow_up.change(found, earlier)
    if changed is not None:
        return Call(*changed)
    return NotUnderstood()


def _of_one(found: Grounding, earlier: Earlier, vocabulary: Vocabulary) -> Plan:
    source = found.sources[0]
    again = follow_up.change_source(found, earlier)
    if again is not None:
        return Call(*again)
    names_data = found.measures or found.filters or found.breakdown or found.mentioned
    if "describe" in found.cues and not (found.measures or found.filters or found.breakdown):
        return Call("describe_source", {"source": source})
    several = [name for name, given in found.filters.items() if isinstance(given, list)]
    if "compare" in found.cues and not several:
        return NotUnderstood("Which other source should it be compared with?")
    if "compare" in found.cues and not found.breakdown:
        found.breakdown += several
    if not names_data and "most" in found.cues:
        return NotUnderstood("The largest what? Name a dimension.")
    return _query(found, source, vocabulary)


def _comparison(found: Grounding, sources: Sequence[str], vocabulary: Vocabulary) -> Plan:
    measures = found.measures or _shared_measures(sources, vocabulary)[: _how_many(found)]
    if not measures:
        return NotUnderstood("Which measure should be compared?")
    arguments: dict[str, Any] = {"source_a": sources[0], "source_b": sources[1]}
    if "swap" in found.cues:
        arguments = {"source_a": sources[1], "source_b": sources[0]}
    arguments["measures"] = measures
    breakdown = list(dict.fromkeys((*found.breakdown, *found.mentioned)))
    if breakdown:
        arguments["align_on"] = breakdown
    if found.filters:
        arguments["filters"] = found.filters
    if found.thresholds:
        arguments["thresholds"] = found.thresholds
    return Call(COMPARE, arguments)


def _query(found: Grounding, source: str, vocabulary: Vocabulary) -> Plan:
    if found.thresholds:
        return NotUnderstood("A tolerance is for comparing two sources.")
    ranked = _rank(found)
    measures = found.measures + [n for n in found.ordered_by if n not in found.measures]
    dimensions = list(dict.fromkeys((*found.mentioned, *found.breakdown)))
    if not measures and (ranked or not found.mentioned):
        measures = list(vocabulary.sources[source].measures)[: _how_many(found)]
    arguments: dict[str, Any] = {"source": source}
    if measures:
        arguments["measures"] = measures
    if dimensions:
        arguments["dimensions"] = dimensions
    if found.filters:
        arguments["filters"] = found.filters
    if ranked and dimensions:
        by = (found.ordered_by or measures)[0]
        arguments["order"] = [f"-{by}" if ranked == "most" else by]
    elif found.ordered_by:
        arguments["order"] = found.ordered_by
    if dimensions and (count := _count(found, ranked)) is not None:
        arguments["limit"] = count
    return Call(QUERY, arguments)


def _how_many(found: Grounding) -> int | None:
    """How many measures are meant where none is named: "how much" asks for the first one."""
    return 1 if "how much" in found.cues else None


def _rank(found: Grounding) -> str:
    return next((cue for cue in ("most", "least") if cue in found.cues), "")


def _count(found: Grounding, ranked: str) -> int | None:
    """How many rows: "which company has the largest" asks for one."""
    if found.count is not None:
        return found.count
    return 1 if ranked and found.is_singular else None


def _ambiguous(found: Grounding) -> str:
    """What may name a measure that no source has: "compare the documents"."""
    doubtful = [word for word in found.row_words if word.lower() not in _ROW_WORDS]
    if doubtful and not found.measures:
        return f"I did not understand: {', '.join(doubtful)}."
    return ""


def _is_listing(found: Grounding) -> bool:
    named = (found.sources, found.said_sources, found.measures, found.filters, found.breakdown)
    return "list" in found.cues and not any(named)


def _unlike_any(sources: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    return [
        name
        for name in sources
        if name not in vocabulary.sources
        and not any(is_like(name, known) for known in vocabulary.sources)
    ]


def _shared_measures(sources: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    """The measures that all of the known sources have, for a question that names none."""
    known = [vocabulary.sources[name] for name in sources if name in vocabulary.sources]
    if not known:
        known = list(vocabulary.sources.values())
    return [name for name in known[0].measures if all(name in other.measures for other in known)]
