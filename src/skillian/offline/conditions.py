"""Conditions of a question: from values and periods to the filter language of the tools."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from skillian.offline.periods import MONTHS, Period, are_years, dated, period_of, values_in
from skillian.offline.calls import UnclearError
from skillian.offline.tokens import Token
from skillian.offline.vocabulary import Vocabulary, plain

if TYPE_CHECKING:
    from skillian.offline.reading import Reading

Operator = Literal["eq", "ne", "gte", "gt", "lte", "lt", "between"]
_DIRECTIONS = {
    "from": {"origin", "from", "departure", "sender", "start"},
    "to": {"destination", "to", "arrival", "receiver", "end"},
}
_PART_OF_YEAR = re.compile(r"[qhm]?0?[1-9]|1[0-2]|" + "|".join(MONTHS))
_ENDS = ({"gte", "gt"}, {"lte", "lt"})


class NotReadError(Exception):
    """Tokens that the catalogue gives no meaning; the text names them.

    Attributes:
        instead: Words of the question with other words that have a meaning.
    """

    def __init__(self, text: str, instead: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(text)
        self.instead = instead


class Values:
    """Looks up what is written in the values of the dimensions.

    Args:
        vocabulary: The sources that the question is about.
        years: The years that the question names.
    """

    def __init__(self, vocabulary: Vocabulary, years: set[int]) -> None:
        self._vocabulary = vocabulary
        self._years = years

    def dimension_of(self, tokens: Sequence[Token], named: str | None, toward: str = "") -> str:
        """The one dimension that these values belong to; `toward` is "from" or "to" before them."""
        if named is not None:
            return named
        possible = [self._possible(token) for token in tokens]
        common = [name for name in possible[0] if all(name in each for each in possible)]
        if toward:  # "from Milan" is no destination
            against = _DIRECTIONS["to" if toward == "from" else "from"]
            common = [n for n in common if not set(plain(n).split()) & against]
            meant = [n for n in common if set(plain(n).split()) & _DIRECTIONS[toward]]
            common = meant if len(meant) == 1 else common
        if len(common) == 1 or (common and self._are_one(common)):
            return common[0]
        text = " and ".join(token.text for token in tokens)
        if common:
            words = [token.text for token in tokens]
            instead = [(words[0], f"{name} {words[0]}") for name in common]
            raise NotReadError(f"{text} ({' or '.join(common)}?)", instead)
        raise NotReadError(text)

    def of(self, token: Token, dimension: str) -> list[str]:
        """The values of the dimension that a token means: several for a period."""
        if dimension in token.values:
            return [token.values[dimension]]
        if token.period is not None and self.is_timed(dimension):
            return self._in_period(token, token.period, dimension)
        if token.kind in {"name", "number", "value", "number_value"} and self._is_possible(
            token.text, dimension
        ):
            return [token.text.strip("'\"“”")]
        raise NotReadError(token.text)

    def is_one_more(self, token: Token, tokens: Sequence[Token], named: str | None) -> bool:
        """Whether a value belongs to the same dimension as those before it."""
        try:
            dimension = self.dimension_of([*tokens[:1], token], named)
            return bool(self.of(token, dimension))
        except NotReadError:
            return False

    def is_timed(self, dimension: str) -> bool:
        """Whether the dimension's values are days or months."""
        return dimension in self._vocabulary.timed

    def is_part_of_year(self, dimension: str) -> bool:
        """Whether the dimension has quarters or months, beside another one for the years."""
        known = self._vocabulary.values.get(dimension, {})
        parts = bool(known) and all(_PART_OF_YEAR.fullmatch(value) for value in known)
        return parts and any(
            are_years(values) for values in self._vocabulary.values.values() if values
        )

    def is_run(self, tokens: Sequence[Token], values: Sequence[str], dimension: str) -> bool:
        """Whether several values are consecutive periods, in this order."""
        if not self.is_timed(dimension):
            return False
        if self._vocabulary.is_open(dimension):
            periods = [dated(t.period, self._years) for t in tokens if t.period is not None]
            days = [[date.fromisoformat(day) for day in p.iso()] for p in periods if p is not None]
            is_whole = len(days) == len(tokens)
            return is_whole and all(b[0] - a[1] == timedelta(1) for a, b in pairwise(days))
        known = sorted(self._vocabulary.values.get(dimension, {}).values())
        start = known.index(values[0]) if values[0] in known else len(known)
        return known[start : start + len(values)] == list(values)

    def _possible(self, token: Token) -> list[str]:
        if token.period is None:
            return list(token.values)
        return list(self._vocabulary.timed)

    def _in_period(self, token: Token, period: Period, dimension: str) -> list[str]:
        values = self._vocabulary.values.get(dimension, {}).values()
        years = self._years or {
            known.year for value in values if (known := period_of(value)) and known.year
        }
        known = dated(period, years)
        if known is None:
            instead = [(token.text, f"{token.text} {year}") for year in sorted(years, reverse=True)]
            raise NotReadError(f"{token.text} (of which year?)", instead)
        if self._vocabulary.is_open(dimension):
            first, last = known.iso()
            return [first] if first == last else [first, last]
        within = values_in(known, values)
        if not within:
            raise NotReadError(f"{token.text} (there is no such {dimension})")
        return within

    def _is_possible(self, text: str, dimension: str) -> bool:
        """Whether a value that the catalogue does not have may be one of the dimension."""
        if self._vocabulary.is_open(dimension):
            return True
        shapes = {_shape(value) for value in self._vocabulary.values.get(dimension, {}).values()}
        return _shape(text) in shapes and any(letter.isdigit() for letter in text)

    def _are_one(self, names: Sequence[str]) -> bool:
        """Whether no source has two of these dimensions: one dimension with several names."""
        sources = self._vocabulary.sources.values()
        return all(sum(name in source.dimensions for name in names) == 1 for source in sources)


def _shape(value: str) -> str:
    return "".join("9" if letter.isdigit() else letter for letter in value)


class Conditions:
    """The conditions on each dimension, in the order of the question."""

    def __init__(self) -> None:
        self._conditions: dict[str, dict[Operator, list[str]]] = {}

    def add(self, dimension: str, operator: Operator, values: Sequence[str]) -> bool:
        """Add a condition; returns False if the dimension already has another one."""
        known = self._conditions.setdefault(dimension, {})
        if known.get(operator) == list(values):
            return True
        if operator == "eq" and set(known) == {"eq"}:
            return False
        if operator == "ne" and set(known) == {"ne"}:
            known["ne"] += [value for value in values if value not in known["ne"]]
            return True
        is_second_end = any(
            operator in ends
            and len(known) == 1
            and not ends & set(known)
            and (set(known) <= _ENDS[0] | _ENDS[1])
            for ends in _ENDS
        )
        if known and not is_second_end:
            return False
        known[operator] = list(values)
        return True

    def arguments(self) -> dict[str, Any]:
        """The `filters` argument."""
        return {name: _argument(conditions) for name, conditions in self._conditions.items()}


def _argument(conditions: dict[Operator, list[str]]) -> Any:
    if "eq" in conditions:
        return _one_or_all(conditions["eq"])
    if set(conditions) == {"gte", "lte"}:
        return {"between": [conditions["gte"][0], conditions["lte"][0]]}
    return {
        operator: values if operator == "between" else _one_or_all(values)
        for operator, values in conditions.items()
    }


def _one_or_all(values: list[str]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def changed_filters(reading: Reading, before: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions of the last question, changed as the question says.

    "Also" adds values, "without" removes them, and bounds on both sides are a range; any other
    condition replaces the one on its dimension.
    """
    filters = {name: value for name, value in before.items() if name not in reading.cleared}
    for name, value in reading.filters.items():
        old = filters.get(name)
        is_map, was_map = isinstance(value, Mapping), isinstance(old, Mapping)
        if "also" in reading.says:
            filters[name] = _with_more(name, old, value)
        elif is_map and set(value) == {"ne"} and old is not None:
            filters[name] = _without(name, old, _listed(value["ne"]))
        elif is_map and was_map:
            filters[name] = _bounded(name, old, value)
        elif was_map and set(old) == {"ne"} and {*_listed(value)} & {*_listed(old["ne"])}:
            raise UnclearError(f"Also {' and '.join(_listed(value))}, or only?")
        else:
            filters[name] = value
    return {name: value for name, value in filters.items() if value is not None}


def _with_more(name: str, old: Any, value: Any) -> Any:
    """A condition with more values; None if it then has all."""
    if old is None or isinstance(value, Mapping):
        raise UnclearError(f"The last question has no {name} to add this to.")
    values = _listed(value)
    if not isinstance(old, Mapping):
        return _one_or_all(list(dict.fromkeys((*_listed(old), *values))))
    excluded = _listed(old.get("ne", []))
    left = [each for each in excluded if each not in values]
    if set(old) != {"ne"} or len(left) + len(values) > len(excluded):
        raise UnclearError(f"With {' and '.join(values)}, or also without?")
    return {"ne": _one_or_all(left)} if left else None


def _bounded(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Any:
    """The range of two bounds, or of a range and a bound within it; another range replaces it."""
    sides = [next((i for i, ends in enumerate(_ENDS) if set(x) <= ends), None) for x in (old, new)]
    if None not in sides and sides[0] != sides[1]:
        return _argument({k: _listed(v) for k, v in {**old, **new}.items()})
    if set(old) == {"between"} and sides[1] is not None:
        first, last = old["between"]
        bound = str(next(iter(new.values())))
        if not first <= bound <= last or set(new) & {"gt", "lt"}:
            raise UnclearError(f"Within {name} {first} to {last}, or instead of it?")
        return {"between": [bound, last] if sides[1] == 0 else [first, bound]}
    return new


def _without(name: str, old: Any, values: list[str]) -> Any:
    if isinstance(old, Mapping):
        if set(old) == {"ne"}:
            return {"ne": _one_or_all(list(dict.fromkeys((*_listed(old["ne"]), *values))))}
        return {**old, "ne": _one_or_all(values)}
    left = [value for value in _listed(old) if value not in values]
    if not left or len(left) + len(values) > len(_listed(old)):
        raise UnclearError(f"The last question was for {name} {' and '.join(_listed(old))}.")
    return _one_or_all(left)


def _listed(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]
