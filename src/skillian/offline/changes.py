"""Follow-up questions: changes of the last call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from skillian.offline.calls import (
    EDITS,
    UnclearError,
    check_requests,
    reading_of,
)
from skillian.offline.earlier import QUERY
from skillian.offline.language.filters import (
    BOUNDS,
    RANGE,
    Parts,
    admits,
    both,
    condition_words,
    filter_of,
    parts_of,
    values_of,
    years_of,
)
from skillian.offline.language.said import Reading
from skillian.offline.language.tokens import of_kinds
from skillian.offline.language.vocabulary import Vocabulary
from tinyagent import ToolCall


def without_limits(asked: Reading, groups: Sequence[str]) -> Reading:
    """The question without tolerance, order and number of rows, for all members of the groups."""
    filters = {name: each for name, each in asked.filters.items() if name not in groups}
    return replace(asked, filters=filters, thresholds={}, count=None, ordered_by=[])


def with_limit(asked: Reading, kind: str, number: Any, before: Reading | None = None) -> Reading:
    """The question with a tolerance if it has none, and if the one before it had any."""
    is_kept = asked.thresholds or not number or (before is not None and not before.thresholds)
    return asked if is_kept else replace(asked, thresholds={"match": {kind: number}})


def changed(reading: Reading, last: ToolCall, vocabulary: Vocabulary) -> Reading:
    """The last call with the parts changed that a question names, as a question in full."""
    said, before = reading.says.keys(), reading_of(last.arguments)
    is_named = reading.sources or reading.names_data or reading.members or "filter" in said
    if not is_named and ("which" in said or not said & {*EDITS, "swap"}):
        raise UnclearError  # "and which ones match?"
    if last.name == QUERY and not reading.sources and said & {"compare", "gap"}:
        raise UnclearError("I compare two sources, not two periods or values of one.")
    limits = {"amended"} if before.thresholds else set[str]()
    usable = {"swap", "also", "instead", "those", "filter", *limits}
    check_requests(reading, usable | ({"rows"} if last.name == QUERY else set()))
    _check_added(reading, before)
    _check_doubts(reading, before)
    _check_nouns(reading, before)
    _check_years(reading, before, vocabulary)
    is_added = "also" in said
    is_compared = last.name == QUERY and bool(reading.sources) and reading.is_comparison
    is_doubtful = reading.says.get("compare", "").startswith("same")  # "the same in erp"
    if is_compared and (is_doubtful or before.sources == reading.sources):
        raise UnclearError(f"The same question for {reading.sources[0]}, or a comparison with it?")
    is_same = before.sources == reading.sources and not (reading.names_data or reading.members)
    if is_same and not said & {"swap", "same_again"}:
        raise UnclearError(f"The last answer is about {reading.sources[0]} already.")
    if is_compared and (before.count or before.ordered_by):
        raise UnclearError("All groups are compared: ask it as a question of its own.")
    measures = with_named(before.measures, reading.measures, is_added=is_added)
    gone = {*reading.removed} - ({"tolerance"} if before.thresholds else set())
    known = {*measures, *before.breakdown} - {*before.filters}
    if gone and (not gone <= known or gone >= {*measures}):
        raise UnclearError(f"The last question has no {' and '.join(reading.removed)} to remove.")
    sources = [*before.sources, *reading.sources] if is_compared else reading.sources
    return with_changes(replace(reading, sources=sources), before, is_added=is_added)


def with_changes(reading: Reading, before: Reading, *, is_added: bool) -> Reading:
    """The last question with the parts that a question names, added or in place of others."""
    gone = {*reading.removed}
    replaced = {*reading.replaced.get("", ())} & {*before.breakdown}
    measures = with_named(before.measures, reading.measures, is_added=is_added)
    groups = [name for name in before.breakdown if name not in gone | replaced]
    whole = Reading(
        sources=reading.sources or before.sources,
        measures=[name for name in measures if name not in gone],
        breakdown=with_named(groups, reading.named, is_added=is_added or bool(replaced)),
        filters=_changed_filters(reading, before.filters, is_added=is_added),
        thresholds=reading.thresholds or ({} if "tolerance" in gone else before.thresholds),
        units=reading.units,
        says={kind: text for kind, text in reading.says.items() if kind == "swap"},
        direction=reading.direction,
        ordered_by=reading.ordered_by,
        count=reading.count,
    )
    if len(whole.sources) == 1:
        _change_order(whole, reading, before)
    if not whole.measures:
        whole.members, whole.breakdown = whole.breakdown, []
    return whole


def with_named(before: Sequence[str], named: Sequence[str], *, is_added: bool) -> list[str]:
    """The names of the last call, or those that a question names in place of them."""
    return list(dict.fromkeys((*(before if is_added or not named else ()), *named)))


def _change_order(whole: Reading, reading: Reading, before: Reading) -> None:
    """Order and number of rows change together; a measure also replaces the one of the order."""
    names = {name.removeprefix("-") for name in before.ordered_by}
    is_single = bool(reading.direction and reading.members and reading.is_singular)
    whole.count = reading.count or (1 if is_single else before.count)
    if {*reading.cleared} & {*before.breakdown} and before.count and reading.count is None:
        whole.count = None
    elif reading.direction:
        whole.ordered_by = reading.ordered_by or [n for n in whole.measures if n in names]
    elif before.ordered_by and not reading.ordered_by:
        gone = names - {*whole.measures, *whole.breakdown}
        is_replaced = gone <= {*before.measures} and len(whole.measures) == 1
        if gone and (before.count or not whole.measures) and not is_replaced:
            raise UnclearError(f"The last answer was ordered by {' and '.join(sorted(gone))}.")
        sign = "-" if before.ordered_by[0].startswith("-") else ""
        whole.ordered_by = [f"{sign}{whole.measures[0]}"] if gone else before.ordered_by


def _check_added(reading: Reading, before: Reading) -> None:
    """Refuse "minutes too, for Basel": is Basel added as well?"""
    parts = (reading.measures, reading.named, reading.filters, reading.sources)
    is_mixed = sum(map(bool, parts)) > 1 or bool(reading.says.keys() & {"only", "instead"})
    if "also" in reading.says and is_mixed:
        raise UnclearError("Added to the last question, or in place of it? Ask for one change.")
    for name, condition in reading.filters.items() if "also" in reading.says else ():
        old, new = parts_of(before.filters.get(name)), parts_of(condition)
        values = [*values_of(condition)]
        if {*new} != {"ne"} and not (old and "eq" in new):
            raise UnclearError(f"The last question has no {name} to add this to.")
        is_excluded = {*old} == {"ne"} and {*values} <= {*old["ne"]}
        if {*new} != {"ne"} and not ("eq" in old or is_excluded):
            raise UnclearError(f"With {' and '.join(values)}, or also without?")


def _check_doubts(reading: Reading, before: Reading) -> None:
    """Refuse a change after which a part of the last question would mean something else."""
    period = reading.says.get("period", "")
    if period.lower().startswith("previous") and {*reading.filters} & {*before.filters}:
        raise UnclearError(f"I did not understand: {period} (before which one?).")
    for name, values in reading.replaced.items():  # "rail instead of road"
        stated = before.filters.get(name) if name else before.measures
        is_named = reading.filters.get(name) if name else reading.measures
        is_group = not (name or reading.measures) and {*values} <= {*before.breakdown}
        if not is_group and (not is_named or stated not in (values, values[0])):
            raise UnclearError(f"The last question was not for {' and '.join(values)}.")
    if "those" in reading.says:
        listed = {n for n, value in before.filters.items() if not isinstance(value, Mapping)}
        if before.count or not listed or not {*reading.those} <= listed:
            raise UnclearError("Which ones? Name them.")
    limits = before.thresholds.get("match", {})
    is_same = not (reading.thresholds or "tolerance" in reading.removed)
    if reading.measures and "absolute" in limits and is_same:
        raise UnclearError(f"With the same tolerance of {limits['absolute']}? State it again.")
    groups = {*before.breakdown}
    is_other = (
        bool(reading.named or {*reading.filters} & groups) and not {*reading.cleared} & groups
    )
    if before.count and reading.count is None and is_other and "same_again" not in reading.says:
        raise UnclearError(f"The first {before.count}, or all? Ask it in full.")
    is_extreme = bool(reading.says.keys() & {"most", "least"}) and not reading.members
    if before.count != 1 and reading.count is None and is_extreme:  # "only the largest"
        known = f"The first {before.count}" if before.count else "All"
        raise UnclearError(f"{known}, or only one? Say how many.")
    single = [name for name in reading.named if isinstance(before.filters.get(name), str)]
    if single and not {*reading.filters, *reading.cleared} & {*single}:
        raise UnclearError(f"Only {before.filters[single[0]]}, or all? Ask it in full.")


def _check_nouns(reading: Reading, before: Reading) -> None:
    """Refuse "only cancelled orders" after a question for another measure than orders."""
    for (clause, part), (after, noun) in pairwise(reading.parts):
        is_of_noun = clause == "exclusion" or bool(part[0].prep or of_kinds(part, {"only"}))
        is_noun = after == "measures" and not (noun[0].mark or noun[0].prep)
        if is_noun and is_of_noun and not {*reading.measures} <= {*before.measures}:
            raise UnclearError(f"Do you mean the measure {noun[0].name}?")


def _check_years(reading: Reading, before: Reading, vocabulary: Vocabulary) -> None:
    """Refuse "and in 2023?" after a question for a part of 2024, also of another dimension."""
    stated = {*reading.filters, *reading.cleared} & vocabulary.of_periods
    kept = [n for n in before.filters if stated and n in vocabulary.of_periods - stated]
    if kept:
        old = condition_words(before.filters[kept[0]])
        raise UnclearError(f"Within {kept[0]} {old}, or instead of it?")
    periods = [t.period for _, part in reading.parts for t in part if t.period is not None]
    is_same = bool(reading.says.keys() & {"and", "same_again"})
    if not (is_same and periods and all(each.is_year for each in periods)):
        return
    for name in {*reading.filters} & {*before.filters} & {*vocabulary.timed}:
        old, known = before.filters[name], vocabulary.values[name].values()
        for year in years_of([old]):
            days = [value for value in known if year in years_of([value])]
            days += [f"{year}-01-01", f"{year}-12-31"] if vocabulary.is_open(name) else []
            if not all(admits(old, day) for day in days):
                raise UnclearError(f"The whole year, or {condition_words(old)} of it?")


def _changed_filters(
    reading: Reading, before: Mapping[str, Any], *, is_added: bool
) -> dict[str, Any]:
    """The conditions of the last question, changed as the question says."""
    is_kept = "filter" not in reading.says
    filters = {n: value for n, value in before.items() if is_kept and n not in reading.cleared}
    for name, value in reading.filters.items():
        old = parts_of(filters.get(name))
        new = parts_of(value)
        is_more = is_added and {*new} != {"ne"}
        condition = _with_added(old, new) if is_more else _changed(name, old, new, reading)
        filters[name] = filter_of(condition)
    return {name: value for name, value in filters.items() if value not in (None, {"ne": []})}


def _changed(name: str, old: Parts, new: Parts, reading: Reading) -> Parts:
    """The condition on one dimension after a change; empty if it then has all values.

    "Also" adds values, "without" removes them, and bounds on both sides are a range if it has
    values; any other condition replaces the one before. "Remove Italy" clears one for Italy alone.
    """
    values, listed, excluded = [*values_of(new)], old.get("eq", []), old.get("ne", [])
    said = " and ".join(values)
    left = [each for each in listed or excluded if each not in values]
    is_within = len(left) + len(values) == len(listed or excluded)
    if {*new} == {"ne"} and old:
        if listed == values and "remove" in reading.says:
            return {}
        is_whole = {*old} >= RANGE and {*old["gte"], *old["lte"]} <= {*values}
        if is_whole or (listed and not (left and is_within)):
            raise UnclearError(
                f"The last question was for {name} {condition_words(filter_of(old))}."
            )
        return {"eq": left} if listed else both(old, new) or new
    is_half = {*new} <= BOUNDS and not {*new} >= RANGE
    if is_half and {*old} == RANGE:
        first, last = old["gte"][0], old["lte"][0]
        if not first <= values[0] <= last or {*new} & {"gt", "lt"}:
            raise UnclearError(f"Within {name} {first} to {last}, or instead of it?")
        return {**old, **new}
    if "eq" in new and {*values} & {*excluded} and "only" not in reading.says:
        raise UnclearError(f"Also {said}, or only?")
    return (both(old, new) if is_half else None) or new


def _with_added(old: Parts, new: Parts) -> Parts:
    """The condition with more values; of an exclusion, without these."""
    values, listed, excluded = [*values_of(new)], old.get("eq", []), old.get("ne", [])
    if "eq" not in new or not (listed or {*old} == {"ne"}):
        return new
    left = {"ne": [each for each in excluded if each not in values]}
    return {"eq": list(dict.fromkeys((*listed, *values)))} if listed else left
