"""Filter values of a question: "company 1001 and 1003", "from 2024001 to 2024003", "March 2024"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skillian.offline import figures
from skillian.offline.lexicon import (
    AFTERWARDS,
    ARTICLES,
    CHANGING,
    HARMLESS,
    JOINING,
    OPERATORS,
    RANGES,
    WEAK,
    SpokenOperator,
)
from skillian.offline.vocabulary import MOST_PASSED, Phrases, Vocabulary, Word

_LONGEST_VALUE = 5
_LONGEST_OPERATOR = 4
_ORDERED: set[SpokenOperator | None] = {"gte", "gt", "lte", "lt", "between"}
_BETWEEN_NAME_AND_VALUE = {
    *("code", "number", "no", "nr", "id", "in", "is", "are", "of", ":", "="),
    *("the", "value", "called", "named", "either"),
}
_BEFORE_VALUE = {"for", "in", "of", "the", "during", "month", "year", "all", "both", "either"}


@dataclass(frozen=True, slots=True)
class SpokenCondition:
    """A condition on one dimension, from `length` words."""

    length: int
    dimension: str
    operator: SpokenOperator
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _SpokenValue:
    """A value, or the values of a span of months in their order, from `length` words."""

    length: int
    dimension: str
    values: tuple[str, ...]


class ValueReader:
    """Finds conditions; a value is in the data, or follows the name of its dimension."""

    def __init__(self, words: Sequence[Word], vocabulary: Vocabulary, phrases: Phrases) -> None:
        self._words = words
        self._vocabulary = vocabulary
        self._phrases = phrases
        named = figures.named_years(words)
        self._years = {
            name: named
            or {month[0] for value in values.values() if (month := figures.month_of(value))}
            for name, values in vocabulary.values.items()
        }

    def condition_at(self, at: int) -> SpokenCondition | None:
        """Return the condition that starts here: [operator] [dimension] [operator] values."""
        position, operator = self._operator(at)
        position, dimension = self._dimension(position)
        if dimension is not None:
            position, second = self._operator(position)
            operator = second or operator
            if not second:
                position = self._skip(position, _BETWEEN_NAME_AND_VALUE)
        elif operator is None and position != at:
            return None
        if operator is not None:
            position = self._skip(position, ARTICLES | _BEFORE_VALUE)
            if dimension is None:
                position, dimension = self._dimension(position)
        first = self._value(position, dimension, is_named=dimension is not None)
        if first is None:
            return None
        if operator in _ORDERED and not self._has_order(first):
            if self._plain(at) not in WEAK:
                return None
            operator = None  # "from EMEA", "through the web"
        end, final, values = self._values(position + first.length, first, operator)
        after, named = self._dimension(end)
        end = after if named == first.dimension and dimension is None else end
        return SpokenCondition(end - at, first.dimension, final, values)

    def _has_order(self, value: _SpokenValue) -> bool:
        """Whether "after" makes sense for it: it has digits, in the format of the data."""
        known = self._vocabulary.values.get(value.dimension, {}).values()
        shapes = {_shape(each) for each in known} or {_shape(value.values[0])}
        is_like = _shape(value.values[0]) in shapes or self._vocabulary.is_open(value.dimension)
        return is_like and any(letter.isdigit() for letter in value.values[0])

    def _values(
        self, end: int, first: _SpokenValue, operator: SpokenOperator | None
    ) -> tuple[int, SpokenOperator, tuple[str, ...]]:
        """Return what the first value starts: a range, a list, or an open range."""
        last = self._end_of_range(end, first, operator)
        if last is not None:
            end, second = last
            return end, "between", (first.values[0], second.values[-1])
        after, afterwards = self._afterwards(end)
        if operator is None and afterwards is not None:
            return after, afterwards, _bound(first.values, afterwards)
        if operator in {None, "eq", "ne"}:
            return self._list(end, first, operator or "eq")
        if operator == "gte" and self._plain(end) in {"on", "onward"}:
            end += 1
        if operator == "between" or operator is None:
            return end, "eq", first.values
        return end, operator, _bound(first.values, operator)

    def _list(
        self, end: int, first: _SpokenValue, operator: SpokenOperator
    ) -> tuple[int, SpokenOperator, tuple[str, ...]]:
        values = list(first.values)
        spans = len(values) > 1
        while True:
            after = self._skip(end, JOINING | {"for", "in", "either"})
            after, named = self._dimension(after)
            value = self._value(after, first.dimension, is_named=named is not None)
            if value is None or named not in {None, first.dimension}:
                break
            values += [each for each in value.values if each not in values]
            spans = spans or len(value.values) > 1
            end = after + value.length
        known = list(self._vocabulary.values.get(first.dimension, {}).values())
        is_span = values == list(first.values) and self._vocabulary.is_open(first.dimension)
        if spans and operator == "eq" and (is_span or _is_run(values, known)):
            return end, "between", (values[0], values[-1])
        return end, operator, tuple(values)

    def _end_of_range(
        self, end: int, first: _SpokenValue, operator: SpokenOperator | None
    ) -> tuple[int, _SpokenValue] | None:
        joined = {"and"} if operator == "between" else RANGES
        if operator not in {None, "eq", "gte", "between"}:
            return None
        for length in (2, 1):
            phrase = " ".join(word.plain for word in self._words[end : end + length])
            if phrase in joined:
                start = self._skip(end + length, ARTICLES | {"including", "and"})
                start, named = self._dimension(start)
                value = self._value(start, first.dimension, is_named=True)
                is_end = value is not None and _shape(value.values[-1]) == _shape(first.values[0])
                if value is not None and is_end and named in {None, first.dimension}:
                    return start + value.length, value
        return None

    def _operator(self, at: int) -> tuple[int, SpokenOperator | None]:
        for length in range(_LONGEST_OPERATOR, 0, -1):
            part = self._words[at : at + length]
            phrase = " ".join(word.plain for word in part)
            if len(part) == length and phrase in OPERATORS:
                return at + length, OPERATORS[phrase]
        return at, None

    def _afterwards(self, at: int) -> tuple[int, SpokenOperator | None]:
        for length in (2, 1):
            part = self._words[at : at + length]
            phrase = " ".join(word.plain for word in part)
            is_last = length > 1 or phrase != "on" or at + 1 >= len(self._words)
            if len(part) == length and phrase in AFTERWARDS and is_last:
                return at + length, AFTERWARDS[phrase]
        return at, None

    def _dimension(self, at: int) -> tuple[int, str | None]:
        """Return the dimension named here, after articles."""
        start = self._skip(at, ARTICLES)
        name = self._phrases.at(self._words, start) if start < len(self._words) else None
        if name is None or "dimension" not in name.meanings:
            return at, None
        return start + name.length, name.meanings["dimension"]

    def _value(self, at: int, dimension: str | None, *, is_named: bool) -> _SpokenValue | None:
        """Return the value at this word, of this dimension unless it is None.

        After the name of the dimension it may be missing in the data; without the name only if no
        other dimension has it.
        """
        if at >= len(self._words):
            return None
        value = self._known(at, dimension) or self._months(at, dimension)
        if value is not None or dimension is None:
            return value
        is_of_another = not is_named and (self._known(at, None) or self._months(at, None))
        return None if is_of_another else self._said(at, dimension)

    def _known(self, at: int, dimension: str | None) -> _SpokenValue | None:
        """Return the longest value of the data here; a common word only after its dimension."""
        for length in range(min(_LONGEST_VALUE, len(self._words) - at), 0, -1):
            part = self._words[at : at + length]
            text = " ".join(word.text for word in part)
            with_value = self._vocabulary.dimensions_with(text)
            if dimension is not None:
                with_value = tuple(name for name in with_value if name == dimension)
            elif length == 1 and not part[0].is_quoted and _is_everyday(part[0]):
                continue
            if len(with_value) == 1 or (with_value and self._are_one(with_value)):
                name = with_value[0]
                value = self._vocabulary.values[name][text.lower()]
                return _SpokenValue(length, name, (value,))
        return None

    def _are_one(self, names: Sequence[str]) -> bool:
        """Whether no source has two of these dimensions: one dimension with several names."""
        return all(
            sum(name in source.dimensions for name in names) == 1
            for source in self._vocabulary.sources.values()
        )

    def _months(self, at: int, dimension: str | None) -> _SpokenValue | None:
        """Return the values of the months that are named, of a single dimension."""
        candidates: list[_SpokenValue] = []
        for name, values in self._vocabulary.values.items():
            if dimension not in {None, name}:
                continue
            read = figures.read_span(self._words, at, self._years[name])
            if read is None:
                continue
            inside = figures.in_span(values.values(), read[1])
            if self._vocabulary.is_open(name) and self._vocabulary.is_date(name):
                inside = figures.days_of(read[1])
            if inside:
                candidates.append(_SpokenValue(read[0], name, tuple(inside)))
        if candidates and (
            len(candidates) == 1 or self._are_one([each.dimension for each in candidates])
        ):
            return candidates[0]
        return None

    def _said(self, at: int, dimension: str) -> _SpokenValue | None:
        """Return a value after its dimension that the data does not, or may not, have."""
        word = self._words[at]
        is_name = word.is_quoted or word.has_digit
        if self._vocabulary.is_open(dimension):
            is_name = is_name or (word.is_name_like and not _is_everyday(word))
        if not is_name or "%" in word.text or self._phrases.at(self._words, at) is not None:
            return None
        return _SpokenValue(1, dimension, (word.text,))

    def _skip(self, at: int, passed: set[str]) -> int:
        end = min(at + MOST_PASSED, len(self._words))
        while at < end and self._plain(at) in passed:
            at += 1
        return at

    def _plain(self, at: int) -> str:
        return self._words[at].plain if at < len(self._words) else ""


def _bound(values: tuple[str, ...], operator: SpokenOperator) -> tuple[str, ...]:
    """Return the end of a span that an operator uses: "after 2023" is after its last month."""
    return (values[-1],) if operator in {"gt", "lte"} else (values[0],)


def _shape(value: str) -> str:
    """Return the format of a value: both ends of a range have the same."""
    return "".join("9" if letter.isdigit() else letter for letter in value)


def _is_run(values: Sequence[str], known: Sequence[str]) -> bool:
    """Whether the values are consecutive in the data, in this order."""
    ordered = sorted(known)
    if values[0] not in ordered:
        return False
    start = ordered.index(values[0])
    return ordered[start : start + len(values)] == list(values)


def _is_everyday(word: Word) -> bool:
    plain = word.plain
    return plain in HARMLESS or plain in CHANGING or plain in WEAK


class Conditions:
    """The conditions on each dimension, in the order of the question."""

    def __init__(self) -> None:
        self._conditions: dict[str, dict[SpokenOperator, list[str]]] = {}

    def add(self, dimension: str, operator: SpokenOperator, values: Sequence[str]) -> bool:
        """Add a condition; returns False if it contradicts an earlier one on that dimension."""
        conditions = self._conditions.setdefault(dimension, {})
        if operator in {"eq", "ne"}:
            known = conditions.setdefault(operator, [])
            known += [value for value in values if value not in known]
        elif operator in conditions:
            return False
        else:
            conditions[operator] = list(values)
        return len(conditions) == 1 or "eq" not in conditions

    def arguments(self) -> dict[str, Any]:
        """Return the `filters` argument."""
        return {name: _argument(conditions) for name, conditions in self._conditions.items()}


def _argument(conditions: dict[SpokenOperator, list[str]]) -> Any:
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
