"""What a question leads to: a call, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from skillian.offline.language.lexicon import LEXICON
from skillian.offline.language.vocabulary import Vocabulary, plain, spaced

if TYPE_CHECKING:
    from skillian.offline.language.said import Reading


_REQUESTS = {
    *("why", "drill", "missing", "major", "minor", "equal", "more", "swap", "describe", "list"),
    *("also", "instead", "those", "amended", "filter"),
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
