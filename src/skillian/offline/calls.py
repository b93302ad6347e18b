"""What a question leads to: a call, which is also a sentence, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from skillian.offline.earlier import COMPARE, QUERY
from skillian.offline.language.lexicon import LEXICON
from skillian.offline.language.said import Reading
from skillian.offline.language.vocabulary import Vocabulary, plain, spaced

_REQUESTS = {
    *("why", "drill", "missing", "major", "minor", "equal", "more", "swap", "describe", "list"),
    *("also", "instead", "those", "amended", "filter", "rows"),
}
_UNITS = {
    **dict.fromkeys(("euro", "eur", "€", "cent"), "eur"),
    **dict.fromkeys(("dollar", "usd", "$"), "usd"),
    **dict.fromkeys(("pound", "gbp", "£"), "gbp"),
}
_CURRENCIES = frozenset(LEXICON["currency"])
_NAMED_UNITS = {
    *("kg", "g", "t", "km", "m", "l", "kwh", "mwh"),
    *("hour", "minute", "day", "row", "count", "number"),
}
"""Words of a measure's name that say what it counts, apart from currencies."""
_BOUNDS = {"gte": "since", "gt": "after", "lte": "until", "lt": "before"}
EDITS = {"and", "also", "same_again", "instead", "those"}
"""Kinds of words that change the last question."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A tool call to make."""

    tool: str
    arguments: Mapping[str, Any]


Plan = PlannedCall | str
"""A call, or why there is none, as a sentence; empty if nothing was understood."""


class UnclearError(Exception):
    """Why there is no call, as a sentence."""


def reading_of(arguments: Mapping[str, Any]) -> Reading:
    """A comparison or a query as the question in full that it answers."""
    names = (arguments.get(name) for name in ("source", "source_a", "source_b"))
    return Reading(
        sources=[str(name) for name in names if name],
        measures=arguments.get("measures") or [],
        breakdown=arguments.get("align_on") or arguments.get("dimensions") or [],
        filters=arguments.get("filters") or {},
        thresholds=arguments.get("thresholds") or {},
        ordered_by=arguments.get("order") or [],
        count=arguments.get("limit"),
    )


def call_of(tool: str, asked: Reading) -> PlannedCall:
    """The call that answers a question in full."""
    names = ("source_a", "source_b") if tool == COMPARE else ("source",)
    arguments = {
        **dict(zip(names, asked.sources, strict=False)),
        "measures": asked.measures,
        "align_on" if tool == COMPARE else "dimensions": asked.named,
        "filters": asked.filters,
        "thresholds": asked.thresholds,
        "order": asked.ordered_by,
        "limit": asked.count,
    }
    return PlannedCall(tool, without_empty(arguments))


def check_names(reading: Reading, source: str, vocabulary: Vocabulary) -> None:
    """Refuse a measure, a group or a condition that this source does not have."""
    known = vocabulary.sources.get(source)
    if known is None:
        raise UnclearError(f"There is no source {source} any more.")
    for name in reading.measures:
        if name not in known.measures:
            raise UnclearError(f"{source} has no {name}.")
    for name in (*reading.named, *reading.filters):
        if name not in known.dimensions:
            value = reading.filters.get(name)
            raise UnclearError(f"{source} has no {name}{f' ({value})' if value else ''}.")


def check_units(reading: Reading, measures: Sequence[str], vocabulary: Vocabulary) -> None:
    """Refuse a unit that is not the one of all measures: declared, or a word of their names.

    If no unit is declared at all, any will do for a measure whose name has none.
    """
    units = [_units_of(name, vocabulary) for name in measures]
    if "how_many" in reading.says and any(each & _CURRENCIES for each in units):
        names = " and ".join(measures)
        raise UnclearError(f"Do you mean how much? Amounts of money are not counted: {names}.")
    for text in reading.units:
        unit = plain(text) or text
        stated = {unit, _UNITS.get(unit, unit)}
        if not all(stated & each or not (each or vocabulary.units) for each in units):
            raise UnclearError(f"I did not understand: {text}. It is not the unit of the measure.")


def _units_of(measure: str, vocabulary: Vocabulary) -> set[str]:
    """The unit of a measure: the declared one, or the words of its name that may be one."""
    named = {*plain(spaced(measure)).split()} & (_CURRENCIES | _NAMED_UNITS)
    known = vocabulary.units_of(measure) or named
    return known | {_UNITS[unit] for unit in known if unit in _UNITS}


def check_requests(reading: Reading, usable: set[str]) -> None:
    """Refuse a question that also asks for what its call cannot do."""
    asked = [kind for kind in reading.says if kind in _REQUESTS - usable]
    if "ordinal" in reading.says and not {"drill", "rows"} & reading.says.keys():
        asked.append("ordinal")
    if asked:
        words = ", ".join(reading.says[kind] for kind in asked)
        raise UnclearError(f"I did not understand: {words}. Ask it as a question of its own.")


def order_of(reading: Reading, measures: Sequence[str]) -> list[str]:
    """The order of a query's rows: by the measure that the question names for it."""
    if not reading.direction:
        return reading.ordered_by
    if len(measures) != 1 and not reading.ordered_by:
        raise UnclearError("The largest by which measure?")
    by = (reading.ordered_by or measures)[0].removeprefix("-")
    return [f"-{by}" if reading.direction == "most" else by]


def without_empty(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that say something."""
    return {name: value for name, value in arguments.items() if value}


def as_list(value: object) -> list[Any]:
    """A list of a list or of one value; empty for none."""
    if value is None:
        return []
    return list(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else [value]


def sentence_of(call: PlannedCall, *, is_quoted: bool = False) -> str | None:
    """A question for this call, with its values in quotes, or only those that need them.

    It is None if the call is neither a query nor a comparison.
    """
    asked = reading_of(call.arguments)
    measures, groups, sources = map(" and ".join, (asked.measures, asked.breakdown, asked.sources))
    if call.tool == COMPARE:
        what = f"Compare {measures} between {sources}" if measures else f"Compare {sources}"
    elif call.tool == QUERY:
        what = f"Show {measures or groups} of {sources}"
    else:
        return None
    limits, units = asked.thresholds.get("match", {}), {"absolute": "", "percentage": " %"}
    amounts = [f"{limits[kind]}{unit}" for kind, unit in units.items() if kind in limits]
    conditions = (
        part for each in asked.filters.items() for part in _condition(*each, is_quoted=is_quoted)
    )
    parts = [f"{what} by {groups}" if groups and measures else what, *conditions]
    parts += [f"with a tolerance of {' and '.join(amounts)}"] if amounts else []
    for name in asked.ordered_by:
        direction = " descending" if name.startswith("-") else ""
        parts.append(f"sorted by {name.removeprefix('-')}{direction}")
    parts += [f"first {asked.count} rows"] if asked.count else []
    return ", ".join(parts)


def _condition(name: str, condition: Any, *, is_quoted: bool) -> Iterator[str]:
    written = partial(_values, is_quoted=is_quoted)
    if not isinstance(condition, Mapping):
        yield f"for {name} {written(condition)}"
        return
    for operator, value in cast("Mapping[str, Any]", condition).items():
        if operator == "between":
            yield f"between {name} {written(value[0])} and {written(value[1])}"
        else:
            yield f"{_BOUNDS.get(operator, 'without')} {name} {written(value)}"


def _values(value: Any, *, is_quoted: bool) -> str:
    texts = map(str, as_list(value))
    return " and ".join(f'"{text}"' if is_quoted or not text.isalnum() else text for text in texts)
