"""Follow-up questions: changes of the last call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skillian.offline.calls import EDITS, UnclearError, as_mapping, check_requests, values_of
from skillian.offline.earlier import COMPARE, QUERY
from skillian.offline.language.clauses import Reading
from skillian.offline.language.conditions import ENDS, one_filter, one_or_all
from tinyagent import ToolCall


def changed(reading: Reading, last: ToolCall) -> Reading:
    """The last call with the parts changed that a question names, as a question in full."""
    said = reading.says.keys()
    if not (reading.sources or reading.names_data or reading.members or said & {*EDITS, "swap"}):
        raise UnclearError
    is_compared = last.name == QUERY and bool(reading.sources) and reading.is_comparison
    if last.name == QUERY and not reading.sources and said & {"compare", "gap"}:
        raise UnclearError("I compare two sources, not two periods or values of one.")
    check_requests(reading, {"swap", "also", "instead", "those"})
    arguments = dict(last.arguments)
    filters: Mapping[str, Any] = arguments.get("filters") or {}
    period = reading.says.get("period", "")
    if period.lower().startswith("previous") and {*reading.filters} & {*filters}:
        raise UnclearError(f"I did not understand: {period} (before which one?).")
    _check_replaced(reading, arguments)
    _check_those(reading, arguments)
    _check_kept(reading, arguments)
    before = [str(arguments[n]) for n in ("source", "source_a", "source_b") if n in arguments]
    groups: list[str] = arguments.get("align_on") or arguments.get("dimensions") or []
    named, is_added = [*reading.members, *reading.breakdown], "also" in said
    measures = _with_named(arguments.get("measures") or [], reading.measures, is_added=is_added)
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
    """The conditions of the last question, changed as the question says.

    "Also" adds values, "without" removes them, and bounds on both sides are a range; any other
    condition replaces the one on its dimension.
    """
    filters = {name: value for name, value in before.items() if name not in reading.cleared}
    for name, value in reading.filters.items():
        old: Any = filters.get(name)
        bounds = as_mapping(value)
        before_bounds = as_mapping(old)
        if "also" in reading.says:
            filters[name] = _with_more(name, old, value)
        elif set(bounds) == {"ne"} and old is not None:
            filters[name] = _without(name, old, list(values_of(bounds["ne"])))
        elif bounds and before_bounds:
            filters[name] = _bounded(name, before_bounds, bounds)
        elif {*values_of(value)} & {*values_of(before_bounds.get("ne"))}:
            raise UnclearError(f"Also {' and '.join(values_of(value))}, or only?")
        else:
            filters[name] = value
    return {name: value for name, value in filters.items() if value is not None}


def _with_more(name: str, old: Any, value: Any) -> Any:
    """A condition with more values; None if it then has all."""
    if old is None or as_mapping(value):
        raise UnclearError(f"The last question has no {name} to add this to.")
    values, bounds = list(values_of(value)), as_mapping(old)
    if not bounds:
        return one_or_all(list(dict.fromkeys((*values_of(old), *values))))
    excluded = list(values_of(bounds.get("ne")))
    left = [each for each in excluded if each not in values]
    if set(bounds) != {"ne"} or len(left) + len(values) > len(excluded):
        raise UnclearError(f"With {' and '.join(values)}, or also without?")
    return {"ne": one_or_all(left)} if left else None


def _bounded(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Any:
    """The range of two bounds, or of a range and a bound within it; another range replaces it."""
    sides = [next((i for i, ends in enumerate(ENDS) if {*x} <= ends), None) for x in (old, new)]
    if None not in sides and sides[0] != sides[1]:
        return one_filter({k: list(values_of(v)) for k, v in {**old, **new}.items()})
    if {*old} == {"between"} and sides[1] is not None:
        first, last = values_of(old["between"])
        bound = str(next(iter(new.values())))
        if not first <= bound <= last or {*new} & {"gt", "lt"}:
            raise UnclearError(f"Within {name} {first} to {last}, or instead of it?")
        return {"between": [bound, last] if sides[1] == 0 else [first, bound]}
    return new


def _without(name: str, old: Any, values: list[str]) -> Any:
    bounds, listed = as_mapping(old), list(values_of(old))
    if bounds:
        excluded = values_of(bounds.get("ne"))
        return {**bounds, "ne": one_or_all(list(dict.fromkeys((*excluded, *values))))}
    left = [value for value in listed if value not in values]
    if not left or len(left) + len(values) > len(listed):
        raise UnclearError(f"The last question was for {name} {' and '.join(listed)}.")
    return one_or_all(left)
