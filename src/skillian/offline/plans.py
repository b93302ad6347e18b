"""From what a question says, and the conversation, to the call that answers it."""

from __future__ import annotations

from dataclasses import replace

from skillian.offline.calls import (
    EDITS,
    Plan,
    PlannedCall,
    UnclearError,
    check_names,
    check_requests,
    check_units,
    order_of,
    without_empty,
)
from skillian.offline.changes import changed
from skillian.offline.earlier import COMPARE, QUERY, Earlier
from skillian.offline.language.clauses import Reading
from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.looks import look_into, wanted_look
from skillian.offline.offers import near_name
from tinyagent import ToolCall

_PAIR = 2


_ONLY_A_SOURCE = {"source", "prep", "from", "show"}


def plan(reading: Reading, earlier: Earlier, vocabulary: Vocabulary) -> Plan:
    """The call that answers a question, or why there is none."""
    try:
        return _planned(reading, earlier, vocabulary)
    except UnclearError as error:
        return str(error)


def _planned(reading: Reading, earlier: Earlier, vocabulary: Vocabulary) -> PlannedCall:
    _check(reading, vocabulary)
    if "list" in reading.says and not (reading.sources or reading.names_data or reading.members):
        return PlannedCall("list_sources", {})
    look = wanted_look(reading)
    known = earlier.comparison
    is_new = "describe" in reading.says or (reading.measures and reading.sources)
    if look and known is not None and set(reading.sources) <= set(known.sources) and not is_new:
        return look_into(look, reading, known, earlier.page, vocabulary)
    if len(reading.sources) == _PAIR:
        before = known.arguments.get("measures") if known else None
        is_edit = {*reading.sources} == {*known.sources} if known else False
        if before and not reading.measures and (is_edit or reading.says.keys() & EDITS):
            raise UnclearError(f"{' and '.join(before)} again? Ask it in full.")
        return _comparison(reading, vocabulary)
    if look and not reading.sources:
        raise UnclearError("That needs a comparison first: name two sources and a measure.")
    last = earlier.last
    if last is None and not reading.sources:
        return _of_the_only_source(reading, vocabulary)
    if last is not None and _is_change(reading, last):
        whole = changed(reading, last)
        return (_query if len(whole.sources) == 1 else _comparison)(whole, vocabulary)
    return _of_one(reading, vocabulary)


def _check(reading: Reading, vocabulary: Vocabulary) -> None:
    if reading.unread:
        unread = ", ".join(_with_guess(text, vocabulary) for text in reading.unread)
        raise UnclearError(f"I did not understand: {unread}.")
    both = [name for name in reading.cleared if name in reading.filters]
    if both:
        raise UnclearError(f"All of {' and '.join(both)}, or only some?")
    if (reading.replaced or reading.removed) and reading.sources:
        raise UnclearError("Instead of what? Only the last question can be changed.")
    if len(reading.sources) > _PAIR:
        raise UnclearError("I compare two sources at a time.")


def _with_guess(text: str, vocabulary: Vocabulary) -> str:
    """A text that was not understood, with the name that it may mean."""
    near = near_name(text, vocabulary)
    return f"{text} (do you mean {near}?)" if near else text


def _comparison(reading: Reading, vocabulary: Vocabulary) -> PlannedCall:
    for name in reading.sources:
        check_names(reading, name, vocabulary)
    measures = reading.measures or _default_measures(reading, vocabulary)
    if not measures:
        return _comparison_of_rows(reading, vocabulary)
    if reading.ordered_by:
        raise UnclearError("A comparison lists the largest difference first, in no other order.")
    is_ranked = reading.direction or reading.count
    if reading.direction == "least" or (is_ranked and "gap" not in reading.says):
        raise UnclearError("The largest what? A comparison ranks differences.")
    check_requests(reading, {"why", "drill", "rows", "missing", "major", "minor", "swap"})
    check_units(reading, measures, vocabulary)
    sources = list(reversed(reading.sources)) if "swap" in reading.says else reading.sources
    arguments = {
        "source_a": sources[0],
        "source_b": sources[1],
        "measures": measures,
        "align_on": list(dict.fromkeys((*reading.breakdown, *reading.members))),
        "filters": reading.filters,
        "thresholds": reading.thresholds,
    }
    return PlannedCall(COMPARE, without_empty(arguments))


def _comparison_of_rows(reading: Reading, vocabulary: Vocabulary) -> PlannedCall:
    """The comparison of whole rows, of two sources without a common measure."""
    a, b = reading.sources
    if set(vocabulary.sources[a].measures) & set(vocabulary.sources[b].measures):
        raise UnclearError("Which measure should be compared?")
    if reading.names_data - {"filters"}:
        raise UnclearError(
            f"{a} and {b} have no common measure; only their rows can be compared:"
            f" compare {a} and {b}"
        )
    check_requests(reading, {"rows"})
    arguments = {"source_a": a, "source_b": b, "filters": reading.filters}
    return PlannedCall(COMPARE, without_empty(arguments))


def _is_change(reading: Reading, last: ToolCall) -> bool:
    """Whether a question is about the last one."""
    if not reading.sources:
        return True
    says, source = reading.says.keys(), reading.sources[0]
    if reading.measures or "describe" in says:
        return False
    is_edit = bool(says & EDITS) or says <= _ONLY_A_SOURCE or reading.is_comparison
    if last.name != QUERY or not is_edit or "also" in says:
        raise UnclearError(f"Which measure of {source}? Ask it as a question of its own.")
    return True


def _of_one(reading: Reading, vocabulary: Vocabulary) -> PlannedCall:
    source = reading.sources[0]
    if "describe" in reading.says and not (reading.names_data or reading.members):
        return PlannedCall("describe_source", {"source": source})
    if reading.is_comparison:
        several = [
            name
            for name, value in reading.filters.items()
            if isinstance(value, list) and name not in vocabulary.timed
        ]
        if "compare" not in reading.says or not several:
            raise UnclearError("Which other source should it be compared with?")
        reading = replace(reading, breakdown=[*reading.breakdown, *several])
    return _query(reading, vocabulary)


def _query(reading: Reading, vocabulary: Vocabulary) -> PlannedCall:
    source = reading.sources[0]
    check_names(reading, source, vocabulary)
    if reading.thresholds:
        raise UnclearError("A tolerance is for comparing two sources.")
    if reading.says.keys() & {"missing", "swap", "drill", "why"}:
        raise UnclearError("That needs a comparison: name two sources and a measure.")
    check_requests(reading, set())
    dimensions = list(dict.fromkeys((*reading.members, *reading.breakdown)))
    named = {name.removeprefix("-") for name in reading.ordered_by}
    ordered = [name for name in named if name in vocabulary.sources[source].measures]
    if named - {*ordered, *dimensions}:
        raise UnclearError(f"It is not by {' and '.join(named - {*ordered, *dimensions})}.")
    if reading.members and reading.breakdown and not (reading.measures or ordered):
        raise UnclearError("Which measure? Name one.")
    measures = list(reading.measures)
    if not measures and (reading.direction or not reading.members):
        if reading.says.keys() & EDITS:  # "and in erp?" after a question that was not answered
            raise UnclearError("Which measure? Name one.")
        measures = ordered or _default_measures(reading, vocabulary)
    if not measures and not dimensions:
        raise UnclearError("Which measure? Name one.")
    if (reading.direction or reading.count or reading.ordered_by) and not dimensions:
        raise UnclearError("The largest what? Name a dimension.")
    check_units(reading, measures, vocabulary)
    if reading.direction and reading.members and set(dimensions) - {*reading.members}:
        raise UnclearError(f"The largest in all, or for each {reading.breakdown[0]}?")
    single = 1 if reading.direction and reading.is_singular and reading.members else None
    arguments = {
        "source": source,
        "measures": list(dict.fromkeys((*measures, *ordered))),
        "dimensions": dimensions,
        "filters": reading.filters,
        "order": order_of(reading, measures),
        "limit": reading.count or single,
    }
    return PlannedCall(QUERY, without_empty(arguments))


def _of_the_only_source(reading: Reading, vocabulary: Vocabulary) -> PlannedCall:
    """The query of the only source that has the measures of a question that names none."""
    measures = {*reading.measures, *(name.removeprefix("-") for name in reading.ordered_by)}
    having = [
        name
        for name, words in vocabulary.sources.items()
        if measures and measures <= words.measures.keys()
    ]
    if len(having) != 1:
        raise UnclearError(f"Of which source? {' or '.join(having)}" if having else "")
    if reading.says.keys() & {"compare", "gap"}:
        raise UnclearError("Which other source should it be compared with?")
    return _query(replace(reading, sources=having), vocabulary)


def _default_measures(reading: Reading, vocabulary: Vocabulary) -> list[str]:
    """The measures of a question that names none: those that all of its sources have.

    "How much" asks for an amount: for the only one other than counts.
    """
    known = [vocabulary.sources[name] for name in reading.sources if name in vocabulary.sources]
    shared = [name for name in known[0].measures if all(name in each.measures for each in known)]
    if not {"how_much", "how_many"} & reading.says.keys():
        return shared
    counts = {
        name
        for name in shared
        if any(
            "count" in phrase.split() or phrase.startswith("number of")
            for phrase in known[0].measures[name]
        )
    }
    asked = [name for name in shared if (name in counts) == ("how_many" in reading.says)]
    return asked if len(asked) == 1 else []
