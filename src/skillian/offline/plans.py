"""From what a question says, and the conversation, to the call that answers it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from skillian.offline.calls import (
    EDITS,
    Plan,
    PlannedCall,
    UnclearError,
    call_of,
    check_names,
    check_requests,
    check_units,
    order_of,
    reading_of,
)
from skillian.offline.changes import changed
from skillian.offline.earlier import COMPARE, QUERY, Earlier
from skillian.offline.language.said import Reading
from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.looks import look_into, wanted_look
from skillian.offline.offers import near_names
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
    is_described = "describe" in reading.says and "missing" not in reading.says
    is_new = is_described or (reading.measures and reading.sources)
    if look and known is not None and set(reading.sources) <= set(known.sources) and not is_new:
        return look_into(look, reading, known, earlier.page, vocabulary)
    if len(reading.sources) == _PAIR:
        before = known.arguments.get("measures") if known else None
        is_edit = {*reading.sources} == {*known.sources} if known else False
        if before and not reading.measures and (is_edit or reading.says.keys() & EDITS):
            raise UnclearError(f"{' and '.join(before)} again? Ask it in full.")
        return _comparison(reading, vocabulary)
    if look and not (look == "drill" and reading.sources):
        raise UnclearError("That needs a comparison first: name two sources and a measure.")
    last = earlier.last
    if last is not None and _is_change(reading, last):
        whole = changed(reading, last, vocabulary)
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
    near = near_names(text, vocabulary)
    return f"{text} (do you mean {' or '.join(near)}?)" if near else text


def _comparison(reading: Reading, vocabulary: Vocabulary) -> PlannedCall:
    """The comparison of two sources: of measures, or of whole rows if they have none in common."""
    for name in reading.sources:
        check_names(reading, name, vocabulary)
    a, b = reversed(reading.sources) if "swap" in reading.says else reading.sources
    measures, usable = reading.measures or _default_measures(reading, vocabulary), {"rows"}
    if measures:
        is_ranked = reading.direction or reading.count
        if reading.ordered_by:
            raise UnclearError(
                "A comparison lists the largest difference first, in no other order."
            )
        if reading.direction == "least" or (is_ranked and "gap" not in reading.says):
            raise UnclearError("The largest what? A comparison ranks differences.")
        if ("drill", "condition") in pairwise(name for name, _ in reading.parts):
            raise UnclearError("Ask for the rows of one group after the comparison.")
        usable = {"rows"} if {"why", "drill"} & reading.says.keys() else set[str]()
        usable |= {"why", "drill", "missing", "major", "minor", "swap"}
        check_units(reading, measures, vocabulary)
    elif "how_many" in reading.says or "how_much" in reading.says:
        raise UnclearError("Which measure should be compared?")
    elif reading.names_data - {"filters"}:
        pair = f"{a} and {b}"
        raise UnclearError(
            f"{pair} have no common measure; only their rows can be compared: compare {pair}"
        )
    check_requests(reading, usable)
    groups = reading.named if measures else []
    whole = replace(reading, sources=[a, b], measures=measures, breakdown=groups, members=[])
    return call_of(COMPARE, replace(whole, ordered_by=[], count=None))


def _is_change(reading: Reading, last: ToolCall) -> bool:
    """Whether a question is about the last one."""
    if not reading.sources:
        return True
    says, source = reading.says.keys(), reading.sources[0]
    if reading.measures and "and" in says and _leaves_out(reading, last):
        raise UnclearError("With the conditions of the last question, or without? Ask it in full.")
    if reading.measures or reading.ordered_by or "describe" in says or _counts_rows(reading):
        return False
    is_edit = bool(says & EDITS) or says <= _ONLY_A_SOURCE or reading.is_comparison
    if last.name != QUERY or not is_edit or "also" in says:
        raise UnclearError(f"Which measure of {source}? Ask it as a question of its own.")
    return True


def _leaves_out(reading: Reading, last: ToolCall) -> bool:
    """Whether a question lacks groups, conditions or the number of rows of the last one."""
    before = reading_of(last.arguments)
    names = {*before.breakdown, *before.filters}
    return not names <= {*reading.named, *reading.filters} or bool(
        before.count and not reading.count
    )


def _of_one(reading: Reading, vocabulary: Vocabulary) -> PlannedCall:
    """The call of a question that stands alone: about one source, or about the only possible."""
    says = reading.says.keys()
    if not reading.sources:
        names = {*reading.measures, *(name.removeprefix("-") for name in reading.ordered_by)}
        having = vocabulary.with_measures(names) if names else []
        if len(having) != 1:
            raise UnclearError(f"Of which source? {' or '.join(having)}" if having else "")
        reading = replace(reading, sources=having)
        several = list[str]()
    elif "describe" in says and not (reading.names_data or reading.members):
        return PlannedCall("describe_source", {"source": reading.sources[0]})
    else:  # "compare Germany and France in erp"
        values = {n: v for n, v in reading.filters.items() if n not in vocabulary.timed}
        several = [name for name, value in values.items() if isinstance(value, list)]
    if reading.is_comparison and ("compare" not in says or not several):
        raise UnclearError("Which other source should it be compared with?")
    if reading.is_comparison:
        reading = replace(reading, breakdown=[*reading.breakdown, *several])
    return _query(reading, vocabulary)


def _query(reading: Reading, vocabulary: Vocabulary) -> PlannedCall:
    source, says, dimensions = reading.sources[0], reading.says.keys(), reading.named
    check_names(reading, source, vocabulary)
    if reading.thresholds:
        raise UnclearError("A tolerance is for comparing two sources.")
    if says & {"missing", "swap", "drill", "why"}:
        raise UnclearError("That needs a comparison: name two sources and a measure.")
    check_requests(reading, {"rows"})
    named = {name.removeprefix("-") for name in reading.ordered_by}
    ordered = [name for name in named if name in vocabulary.sources[source].measures]
    strange = named - {*ordered, *dimensions}
    if strange:
        raise UnclearError(f"It is not by {' and '.join(strange)}.")
    measures = reading.measures
    is_several = reading.members and reading.breakdown and not ordered
    if not measures and (reading.direction or not reading.members or is_several):
        is_answer = is_several or says & EDITS  # "and in erp?" after one that was not answered
        measures = [] if is_answer else ordered or _default_measures(reading, vocabulary)
        is_measured = not dimensions or says & {"how_many", "how_much"}
        if not measures and (is_answer or is_measured):
            raise UnclearError("Which measure? Name one.")
    is_ranked = reading.direction or reading.count or reading.ordered_by
    if is_ranked and not dimensions:
        raise UnclearError("The largest what? Name a dimension.")
    check_units(reading, measures, vocabulary)
    is_single = reading.direction and reading.members
    if is_single and {*dimensions} - {*reading.members}:
        raise UnclearError(f"The largest in all, or for each {reading.breakdown[0]}?")
    whole = replace(
        reading,
        sources=[source],
        measures=list(dict.fromkeys((*measures, *ordered))),
        ordered_by=order_of(reading, measures),
        count=reading.count or (1 if is_single and reading.is_singular else None),
    )
    return call_of(QUERY, whole)


def _default_measures(reading: Reading, vocabulary: Vocabulary) -> list[str]:
    """The measures of a question that names none: those that all of its sources have.

    "How much" asks for an amount, the only one other than counts; "how many flights", where flights
    is a source, for its number of rows, which is not compared unless it is named.
    """
    first, *others = (vocabulary.sources[name].measures for name in reading.sources)
    shared = [name for name in first if all(name in each for each in others)]
    if _counts_rows(reading):
        return vocabulary.rows_of(reading.sources[0])
    if not {"how_much", "how_many"} & reading.says.keys():
        return [] if others and shared == vocabulary.rows_of(reading.sources[0]) else shared
    counts = {
        name
        for name in shared
        for phrase in first[name]
        if "count" in phrase.split() or phrase.startswith("number of")
    }
    asked = [name for name in shared if (name in counts) == ("how_many" in reading.says)]
    return asked if len(asked) == 1 else []


def _counts_rows(reading: Reading) -> bool:
    """Whether it is "how many flights" or "the most flights", where flights are a source."""
    pairs = [*pairwise(name for name, _ in reading.parts)]
    is_most = bool({"most", "fewest"} & {reading.says.get("most"), reading.says.get("least")})
    is_asked = "how_many" in reading.says and ("asked", "source") in pairs
    return is_asked or (is_most and ("ranked", "source") in pairs)
