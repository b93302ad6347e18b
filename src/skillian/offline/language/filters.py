"""The conditions of the `filters` argument, as a mapping of operators to values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from skillian.offline.language.periods import period_of

Parts = Mapping[str, list[str]]
BOUNDS = {"gte", "gt", "lte", "lt"}
_OPPOSITE = [{"gte", "gt"}, {"lte", "lt"}]


def values_of(argument: object) -> Iterator[str]:
    """Each value in an argument, at any depth, as text."""
    if isinstance(argument, Mapping):
        argument = list(cast("Mapping[str, Any]", argument).values())
    if isinstance(argument, list | tuple):
        for each in cast("Iterable[Any]", argument):
            yield from values_of(each)
    elif argument is not None and not isinstance(argument, bool):
        yield str(argument)


def as_mapping(value: object) -> Mapping[str, Any]:
    """A mapping; empty for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def parts_of(condition: Any) -> dict[str, list[str]]:
    """The values of a condition by operator; empty without a condition."""
    parts = {name: list(values_of(value)) for name, value in as_mapping(condition).items()}
    if len(parts.get("between", ())) == 2:  # noqa: PLR2004
        first, last = parts.pop("between")
        parts |= {"gte": [first], "lte": [last]}
    return parts or ({} if condition is None else {"eq": list(values_of(condition))})


def filter_of(parts: Parts) -> Any:
    """The condition of a filter with these operators; None without any."""
    found: dict[str, Any] = {
        name: values[0] if len(values) == 1 else list(values) for name, values in parts.items()
    }
    if found.keys() >= {"gte", "lte"}:
        found = {"between": [found.pop("gte"), found.pop("lte")], **found}
    return found.get("eq", found or None)


def both(known: Parts, more: Parts) -> Parts | None:
    """The condition that both must meet; None if it has no single form, or admits nothing."""
    if not known or known == more:
        return more
    excluded = list(dict.fromkeys([*known.get("ne", ()), *more.get("ne", ())]))
    combined = {**known, **more, **({"ne": excluded} if excluded else {})}
    if {*combined} == {"eq", "ne"} and len(known) == len(more) == len(excluded) == 1:
        return None if excluded[0] in combined["eq"] else {"eq": combined["eq"]}  # "not road"
    is_twice = {*known} & {*more} - {"ne"} or any(side <= {*combined} for side in _OPPOSITE)
    low, high = ([v for n in side for v in combined.get(n, ())] for side in _OPPOSITE)
    return None if "eq" in combined or is_twice or (low and high and low >= high) else combined


def years_of(conditions: Iterable[Any]) -> frozenset[int]:
    """The years of all values."""
    periods = (period_of(value) for each in conditions for value in values_of(each))
    return frozenset(each.first.year for each in periods if each is not None)


def admits(condition: Any, value: str) -> bool:
    """Whether a filter's condition admits a value, which may be a day of a month that it names."""
    parts = {name: [*map(_span, values)] for name, values in parts_of(condition).items()}
    low, high = _span(value)
    within = {n: any(a <= low and high <= b for a, b in parts.get(n, ())) for n in ("eq", "ne")}
    return (
        parts.keys() <= {"eq", "ne", *BOUNDS}
        and ("eq" not in parts or within["eq"])
        and not within["ne"]
        and all(low >= first for first, _ in parts.get("gte", ()))
        and all(low > last for _, last in parts.get("gt", ()))
        and all(high <= last for _, last in parts.get("lte", ()))
        and all(high < first for first, _ in parts.get("lt", ()))
    )


def _span(value: str) -> tuple[Any, Any]:
    """The first and the last day of a period; otherwise a number or a text twice."""
    if period := period_of(value):
        return (0, period.first.toordinal()), (0, period.last.toordinal())
    digits = value.lstrip("-").replace(".", "", 1)
    key = (0, float(value)) if digits.isdecimal() else (1, value.lower())
    return key, key
