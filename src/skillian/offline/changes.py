"""Follow-up questions: changes of the last call."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from skillian.offline.calls import EDITS, UnclearError, check_requests
from skillian.offline.earlier import COMPARE, QUERY
from skillian.offline.language.clauses import Reading
from skillian.offline.language.filters import (
    BOUNDS,
    RANGE,
    Parts,
    both,
    filter_of,
    parts_of,
    values_of,
)
from tinyagent import ToolCall


def changed(reading: Reading, last: ToolCall) -> Reading:
    """The last call with the parts changed that a question names, as a question in full."""
    said = reading.says.keys()
    if not (reading.sources or reading.names_data or reading.members or said & {*EDITS, "swap"}):
        raise UnclearError
    is_compared = last.name == QUERY and bool(reading.sources) and reading.is_comparison
    if last.name == QUERY and not reading.sources and said & {"compare", "gap"}:
        raise UnclearError("I compare two sources, not two periods or values of one.")
    arguments = dict(last.arguments)
    limits = {"amended"} if arguments.get("thresholds") else set[str]()
    check_requests(reading, {"swap", "also", "instead", "those", *limits})
    filters: Mapping[str, Any] = arguments.get("filters") or {}
    period = reading.says.get("period", "")
    if period.lower().startswith("previous") and {*reading.filters} & {*filters}:
        raise UnclearError(f"I did not understand: {period} (before which one?).")
    _check_replaced(reading, arguments)
    _check_those(reading, arguments)
    if "tolerance" in reading.removed:
        arguments["thresholds"] = {}
    _check_kept(reading, arguments)
    before = [str(arguments[n]) for n in ("source", "source_a", "source_b") if n in arguments]
    groups: list[str] = arguments.get("align_on") or arguments.get("dimensions") or []
    named, is_added = [*reading.members, *reading.breakdown], "also" in said
    measures = _with_named(arguments.get("measures") or [], reading.measures, is_added=is_added)
    gone = {*reading.removed} - ({"tolerance"} if limits else set())
    if gone and (not gone <= {*measures, *groups} - {*filters} or gone >= {*measures}):
        raise UnclearError(f"The last question has no {' and '.join(reading.removed)} to remove.")
    measures = [name for name in measures if name not in reading.removed]
    groups = [name for name in groups if name not in reading.removed]
    whole = Reading(
        sources=_with_named(before, reading.sources, is_added=is_compared),
        measures=measures,
        breakdown=_with_named(groups, named, is_added=is_added),
        filters=_changed_filters(reading, filters),
        thresholds={**arguments.get("thresholds", {}), **reading.thresholds},
        units=reading.units,
        says={"swap": reading.says["swap"]} if "swap" in said else {},
    )
    if last.name == COMPARE:
        if reading.direction or reading.count or reading.ordered_by:
            raise UnclearError("The largest what? A comparison ranks differences.")
    elif is_compared and (arguments.get("limit") or arguments.get("order")):
        raise UnclearError("All groups are compared: ask it as a question of its own.")
    else:
        _change_order(whole, reading, arguments)
    if not measures:
        whole.members, whole.breakdown = whole.breakdown, []
    return whole


def _with_named(before: Sequence[str], named: Sequence[str], *, is_added: bool) -> list[str]:
    """The names of the last call, or those that a question names in place of them."""
    return list(dict.fromkeys((*(before if is_added or not named else ()), *named)))


def _change_order(whole: Reading, reading: Reading, last: Mapping[str, Any]) -> None:
    """Order and number of rows change together; a measure also replaces the one of the order."""
    if (reading.direction or reading.count) and not (whole.measures and whole.breakdown):
        raise UnclearError("The largest what? Name a measure and a dimension.")
    known = {*whole.measures, *whole.breakdown}
    before: list[str] = last.get("order") or []
    if reading.direction or reading.ordered_by:
        again = [name for name in whole.measures if f"-{name}" in before]
        whole.ordered_by, whole.direction = reading.ordered_by or again, reading.direction
    elif before:
        gone = {name.removeprefix("-") for name in before} - known
        is_replaced = gone <= {*last.get("measures", ())} and len(whole.measures) == 1
        if gone and last.get("limit") and not is_replaced:
            raise UnclearError(f"The last answer was ordered by {' and '.join(sorted(gone))}.")
        sign = "-" if before[0].startswith("-") else ""
        whole.ordered_by = [f"{sign}{whole.measures[0]}"] if gone else before
    if {name.removeprefix("-") for name in whole.ordered_by} - known:
        raise UnclearError("The last answer has no such measure to order by.")
    is_single = bool(reading.direction and reading.members and reading.is_singular)
    whole.count = reading.count or (1 if is_single else last.get("limit"))


def _check_kept(reading: Reading, arguments: dict[str, Any]) -> None:
    """Refuse a change after which a part of the last question would mean something else."""
    groups: list[str] = arguments.get("dimensions") or arguments.get("align_on") or []
    named = [*reading.members, *reading.breakdown]
    filters: Mapping[str, Any] = arguments.get("filters") or {}
    limits = arguments.get("thresholds", {}).get("match", {})
    if reading.measures and "absolute" in limits and not reading.thresholds:
        raise UnclearError(f"With the same tolerance of {limits['absolute']}? State it again.")
    if arguments.get("limit") and reading.count is None:
        if {*reading.cleared} & {*groups}:
            arguments |= {"limit": None, "order": None}
        elif "same_again" not in reading.says and (named or {*reading.filters} & {*groups}):
            raise UnclearError(f"The first {arguments['limit']}, or all? Ask it in full.")
    single = [name for name in named if isinstance(filters.get(name), str)]
    if single and not {*reading.filters, *reading.cleared} & {*single}:
        raise UnclearError(f"Only {filters[single[0]]}, or all? Ask it in full.")


def _check_those(reading: Reading, arguments: Mapping[str, Any]) -> None:
    """Refuse "those wards" if the last question did not name them."""
    if "those" not in reading.says:
        return
    filters: Mapping[str, Any] = arguments.get("filters") or {}
    listed = [name for name, value in filters.items() if not isinstance(value, Mapping)]
    if arguments.get("limit") or not listed or not {*reading.those} <= {*listed}:
        raise UnclearError("Which ones? Name them.")


def _check_replaced(reading: Reading, arguments: Mapping[str, Any]) -> None:
    """Refuse "rail instead of road" if the last call was not for road, and rail alone."""
    for name, values in reading.replaced.items():
        groups = arguments.get("align_on") or arguments.get("dimensions")
        before = arguments.get("filters", {}).get(name) if name else arguments.get("measures")
        is_named = reading.filters.get(name) if name else reading.measures
        if not name and reading.breakdown and groups == values:
            continue
        if not is_named or before not in (values, values[0]):
            raise UnclearError(f"The last question was not for {' and '.join(values)}.")


def _changed_filters(reading: Reading, before: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions of the last question, changed as the question says."""
    filters = {name: value for name, value in before.items() if name not in reading.cleared}
    for name, value in reading.filters.items():
        old = parts_of(filters.get(name))
        filters[name] = filter_of(_changed(name, old, parts_of(value), reading.says.keys()))
    return {name: value for name, value in filters.items() if value is not None}


def _changed(name: str, old: Parts, new: Parts, says: Collection[str]) -> Parts:
    """The condition on one dimension after a change; empty if it then has all values.

    "Also" adds values, "without" removes them, and bounds on both sides are a range if it has
    values; any other condition replaces the one before. "Remove Italy" clears one for Italy alone.
    """
    values, listed, excluded = [*values_of(new)], old.get("eq", []), old.get("ne", [])
    said = " and ".join(values)
    left = [each for each in listed or excluded if each not in values]
    is_within = len(left) + len(values) == len(listed or excluded)
    if "also" in says:
        return _with_added(name, old, new)
    if {*new} == {"ne"} and old:
        if listed == values and "remove" in says:
            return {}
        if listed and not (left and is_within):
            raise UnclearError(f"The last question was for {name} {' and '.join(listed)}.")
        return {"eq": left} if listed else both(old, new) or new
    is_half = {*new} <= BOUNDS and not {*new} >= RANGE
    if is_half and {*old} == RANGE:
        first, last = old["gte"][0], old["lte"][0]
        if not first <= values[0] <= last or {*new} & {"gt", "lt"}:
            raise UnclearError(f"Within {name} {first} to {last}, or instead of it?")
        return {**old, **new}
    if "eq" in new and {*values} & {*excluded} and "only" not in says:
        raise UnclearError(f"Also {said}, or only?")
    return (both(old, new) if is_half else None) or new


def _with_added(name: str, old: Parts, new: Parts) -> Parts:
    """The condition with more values; of an exclusion, without these."""
    values, listed, excluded = [*values_of(new)], old.get("eq", []), old.get("ne", [])
    if not old or "eq" not in new:
        raise UnclearError(f"The last question has no {name} to add this to.")
    if listed:
        return {"eq": list(dict.fromkeys((*listed, *values)))}
    if {*old} != {"ne"} or not {*values} <= {*excluded}:
        raise UnclearError(f"With {' and '.join(values)}, or also without?")
    left = [each for each in excluded if each not in values]
    return {"ne": left} if left else {}
