"""Follow-up questions: changes of the last call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from skillian.offline.calls import (
    EDITS,
    PlannedCall,
    UnclearError,
    check_names,
    check_requests,
    check_units,
    order_of,
    without_empty,
)
from skillian.offline.earlier import COMPARE, QUERY, Earlier
from skillian.offline.language.clauses import Reading
from skillian.offline.language.conditions import ENDS, one_filter, one_or_all
from skillian.offline.language.vocabulary import Vocabulary


def changed(reading: Reading, earlier: Earlier, vocabulary: Vocabulary) -> PlannedCall:
    """The last call with the parts changed that the question names."""
    last = earlier.last
    if last is None:
        raise UnclearError
    if not (reading.names_data or reading.members or reading.says.keys() & {*EDITS, "swap"}):
        raise UnclearError
    check_requests(reading, {"swap", "also", "instead", "those"})
    arguments = dict(last.arguments)
    period = reading.says.get("period", "")
    if period.lower().startswith("previous") and {*reading.filters} & {
        *arguments.get("filters", ())
    }:
        raise UnclearError(f"I did not understand: {period} (before which one?).")
    for argument in ("source", "source_a", "source_b"):
        check_names(reading, arguments.get(argument, ""), vocabulary)
    _check_replaced(reading, arguments)
    _check_those(reading, arguments)
    _check_kept(reading, last.name, arguments)
    before: list[str] = arguments.get("measures") or []
    if reading.measures:
        added = before if "also" in reading.says else []
        arguments["measures"] = list(dict.fromkeys((*added, *reading.measures)))
    arguments["filters"] = _changed_filters(reading, arguments.get("filters") or {})
    _change_groups(arguments, reading, "align_on" if last.name == COMPARE else "dimensions")
    check_units(reading, arguments.get("measures") or (), vocabulary)
    if last.name != COMPARE:
        return _changed_query(arguments, reading, before)
    if reading.direction or reading.count or reading.ordered_by:
        raise UnclearError("The largest what? A comparison ranks differences.")
    if "swap" in reading.says:
        a, b = arguments["source_a"], arguments["source_b"]
        arguments |= {"source_a": b, "source_b": a}
    if reading.thresholds:
        arguments["thresholds"] = {**arguments.get("thresholds", {}), **reading.thresholds}
    return PlannedCall(COMPARE, without_empty(arguments))


def _check_kept(reading: Reading, tool: str, arguments: dict[str, Any]) -> None:
    """Refuse a change after which a part of the last question would mean something else."""
    groups: list[str] = arguments.get("dimensions") or arguments.get("align_on") or []
    named = [*reading.members, *reading.breakdown]
    filters: Mapping[str, Any] = arguments.get("filters") or {}
    limits = arguments.get("thresholds", {}).get("match", {})
    if tool == QUERY and reading.says.keys() & {"compare", "gap"}:
        raise UnclearError("I compare two sources, not two periods or values of one.")
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


def _change_groups(arguments: dict[str, Any], reading: Reading, argument: str) -> None:
    groups = [*reading.members, *reading.breakdown]
    if groups:
        before: list[str] = arguments.get(argument) or []
        added = [name for name in groups if name not in before]
        arguments[argument] = [*before, *added] if "also" in reading.says else groups


def _changed_query(
    arguments: dict[str, Any], reading: Reading, before: Sequence[str]
) -> PlannedCall:
    """The last query, whose order and number of rows change together."""
    if reading.thresholds or "swap" in reading.says:
        raise UnclearError("A tolerance is for comparing two sources.")
    measures: list[str] = arguments.get("measures") or []
    dimensions: list[str] = arguments.get("dimensions") or []
    if (reading.direction or reading.count) and not (measures and dimensions):
        raise UnclearError("The largest what? Name a measure and a dimension.")
    known = {*measures, *dimensions}
    was_ordered: list[str] = arguments.get("order") or []
    order = order_of(reading, [n for n in measures if f"-{n}" in was_ordered] or measures)
    if not order and was_ordered:
        gone = {name.removeprefix("-") for name in was_ordered} - known
        if gone and arguments.get("limit") and not (gone <= {*before} and len(measures) == 1):
            raise UnclearError(f"The last answer was ordered by {' and '.join(sorted(gone))}.")
        sign = "-" if was_ordered[0].startswith("-") else ""
        order = [f"{sign}{measures[0]}"] if gone <= {*before} and gone else was_ordered
    arguments["order"] = [name for name in order if name.removeprefix("-") in known]
    if reading.ordered_by and not arguments["order"]:
        raise UnclearError("The last answer has no such measure to order by.")
    if reading.direction and reading.members and reading.is_singular:
        arguments["limit"] = 1
    if reading.count:
        arguments["limit"] = reading.count
    return PlannedCall(QUERY, without_empty(arguments))


def _changed_filters(reading: Reading, before: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions of the last question, changed as the question says.

    "Also" adds values, "without" removes them, and bounds on both sides are a range; any other
    condition replaces the one on its dimension.
    """
    filters = {name: value for name, value in before.items() if name not in reading.cleared}
    for name, value in reading.filters.items():
        old: Any = filters.get(name)
        bounds = _as_map(value)
        before_bounds = _as_map(old)
        if "also" in reading.says:
            filters[name] = _with_more(name, old, value)
        elif set(bounds) == {"ne"} and old is not None:
            filters[name] = _without(name, old, _listed(bounds["ne"]))
        elif bounds and before_bounds:
            filters[name] = _bounded(name, before_bounds, bounds)
        elif {*_listed(value)} & {*_listed(before_bounds.get("ne", []))}:
            raise UnclearError(f"Also {' and '.join(_listed(value))}, or only?")
        else:
            filters[name] = value
    return {name: value for name, value in filters.items() if value is not None}


def _with_more(name: str, old: Any, value: Any) -> Any:
    """A condition with more values; None if it then has all."""
    if old is None or _as_map(value):
        raise UnclearError(f"The last question has no {name} to add this to.")
    values, bounds = _listed(value), _as_map(old)
    if not bounds:
        return one_or_all(list(dict.fromkeys((*_listed(old), *values))))
    excluded = _listed(bounds.get("ne", []))
    left = [each for each in excluded if each not in values]
    if set(bounds) != {"ne"} or len(left) + len(values) > len(excluded):
        raise UnclearError(f"With {' and '.join(values)}, or also without?")
    return {"ne": one_or_all(left)} if left else None


def _bounded(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Any:
    """The range of two bounds, or of a range and a bound within it; another range replaces it."""
    sides = [next((i for i, ends in enumerate(ENDS) if {*x} <= ends), None) for x in (old, new)]
    if None not in sides and sides[0] != sides[1]:
        return one_filter({k: _listed(v) for k, v in {**old, **new}.items()})
    if {*old} == {"between"} and sides[1] is not None:
        first, last = _listed(old["between"])
        bound = str(next(iter(new.values())))
        if not first <= bound <= last or {*new} & {"gt", "lt"}:
            raise UnclearError(f"Within {name} {first} to {last}, or instead of it?")
        return {"between": [bound, last] if sides[1] == 0 else [first, bound]}
    return new


def _without(name: str, old: Any, values: list[str]) -> Any:
    bounds = _as_map(old)
    if bounds:
        excluded = _listed(bounds.get("ne", [])) if "ne" in bounds else []
        return {**bounds, "ne": one_or_all(list(dict.fromkeys((*excluded, *values))))}
    left = [value for value in _listed(old) if value not in values]
    if not left or len(left) + len(values) > len(_listed(old)):
        raise UnclearError(f"The last question was for {name} {' and '.join(_listed(old))}.")
    return one_or_all(left)


def _as_map(value: Any) -> Mapping[str, Any]:
    """A filter's operators; empty for values alone."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _listed(value: Any) -> list[str]:
    return list(map(str, cast("list[object]", value))) if isinstance(value, list) else [str(value)]
