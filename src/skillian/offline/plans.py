"""From what a question says, and the conversation, to the call that answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rapidfuzz import fuzz, process, utils

from skillian.offline.earlier import COMPARE, QUERY, ROWS, Earlier, PastComparison
from skillian.offline.reading import Reading
from skillian.offline.vocabulary import Vocabulary, plain

_PAIR = 2
_PAGE = 20
_MOST_ROWS = 100
_REQUESTS = {"why", "drill", "missing", "major", "minor", "equal", "more", "swap", "describe"}
_CLASSES = {"major": "major_diff", "minor": "minor_diff", "equal": "match"}


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
_ONLY_A_SOURCE = {"source", "prep", "article", "from"}


def plan(reading: Reading, earlier: Earlier, vocabulary: Vocabulary) -> Plan:
    """Return the call that answers a question, or why there is none."""
    try:
        return _planned(reading, earlier, vocabulary)
    except _UnclearError as error:
        return NotUnderstood(str(error))


class _UnclearError(Exception):
    """Why there is no call, as a sentence."""


def _planned(reading: Reading, earlier: Earlier, vocabulary: Vocabulary) -> PlannedCall:
    _check(reading, vocabulary)
    if "list" in reading.says and not (reading.sources or reading.names_data or reading.members):
        return PlannedCall("list_sources", {})
    look = wanted_look(reading)
    known = earlier.comparison
    is_new = "describe" in reading.says or (reading.measures and reading.sources)
    if look and known is not None and set(reading.sources) <= set(known.sources) and not is_new:
        return _look_into(look, reading, known, earlier)
    if len(reading.sources) == _PAIR:
        return _comparison(reading, vocabulary)
    if look and not reading.sources:
        raise _UnclearError("That needs a comparison first: name two sources and a measure.")
    if reading.sources:
        return _of_one(reading, earlier, vocabulary)
    return _changed(reading, earlier)


def _check(reading: Reading, vocabulary: Vocabulary) -> None:
    if reading.unread:
        unread = ", ".join(_with_guess(text, vocabulary) for text in reading.unread)
        raise _UnclearError(f"I did not understand: {unread}.")
    both = [name for name in reading.cleared if name in reading.filters]
    if both:
        raise _UnclearError(f"All of {' and '.join(both)}, or only some?")
    if len(reading.sources) > _PAIR:
        raise _UnclearError("I compare two sources at a time.")


def _with_guess(text: str, vocabulary: Vocabulary) -> str:
    """Return a text that was not understood, with the name that it may mean."""
    names = [*vocabulary.sources, *vocabulary.measures, *vocabulary.dimensions]
    process_of = utils.default_process
    near = process.extractOne(text, names, scorer=fuzz.ratio, processor=process_of, score_cutoff=75)
    return f"{text} (do you mean {near[0]}?)" if near and not _is_same(near[0], text) else text


def _is_same(name: str, text: str) -> bool:
    return "(" in text or plain(name) in plain(text)


def wanted_look(reading: Reading) -> str:
    """Return how a question looks into a comparison: explain, drill or rows; or an empty text."""
    says = reading.says
    if "why" in says:
        return "drill" if "rows" in says else "explain"
    has_class = says & {"missing", "major", "minor", "equal", "more"} and not reading.thresholds
    if "drill" in says or ("rows" in says and not (has_class or reading.measures)):
        return "drill"
    is_listed = says & {"gap"} and (reading.direction or {"which", "show"} & says)
    if has_class and not ("equal" in says and reading.sources):
        return "rows"
    is_of_last = not (reading.sources or reading.measures or reading.filters or reading.thresholds)
    return "rows" if (is_listed and is_of_last and not reading.breakdown) else ""


def _look_into(look: str, reading: Reading, known: PastComparison, earlier: Earlier) -> PlannedCall:
    said = _of_another(look, reading, known)
    if said:
        raise _UnclearError(f"The last comparison has no {said}; compare again with it first.")
    if look == "explain":
        finer = [*reading.breakdown, *reading.members]
        more = {"dimensions": finer} if finer else {}
        return PlannedCall("explain_difference", {"cache_key": known.cache_key, **more})
    if look == "drill":
        return _drill(reading, known)
    return _rows(reading, known, earlier)


def _of_another(look: str, reading: Reading, known: PastComparison) -> str:
    """Return what the question names that a look into this comparison would drop."""
    filters = known.arguments.get("filters", {})
    other = [n for n, value in reading.filters.items() if filters.get(n) != value]
    measures = set(reading.measures) - set(known.arguments.get("measures") or ())
    if reading.thresholds or reading.cleared:
        return "such limits or conditions"
    if (measures and look != "drill") or (look != "drill" and other):
        return " or ".join([*sorted(measures), *other])
    if reading.breakdown and look != "explain":
        return f"group by {' and '.join(reading.breakdown)}"
    return ""


def _drill(reading: Reading, known: PastComparison) -> PlannedCall:
    key = _group(reading, known)
    if key is None:
        named = ", ".join(map(str, reading.filters.values())) or "which one"
        raise _UnclearError(f"The last comparison has no single group for {named}.")
    limit = {"limit": min(reading.count, _MOST_ROWS)} if reading.count is not None else {}
    return PlannedCall("drill_down", {"cache_key": known.cache_key, "key": key, **limit})


def _group(reading: Reading, known: PastComparison) -> dict[str, Any] | None:
    """Return the named group, or the first known group that matches the filters."""
    members = {name: value for name, value in reading.filters.items() if isinstance(value, str)}
    if len(members) < len(reading.filters):
        return None
    names = known.arguments.get("align_on") or list(known.keys[0] if known.keys else members)
    before = known.arguments.get("filters", {})
    fixed = {name: value for name, value in before.items() if isinstance(value, str)}
    if any(name not in names and fixed.get(name) != value for name, value in members.items()):
        return None
    whole = {name: members.get(name, fixed.get(name)) for name in names}
    if members and all(value is not None for value in whole.values()):
        return whole
    wanted = {name: value for name, value in members.items() if name in names}
    fitting = [
        key
        for key in known.keys
        if all(str(key.get(name)) == str(value) for name, value in wanted.items())
    ]
    return dict(fitting[reading.ordinal]) if reading.ordinal < len(fitting) else None


def _rows(reading: Reading, known: PastComparison, earlier: Earlier) -> PlannedCall:
    if "more" in reading.says and earlier.page is not None:
        before = earlier.page.arguments
        offset = int(before.get("offset", 0)) + int(before.get("limit", _PAGE))
        return PlannedCall(ROWS, {**before, "offset": offset})
    status = [_CLASSES[kind] for kind in _CLASSES if kind in reading.says]
    if "missing" in reading.says:
        status += _missing(reading, known.sources)
    arguments: dict[str, Any] = {"cache_key": known.cache_key}
    if status:
        arguments["status"] = status[0] if len(status) == 1 else status
    if reading.count is not None:
        arguments["limit"] = min(reading.count, _MOST_ROWS)
    if reading.direction == "least":
        raise _UnclearError("Groups are listed with the largest difference first.")
    return PlannedCall(ROWS, arguments)


def _missing(reading: Reading, sources: tuple[str, str]) -> list[str]:
    lacking = reading.lacking
    if reading.only_in in sources:
        lacking = sources[1 - sources.index(reading.only_in)]
    elif not lacking and len(reading.sources) == 1:
        lacking = reading.sources[0]
    if lacking not in sources:
        return ["missing_in_a", "missing_in_b"]
    return ["missing_in_a" if sources.index(lacking) == 0 else "missing_in_b"]


def _comparison(reading: Reading, vocabulary: Vocabulary) -> PlannedCall:
    measures = reading.measures or _default_measures(reading, vocabulary)
    if not measures:
        raise _UnclearError("Which measure should be compared?")
    if reading.ordered_by:
        raise _UnclearError("A comparison lists the largest difference first, in no other order.")
    is_ranked = reading.direction or reading.count
    if reading.direction == "least" or (is_ranked and "gap" not in reading.says):
        raise _UnclearError("The largest what? A comparison ranks differences.")
    _check_requests(reading, {"why", "drill", "rows", "missing", "major", "minor", "swap"})
    sources = list(reversed(reading.sources)) if "swap" in reading.says else reading.sources
    arguments = {
        "source_a": sources[0],
        "source_b": sources[1],
        "measures": measures,
        "align_on": list(dict.fromkeys((*reading.breakdown, *reading.members))),
        "filters": reading.filters,
        "thresholds": reading.thresholds,
    }
    return PlannedCall(COMPARE, _without_empty(arguments))


def _check_requests(reading: Reading, usable: set[str]) -> None:
    """Refuse a question that also asks for what its call cannot do."""
    asked = (_REQUESTS & reading.says) - usable
    if "ordinal" in reading.says and wanted_look(reading) != "drill":
        asked.add("ordinal")
    if asked:
        words = ", ".join(sorted(asked))
        raise _UnclearError(f"I did not understand: {words}. Ask it as a question of its own.")


def _of_one(reading: Reading, earlier: Earlier, vocabulary: Vocabulary) -> PlannedCall:
    source, last = reading.sources[0], earlier.last
    if last is not None and last.name == QUERY and source != last.arguments["source"]:
        is_same = "same" in reading.says or reading.says <= _ONLY_A_SOURCE
        is_new = reading.measures or reading.members or not is_same
        if "compare" in reading.says:
            return _compared_with(reading, last.arguments, source)
        if not is_new or (reading.says & {"and"} and not reading.measures):
            is_changed = reading.names_data or reading.members
            same = _changed(reading, earlier).arguments if is_changed else last.arguments
            return PlannedCall(QUERY, {**same, "source": source})
    if "describe" in reading.says and not (reading.names_data or reading.members):
        return PlannedCall("describe_source", {"source": source})
    several = [name for name, value in reading.filters.items() if isinstance(value, list)]
    if "gap" in reading.says or ("compare" in reading.says and not several + reading.breakdown):
        raise _UnclearError("Which other source should it be compared with?")
    groups = several if "compare" in reading.says else []
    return _query(reading, source, groups, vocabulary)


def _compared_with(reading: Reading, last: Mapping[str, Any], source: str) -> PlannedCall:
    arguments = {
        "source_a": last["source"],
        "source_b": source,
        "measures": reading.measures or last.get("measures"),
        "align_on": reading.breakdown or last.get("dimensions"),
        "filters": {**last.get("filters", {}), **reading.filters},
        "thresholds": reading.thresholds,
    }
    return PlannedCall(COMPARE, _without_empty(arguments))


def _query(
    reading: Reading, source: str, compared: Sequence[str], vocabulary: Vocabulary
) -> PlannedCall:
    if reading.thresholds:
        raise _UnclearError("A tolerance is for comparing two sources.")
    if reading.says & {"missing", "swap", "drill", "why"}:
        raise _UnclearError("That needs a comparison: name two sources and a measure.")
    _check_requests(reading, set())
    dimensions = list(dict.fromkeys((*reading.members, *reading.breakdown, *compared)))
    ordered = [name.removeprefix("-") for name in reading.ordered_by]
    measures = list(reading.measures)
    if not measures and (reading.direction or not reading.members):
        measures = ordered or _default_measures(reading, vocabulary)
    if not measures and not dimensions:
        raise _UnclearError("Which measure? Name one.")
    if (reading.direction or reading.count) and not dimensions:
        raise _UnclearError("The largest what? Name a dimension.")
    if reading.direction and reading.members and set(dimensions) - {*reading.members}:
        raise _UnclearError(f"The largest in all, or for each {reading.breakdown[0]}?")
    single = 1 if reading.direction and reading.is_singular and reading.members else None
    arguments = {
        "source": source,
        "measures": list(dict.fromkeys((*measures, *ordered))),
        "dimensions": dimensions,
        "filters": reading.filters,
        "order": _order(reading, measures),
        "limit": reading.count or single,
    }
    return PlannedCall(QUERY, _without_empty(arguments))


def _order(reading: Reading, measures: Sequence[str]) -> list[str]:
    """Return the order of a query's rows: by the measure that the question names for it."""
    if not reading.direction:
        return reading.ordered_by
    if len(measures) > 1 and not reading.ordered_by:
        raise _UnclearError("The largest by which measure?")
    by = (reading.ordered_by or measures)[0]
    return [f"-{by}" if reading.direction == "most" else by]


def _changed(reading: Reading, earlier: Earlier) -> PlannedCall:
    """Return the last call with the parts replaced that the question names."""
    last = earlier.last
    if last is None or not (
        reading.names_data or reading.members or reading.says & {"same", "swap"}
    ):
        raise _UnclearError
    _check_requests(reading, {"swap"})
    arguments = dict(last.arguments)
    if reading.measures:
        arguments["measures"] = reading.measures
    filters = {**arguments.pop("filters", {}), **reading.filters}
    arguments["filters"] = {n: value for n, value in filters.items() if n not in reading.cleared}
    _change_groups(arguments, reading, "align_on" if last.name == COMPARE else "dimensions")
    if last.name != COMPARE:
        return _changed_query(arguments, reading)
    if reading.direction or reading.count or reading.ordered_by:
        raise _UnclearError("The largest what? A comparison ranks differences.")
    if "swap" in reading.says:
        a, b = arguments["source_a"], arguments["source_b"]
        arguments |= {"source_a": b, "source_b": a}
    if reading.thresholds:
        arguments["thresholds"] = {**arguments.get("thresholds", {}), **reading.thresholds}
    return PlannedCall(COMPARE, _without_empty(arguments))


def _change_groups(arguments: dict[str, Any], reading: Reading, argument: str) -> None:
    groups = [*reading.members, *reading.breakdown]
    if groups:
        before: list[str] = arguments.get(argument) or []
        added = [name for name in groups if name not in before]
        arguments[argument] = [*before, *added] if "too" in reading.says else groups


def _changed_query(arguments: dict[str, Any], reading: Reading) -> PlannedCall:
    if reading.thresholds or "swap" in reading.says:
        raise _UnclearError("A tolerance is for comparing two sources.")
    measures: list[str] = arguments.get("measures") or []
    dimensions: list[str] = arguments.get("dimensions") or []
    if reading.direction and not (measures and dimensions):
        raise _UnclearError("The largest what? Name a measure and a dimension.")
    order = _order(reading, measures) or arguments.get("order") or []
    known = {*measures, *dimensions}
    arguments["order"] = [name for name in order if name.removeprefix("-") in known]
    if reading.ordered_by and not arguments["order"]:
        raise _UnclearError("The last answer has no such measure to order by.")
    if reading.count:
        arguments["limit"] = reading.count
    return PlannedCall(QUERY, _without_empty(arguments))


def _without_empty(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value}


def _default_measures(reading: Reading, vocabulary: Vocabulary) -> list[str]:
    """Return the measures of a question that names none: those that all of its sources have.

    "How much" asks for an amount: for the only one other than counts.
    """
    known = [vocabulary.sources[name] for name in reading.sources if name in vocabulary.sources]
    shared = [name for name in known[0].measures if all(name in each.measures for each in known)]
    if not {"how_much", "how_many"} & reading.says:
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
