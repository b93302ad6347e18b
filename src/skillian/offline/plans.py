"""From what a question says, and the conversation, to the call that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skillian.offline.calls import Plan, PlannedCall, call_of
from skillian.offline.earlier import COMPARE, QUERY, ROWS, Earlier
from skillian.offline.language.clauses import Reading, UnclearError, refuse
from skillian.offline.language.filters import BOUNDS, Parts, as_mapping, both, filter_of, parts_of
from skillian.offline.language.lexicon import LEXICON
from skillian.offline.language.periods import period_of
from skillian.offline.language.vocabulary import Vocabulary, plain, spaced
from skillian.offline.looks import LOOKS, look

_EDITS = {"and", "also", "edit", "instead", "swap", "amended", "removed", "replaced", "recounted"}
_BESIDE = {"said", "sources", "edit", "limit", "groups", "eq", "ne", "range", "bound"}
"""Clauses that may be added where the last query is compared with another source."""
_COMPARED = {"compare", "same", "off", "gap"}
_CURRENCIES = {"euro": "eur", "€": "eur", "dollar": "usd", "$": "usd", "pound": "gbp", "£": "gbp"}
_MONEY = {*map(plain, LEXICON["currency"]), *LEXICON["currency"]}
_PAIR, _PAGE = 2, 20
_NO_COMPARISON = "That needs a comparison first: name two sources and a measure."
_ALIKE_DAYS = 3


def plan(reading: Reading, earlier: Earlier, vocabulary: Vocabulary) -> Plan:
    """The call that answers a question, or why there is none."""
    try:
        refuse((reading.unread, f"I did not understand: {', '.join(reading.unread)}."))
        return _planned(reading, earlier, vocabulary)
    except UnclearError as error:
        return str(error)


def _planned(reading: Reading, earlier: Earlier, vocabulary: Vocabulary) -> PlannedCall:
    says, sources = {*reading.says, *reading.clauses}, reading.sources
    last, known = earlier.last, earlier.comparison
    if (listed := _listed(reading, earlier)) is not None:
        return listed
    is_ranked = "gap" in says and reading.sign is not None
    is_drill = says >= {"look", "rows", "eq"} or says == {"look", "rows"}
    is_shown = says == {"said", "gap"} or says >= {"which", "compare"}
    is_look = says & LOOKS or is_ranked or (is_drill and "measures" not in says) or is_shown
    is_of_pair = known is not None and not reading.measures and {*sources} <= {*known.sources}
    is_of_pair &= bool(says & {"missing", "lacking", "only_in", "why"})
    if known is not None and is_look and (not sources or is_of_pair):
        return look(reading, known, vocabulary)
    refuse(
        ("unlike" in says, "I did not understand what not to compare."),
        ("ordinal" in says, "Only the largest ones can be listed."),
    )
    if last is not None and (change := _change_in(reading, last.arguments)) is not None:
        return _call(_changed(change, last.arguments, vocabulary), vocabulary)
    named = [*reading.measures, *reading.ordered]
    if not named and any(token.kind == "all" and not token.prep for token in reading.tokens):
        reading = replace(reading, members=[*reading.members, *reading.cleared])  # "all plants"
    having = sources or (vocabulary.with_measures(named) if named else [])
    sources = having if "pair" in says and len(having) == _PAIR else sources
    is_of_result = says & LOOKS - ({"why"} if len(sources) == _PAIR else set[str]())
    is_compared = says & _COMPARED
    stated = [name for token in reading.tokens if token.kind == "dimension" for name in token.names]
    dimensions = " and ".join(dict.fromkeys((*stated, *reading.filters)))
    refuse(
        (says & {"list", "describe"}, "Ask for the sources alone."),
        ("rows" in says and not says & {"listed", "compare"}, "Which rows?"),
        ("filter" in says, f"Which conditions: {reading.says.get('filter')}?"),
        (is_of_result, _NO_COMPARISON),
        (says & _EDITS or (last and "of_noun" in says), "Only the last question can be changed."),
        (last and not (named or says & {"members", "counted"}), "Which measure? Ask it in full."),
        (not having and dimensions, f"{dimensions} of what? Name a measure or a source, too."),
        (not having, ""),
        (len(having) != 1 and not sources, f"Of which source? {' or '.join(having)}"),
        (len(sources) == _PAIR and not (named or is_compared), "Which measure?"),
        (reading.clauses.count("sources") > 1 and not is_compared, "Shall I compare them?"),
        (len(sources) > _PAIR, "I compare two sources at a time."),
    )
    return _call(replace(reading, sources=having), vocabulary)


def _listed(reading: Reading, earlier: Earlier) -> PlannedCall | None:
    """The call that lists the sources, describes one, or shows more of the last rows."""
    says, page = {*reading.says, *reading.clauses}, earlier.page
    if says == {"list", "look"}:
        return PlannedCall("list_sources", {})
    if says == {"describe", "look", "source", "sources"} and len(reading.sources) == 1:
        return PlannedCall("describe_source", {"source": reading.sources[0]})
    if page is None or "next" not in says or not says <= {"look", "next", "edit", "and"}:
        return None
    last = page.arguments
    offset = int(last.get("offset", 0)) + int(last.get("limit", _PAGE))
    return PlannedCall(ROWS, {**last, "offset": offset})


def _change_in(reading: Reading, last: Mapping[str, Any]) -> Reading | None:
    """What a question changes in the last call; None if it is a question of its own."""
    before, sources, clauses = str(last.get("source", "")), reading.sources, {*reading.clauses}
    allowed = _BESIDE if "edit" in reading.says else {"sources", "edit"}
    is_other = len(sources) == 1 and clauses <= allowed and "also" not in reading.says
    is_other &= reading.says.keys().isdisjoint(_COMPARED)
    if not sources or is_other:
        return reading
    sources = [*dict.fromkeys((*sources, before) if before in sources else (before, *sources))]
    is_beside = "compare" in reading.says and before != "" and len(sources) == _PAIR
    if not is_beside or clauses - _BESIDE:
        return None
    says = {kind: text for kind, text in reading.says.items() if kind != "compare"}
    return replace(reading, says=says, sources=sources)  # "compare it with erp"


def _call(reading: Reading, vocabulary: Vocabulary) -> PlannedCall:
    """The call of a question in full."""
    says, sources, ordered = {*reading.says}, reading.sources, reading.ordered
    known = [vocabulary.sources[name] for name in sources]
    shared = [name for name in known[0].measures if all(name in each.measures for each in known)]
    names = {*reading.measures, *reading.named, *reading.filters}
    for source, words in zip(sources, known, strict=True):
        lost = names - words.measures.keys() - words.dimensions.keys()
        refuse((lost, f"{source} has no {' and '.join(sorted(lost))}."))
    rows = [name for name in shared if plain(name) == "row"]
    is_counted = "counted" in reading.clauses
    measures = reading.measures or (rows if is_counted else [])
    is_asked = says & {"how_many", "how_much"} and not (measures or ordered)
    is_pair, is_ranked = len(sources) == _PAIR, reading.sign is not None or reading.count
    if not measures and (is_pair or reading.sign is not None or not reading.members):
        measures = [name for name in ordered if name in shared] or shared
    measures = list(dict.fromkeys((*measures, *(name for name in ordered if name in shared))))
    if is_pair and measures == rows and not (reading.measures or ordered or is_counted):
        measures = []  # their whole rows are compared
    is_rows = is_pair and measures and measures == rows
    sign = "-" if "rank" in says and reading.sign is None else reading.sign
    order = (ordered or measures) if sign is not None or ordered else []
    is_empty = not (is_pair or measures or reading.members)
    refuse(
        (is_empty, f"{sources[0]} has no measure. List a dimension, or: Describe {sources[0]}."),
        ({*reading.cleared} & {*reading.filters}, "All of them, or only some?"),
        ("every_measure" in says and (reading.measures or is_rows), "Which measures?"),
        (is_asked or (is_rows and not is_counted), "Which measure? Name one."),
        ("rows" in says and "first" not in says and measures, "Which measure?"),
        (not is_pair and (reading.limits or says & {*_COMPARED, "why"}), "Compared with what?"),
        (is_pair and (ordered or sign == ""), "A comparison lists the largest difference first."),
        (is_pair and is_ranked and "gap" not in says, "A comparison ranks differences."),
        ({*ordered} - {*shared, *reading.named}, "It cannot be sorted by that."),
        ((order or reading.count) and not reading.named, "The largest what? Name a dimension."),
        (order and reading.members and reading.groups, "The largest overall, or for each?"),
        (not measures and (reading.groups or reading.limits), "Which measure? Name one."),
        (sign is not None and len(order) != 1 and not is_pair, "The largest by which measure?"),
    )
    for name in measures:
        _check_units(reading, name, vocabulary)
    filters = {name: filter_of(parts) for name, parts in reading.filters.items()}
    if is_pair:
        a, b = reversed(sources) if "swap" in says else sources
        limits = {"match": reading.limits} if reading.limits else {}
        pair = {"source_a": a, "source_b": b, "measures": measures, "align_on": reading.named}
        return call_of(COMPARE, **pair, filters=filters, thresholds=limits)
    count = reading.count or int(bool(sign is not None and reading.members and reading.is_singular))
    asked = {"source": sources[0], "measures": measures, "dimensions": reading.named}
    order = [f"{sign or ''}{name}" for name in order]
    return call_of(QUERY, **asked, filters=filters, order=order, limit=count)


def _check_units(reading: Reading, measure: str, vocabulary: Vocabulary) -> None:
    """Refuse a unit that is not the one of a measure, and to count money."""
    known = vocabulary.units.get(measure) or {*spaced(measure).split()} & {*_MONEY, "kg", "hour"}
    known = {_CURRENCIES.get(unit, unit) for unit in known}
    refuse(("how_many" in reading.says and known & _MONEY, f"How much {measure}?"))
    for text in reading.units:
        unit = _CURRENCIES.get(plain(text) or text, plain(text))
        is_own = unit in known or (unit == "cent" and known & _MONEY) or text == measure
        is_other = not is_own and (known or vocabulary.units)
        refuse((is_other, f"{text} is not the unit of {measure}."))


def _asked(last: Mapping[str, Any]) -> Reading:
    """What the arguments of a call say."""
    order = [str(name) for name in last.get("order") or ()]
    return Reading(
        sources=[str(last[n]) for n in ("source", "source_a", "source_b") if n in last],
        measures=list(last.get("measures") or ()),
        groups=list(last.get("align_on") or last.get("dimensions") or ()),
        filters={n: parts_of(each) for n, each in as_mapping(last.get("filters")).items()},
        limits=dict(as_mapping(as_mapping(last.get("thresholds")).get("match"))),
        count=last.get("limit"),
        ordered=[name.removeprefix("-") for name in order],
        sign=("-" if order[0].startswith("-") else "") if order else None,
    )


def _changed(reading: Reading, last: Mapping[str, Any], vocabulary: Vocabulary) -> Reading:
    """The last question with the parts changed that a question names."""
    before = _asked(last)
    reading = _recounted(reading, before)
    says, removed = {*reading.says, *reading.clauses}, {*reading.removed}
    replaced, stated = {*reading.replaced}, [each.get("eq", ()) for each in before.filters.values()]
    replaced = replaced or ({""} if "replaced" in says else replaced)
    known = {*before.measures, *before.groups}.union(*(of for of in stated if {*of} <= replaced))
    parts = (reading.measures, reading.named, reading.filters, reading.sources, reading.limits)
    measures = {*before.measures, *reading.measures}
    is_mixed = sum(map(bool, parts)) != 1 or says & {"only", "instead"}
    strange = removed - ({*before.measures, *before.groups, "tolerance"} - {*before.filters})
    is_amount = before.limits.get("absolute") and reading.measures and not reading.limits
    single = {n for n in reading.named if len(before.filters.get(n, {}).get("eq", ())) == 1}
    chosen = {name for name, parts in reading.filters.items() if {*parts} != {"ne"}}
    is_other = reading.named or chosen & {*before.groups} or reading.cleared
    is_new = {*reading.clauses} - {"said", "verb", "edit", "but"}
    is_ranked = reading.sign is not None
    is_extreme = "ranked" in reading.clauses and reading.count is None and not reading.members
    timed = {*before.filters, *reading.filters} & {*vocabulary.timed}
    refuse(
        (says & LOOKS, _NO_COMPARISON),
        (not is_new and "swap" not in says, ""),
        ("of_noun" in says, "Do you mean the measure?"),
        (says & (_COMPARED if "source" in last else {"compare", "off"}), "Compared with what?"),
        (reading.sources and "source" not in last, "Instead of which source?"),
        ("swap" in says and "source" in last, "There is one source."),
        (reading.sources == before.sources, "The last answer is about it already."),
        ("also" in says and is_mixed, "Added to the last question, or in place of it?"),
        (strange or removed >= measures, "That is not there to remove."),
        ("filter" in says and reading.filters and not reading.cleared, "All conditions?"),
        ("amended" in says and not before.limits, "Which tolerance?"),
        ("recounted" in says and bool(before.limits) == bool(before.count), "How many of what?"),
        ("replaced" in says and not replaced <= known, "The last question was not for that."),
        ("replaced" in says and sum(map(bool, parts)) != 1, "What instead of it?"),
        ("tolerance" in removed and (reading.limits or not before.limits), "Which tolerance?"),
        (reading.groups and removed - {"tolerance"} and removed != {*before.groups}, "Which one?"),
        (is_amount, "With the same tolerance? State it again."),
        (single - {*reading.filters, *reading.cleared}, "Only for that, or all?"),
        (before.count and reading.count is None and is_other, "The first rows, or all?"),
        (len(timed) > 1 and timed & {*reading.filters} and "all" not in says, "Both periods?"),
        (is_extreme and before.count != 1, "All, or only one? Say how many."),
        (reading.count and not is_ranked and before.sign is None, "In which order?"),
    )
    whole = replace(before, units=reading.units, says=reading.says)
    for name, new in (("measures", reading.measures), ("groups", reading.named)):
        old: list[str] = getattr(before, name)
        is_added = "also" in says or not new or not replaced.isdisjoint(old)
        named = dict.fromkeys((*(old if is_added else ()), *new))
        setattr(whole, name, [each for each in named if each not in removed | replaced])
    if "ranked" in says and reading.ordered and before.measures == before.ordered:
        whole.measures = reading.ordered  # "top 3 by orders"
    whole.sources = reading.sources or before.sources
    whole.limits = {} if "tolerance" in removed else reading.limits or before.limits
    whole.filters = _filtered(reading, before.filters, says, vocabulary)
    _order(whole, before, reading)
    return whole if whole.measures else replace(whole, members=whole.groups, groups=[])


def _recounted(reading: Reading, before: Reading) -> Reading:
    """A question with its number as the limit of the last comparison, which "make it 3" means."""
    if "recounted" not in reading.clauses or not before.limits:
        return reading
    is_whole = before.limits.get("absolute", 0) % 1 == 0  # otherwise it may have been in cents
    refuse((len(before.limits) > 1 or not is_whole, "Which tolerance?"))
    return replace(reading, limits=dict.fromkeys(before.limits, reading.count), count=None)


def _order(whole: Reading, before: Reading, reading: Reading) -> None:
    """Order the whole question as the last one, with what a question changes."""
    is_ranked = reading.sign is not None
    gone = {*before.ordered} - {*whole.measures, *whole.groups}
    is_lost = gone and (len(whole.measures) != 1 or gone - {*before.measures})
    refuse((is_lost and not is_ranked, "In which order?"))
    is_one = is_ranked and reading.members and reading.is_singular
    whole.count = reading.count or (1 if is_one else before.count)
    whole.sign = reading.sign if is_ranked else before.sign
    whole.ordered = reading.ordered or (list(whole.measures) if gone else before.ordered)


def _filtered(
    reading: Reading, old: Mapping[str, Parts], says: set[str], vocabulary: Vocabulary
) -> dict[str, Parts]:
    """The conditions of the last question with those that a question changes."""
    is_kept = "filter" not in says or reading.cleared
    kept = {n: each for n, each in old.items() if is_kept and n not in reading.cleared}
    for name, parts in reading.filters.items():
        before = old.get(name, {})
        is_doubtful = name in vocabulary.timed and "all" not in says and _is_longer(before, parts)
        refuse((is_doubtful, "All of it?"))
        kept[name] = _condition(before, parts, says)
    return {name: each for name, each in kept.items() if each}


def _condition(old: Parts, new: Parts, says: set[str]) -> Parts:
    """The condition on one dimension after a change; empty if it then has all values."""
    values, listed = [value for of in new.values() for value in of], old.get("eq", [])
    left = [each for each in listed if each not in values]
    if {*new} == {"ne"}:
        is_cleared = listed == values and "remove" in says
        is_within = is_cleared or "all" in says or (left and {*values} <= {*listed})
        refuse(
            (listed == values and not is_within, "It was for that alone. All, or all but that?"),
            (old and {*old} != {"ne"} and not is_within, "The last question was not for that."),
        )
        more = {"ne": list(dict.fromkeys((*old.get("ne", ()), *values)))}
        return {} if is_cleared else {"eq": left} if left else more
    is_bound = len(new) == 1 and {*new} <= BOUNDS
    is_range = "gte" in old and "lte" in old
    is_added = "also" in says and {*old} == {*new} == {"gte", "lte"}
    if is_added and (whole := _together(old, new)):
        return whole
    refuse(
        ("also" in says and ({*old} != {"eq"} or {*new} != {"eq"}), "Added to what?"),
        ({*old.get("ne", ())} & {*values}, "Also, or only?"),
        (is_bound and is_range, "Within the last period, or instead of it?"),
    )
    if "also" in says:
        return {"eq": [*listed, *(each for each in values if each not in listed)]}
    return (both(old, new) or new) if is_bound else new


def _together(old: Parts, new: Parts) -> Parts | None:
    """Two ranges as one; None if there are days between them."""
    a, b = sorted((old, new), key=lambda parts: parts["gte"])
    end, start = period_of(a["lte"][0]), period_of(b["gte"][0])
    is_close = end is not None and start is not None and (start.first - end.last).days == 1
    return {"gte": a["gte"], "lte": b["lte"]} if is_close else None


def _is_longer(old: Parts, new: Parts) -> bool:
    """Whether one of two conditions without an open end is of a longer period."""
    is_bound = len(new) == 1 and {*new} <= BOUNDS
    return bool(old) and not is_bound and abs(_days(old) - _days(new)) > _ALIKE_DAYS


def _days(parts: Parts) -> int:
    """The length of the period of a condition; 0 if its values are no periods."""
    periods = [period for of in parts.values() for value in of if (period := period_of(value))]
    return (periods[-1].last - periods[0].first).days if periods else 0
