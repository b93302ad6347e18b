"""Conditions and limits of a question: from tokens to the filters and thresholds of the tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from skillian.offline.language.filters import Operator, Parts, admits, both, filter_of, years_of
from skillian.offline.language.periods import MONTHS, are_years, dated, period_of, values_in
from skillian.offline.language.tokens import Token, as_number, of_kinds, text_of
from skillian.offline.language.vocabulary import Vocabulary, has_digit, is_plural, plain

_DIRECTIONS = {
    "from": {"origin", "from", "departure", "sender", "start"},
    "to": {"destination", "to", "arrival", "receiver", "end"},
}
_PART_OF_YEAR = re.compile(r"[qhm]?0?[1-9]|1[0-2]|" + "|".join(MONTHS))
_OF_CONDITIONS = {"value", "period", "name"}


class NotReadError(Exception):
    """Tokens that the catalogue gives no meaning; the text names them.

    Attributes:
        instead: Words of the question with other words that have a meaning.
    """

    def __init__(self, text: str, instead: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(text)
        self.instead = instead


def refuse_if(is_unclear: object, part: Sequence[Token]) -> None:
    """Raise `NotReadError` for a clause that has no meaning, or several."""
    if is_unclear:
        raise NotReadError(text_of(part))


@dataclass(slots=True)
class Conditions:
    """The conditions on each dimension, in the order of the question.

    Args:
        vocabulary: The sources that the question is about.
        years: The years that the question names.
        named: The dimensions that it names.
    """

    _vocabulary: Vocabulary
    _years: set[int]
    _named: set[str]
    _conditions: dict[str, Parts] = field(default_factory=dict[str, Parts])

    def arguments(self) -> dict[str, Any]:
        """The `filters` argument."""
        return {name: filter_of(conditions) for name, conditions in self._conditions.items()}

    @property
    def excludes_quarters(self) -> bool:
        """Whether quarters or months of any year are excluded."""
        known = self._conditions.items()
        return any("ne" in each and self._is_part_of_year(name) for name, each in known)

    def add(self, part: Sequence[Token], operator: Operator) -> None:
        """Add the conditions of a clause; raises `NotReadError`."""
        groups = self.groups(part)
        joins = {token.name for token in of_kinds(part, {"either"})}
        is_across = len(groups) > 1 and (operator != "eq" or bool(joins))
        refuse_if(is_across or ("nor" in joins and operator != "ne"), part)
        for dimension, tokens in groups:
            self._add_one(dimension, tokens, operator, text_of(part))

    def _add_one(
        self, dimension: str, tokens: Sequence[Token], operator: Operator, text: str
    ) -> None:
        each = [value for token in tokens for value in self.values_of(token, dimension)]
        values = list(dict.fromkeys(each))
        first, last = each[:1], each[-1:]
        parts: Parts = {operator: last if operator in {"gt", "lte"} else first}
        if operator in {"eq", "ne"}:
            is_year = tokens[0].period is None or tokens[0].period.is_year
            is_wide = len(each) > len(tokens) or (len(tokens) > 1 and not is_year)
            is_run = operator == "eq" and is_wide and self._is_run(tokens, each, dimension)
            is_unlisted = len(each) != len(tokens) and self._vocabulary.is_open(dimension)
            if _is_unclear(tokens) or (is_unlisted and not is_run):
                raise NotReadError(text)
            parts = {"gte": first, "lte": last} if is_run else {operator: values}
        else:
            is_timed = dimension in self._vocabulary.timed
            is_order = as_number if operator in {"gt", "lt"} else has_digit  # not "after C30"
            has_order = is_timed or all(is_order(value) for value in values)
            if not has_order or len(tokens) != (2 if operator == "between" else 1):
                raise NotReadError(text)
            if is_timed and first > last:
                raise NotReadError(f"{text} (it ends before it starts)")
            if operator == "between":
                parts = {"gte": first, "lte": last}
            elif self._is_part_of_year(dimension):
                raise NotReadError(f"{text} (of each year?)")
            numbers = [] if is_timed else self._numbers(dimension)
            if numbers:  # which may be texts in the database, where 10 is before 9
                within = [number for number in numbers if admits(filter_of(parts), number)]
                refuse_if(not within, tokens)
                parts = {"eq": within}
        combined = both(self._conditions.get(dimension, {}), parts)
        if combined is None:
            raise NotReadError(f"{text} (a second condition on {dimension})")
        self._conditions[dimension] = combined

    def groups(self, part: Sequence[Token]) -> list[tuple[str, list[Token]]]:
        """The values by dimension: named before or after them, or the only one possible."""
        groups: list[tuple[str | None, list[Token]]] = []
        for before, token in zip([None, *part], part, strict=False):
            if token.kind == "label":
                if not (groups and groups[-1][0] == token.name and groups[-1][1]):
                    groups.append((token.name, []))
            elif token.kind == "dimension":
                self._check_noun(token, groups[-1][1] if groups else [])
                groups[-1] = token.name, groups[-1][1]
            elif token.kind in _OF_CONDITIONS:
                name, tokens = groups[-1] if groups else (None, [])
                if tokens and _is_one_name(tokens[-1], token):
                    tokens[-1] = replace(tokens[-1], text=f"{tokens[-1].text} {token.text}")
                elif before is not None and before.kind == token.kind == "name":
                    raise NotReadError(text_of(part))
                elif groups and (not tokens or self._is_one_more(token, tokens, name)):
                    tokens.append(token)
                else:
                    groups.append((None, [token]))
        is_several = any(is_plural(each.text) for each in of_kinds(part, {"label"}))
        names = [t for _, tokens in groups for t in tokens if t.kind == "name"]
        codes = [t for t in names if "-" in t.text and all(map(has_digit, t.text.split("-")))]
        # "plants P01-P03"
        refuse_if(any(not tokens for _, tokens in groups) or (is_several and codes), part)
        toward = next((t.kind for t in part[:2] if t.kind in {"from", "to"}), "")
        return [(self._dimension_of(each, name, toward), each) for name, each in groups]

    def _check_noun(self, noun: Token, values: Sequence[Token]) -> None:
        """Refuse "KLM flights", where KLM is an airline, and "other customers"."""
        for value in values:
            is_new = not value.values and has_digit(value.text)
            if not (is_new or noun.name in value.values or value.period is not None):
                raise NotReadError(f"{value.text} {noun.text}", [(noun.text, "")])

    def is_timed(self, part: Sequence[Token]) -> bool:
        """Whether the first values of a clause are days or months."""
        return self.groups(part)[0][0] in self._vocabulary.timed

    def is_ordered(self, part: Sequence[Token]) -> bool:
        """Whether the first values of a clause are periods, or months or quarters of any year."""
        name = self.groups(part)[0][0]
        return name in self._vocabulary.timed or self._is_part_of_year(name)

    def _dimension_of(self, tokens: Sequence[Token], named: str | None, toward: str = "") -> str:
        """The one dimension that these values belong to; `toward` is "from" or "to" before them."""
        if named is not None:
            return named
        common = [name for name in tokens[0].values if all(name in t.values for t in tokens)]
        if toward:  # "from Milan" names an origin
            against = _DIRECTIONS["to" if toward == "from" else "from"]
            common = [n for n in common if not set(plain(n).split()) & against]
            meant = [n for n in common if set(plain(n).split()) & _DIRECTIONS[toward]]
            common = meant if len(meant) == 1 else common
        if len(common) > 1 and tokens[0].period is not None:
            # no month can hold "15 March", and "by month in 2024" is of months
            able = [n for n in common if all(self._is_one_more(t, tokens, n) for t in tokens)]
            stated = [name for name in able if name in self._named]
            common = stated if len(stated) == 1 else self._longest(able or common) or common
            is_part = self._vocabulary.is_part
            common = [n for n in common if not any(is_part(fine, n) for fine in common)]
        if len(common) == 1:
            return common[0]
        first, text = tokens[0].text, " and ".join(token.text for token in tokens)
        doubt = f" ({' or '.join(common)}?)" if common else ""
        raise NotReadError(text + doubt, [(first, f"{name} {first}") for name in common])

    def _longest(self, names: list[str]) -> list[str]:
        """The dimension of the longest periods if one of them determines all others."""
        known = self._vocabulary
        for fine in names:
            if all(name == fine or known.is_part(fine, name) for name in names):
                sources = known.sources.values()
                shared = [n for n in names if all(n in each.dimensions for each in sources)]
                parts = {n: sum(known.is_part(each, n) for each in names) for n in shared}
                return [max(shared, key=parts.__getitem__)] if shared else []
        return names

    def values_of(self, token: Token, dimension: str) -> list[str]:
        """The values of the dimension that a token means: several for a period."""
        if dimension in token.values:
            alike = self._vocabulary.alike.get((dimension, token.name), ())
            if not alike:
                return self._in_period(token, dimension) or [token.values[dimension]]
            if token.is_quoted and token.text in alike:
                return [token.text]
            written = [f'"{value}"' for value in alike]
            choices = (" and ".join(written), *written)
            instead = [(token.text, f"{dimension} {choice}") for choice in choices]
            raise NotReadError(f"{token.text} ({' or '.join(alike)}?)", instead)
        if token.kind in {"name", "number", "value"} and self._is_possible(token.text, dimension):
            return [token.text.strip("'\"“”")]
        raise NotReadError(token.text)

    def _is_one_more(self, token: Token, tokens: Sequence[Token], named: str | None) -> bool:
        """Whether a value belongs to the same dimension as those before it."""
        possible = [named] if named else [n for n in token.values if n in tokens[0].values]
        try:
            return bool(possible and self.values_of(token, possible[0]))
        except NotReadError:
            return False

    def _numbers(self, dimension: str) -> list[str]:
        """All values of a dimension by size, if they are whole numbers of several lengths."""
        known = self._vocabulary.values.get(dimension, {})
        is_open = self._vocabulary.is_open(dimension) or not all(map(str.isdecimal, known))
        return [] if is_open or len({*map(len, known)}) == 1 else sorted(known, key=int)

    def _is_part_of_year(self, dimension: str) -> bool:
        """Whether the dimension has quarters or months, beside another one for the years."""
        known = self._vocabulary.values.get(dimension, {})
        parts = bool(known) and all(_PART_OF_YEAR.fullmatch(value) for value in known)
        return parts and any(
            are_years(values) for values in self._vocabulary.values.values() if values
        )

    def _is_run(self, tokens: Sequence[Token], values: Sequence[str], dimension: str) -> bool:
        """Whether several values are consecutive periods, in this order."""
        if self._vocabulary.is_open(dimension):
            periods = [dated(t.period, self._years) for t in tokens if t.period is not None]
            days = [period for period in periods if period is not None]
            is_whole = len(days) == len(tokens)
            return is_whole and all(b.first - a.last == timedelta(1) for a, b in pairwise(days))
        known = sorted(self._vocabulary.values.get(dimension, {}).values())
        start = known.index(values[0]) if values[0] in known else len(known)
        return known[start : start + len(values)] == list(values)

    def _in_period(self, token: Token, dimension: str) -> list[str]:
        """The values of the dimension within a period; none of another token."""
        if token.period is None:
            return []
        values = self._vocabulary.values.get(dimension, {}).values()
        years = self._years or years_of(values)
        known = dated(token.period, years)
        if known is None:
            end = self._vocabulary.last_day
            if not years and end is not None:  # of days: the last one in the data
                is_later = token.period.first > end.replace(token.period.first.year)
                years = frozenset([end.year - is_later])
            instead = [(token.text, f"{token.text} {year}") for year in sorted(years, reverse=True)]
            raise NotReadError(f"{token.text} (of which year?)", instead)
        if self._vocabulary.is_open(dimension):
            first, last = known.iso()
            return [first] if first == last else [first, last]
        within = values_in(known, values)
        if not within:
            raise NotReadError(f"{token.text} (there is no such {dimension})")
        member = period_of(within[0])
        length = member.length if member else 0
        if length and ((known.first.month - 1) % length or known.length % length):
            raise NotReadError(f"{token.text} (not a whole {dimension})")
        return within

    def _is_possible(self, text: str, dimension: str) -> bool:
        """Whether a value that the catalogue does not have may be one of the dimension."""
        known = self._vocabulary.values.get(dimension, {}).values()
        shape, *shapes = (re.sub(r"\d", "9", each) for each in (text, *known))
        return self._vocabulary.is_open(dimension) or (shape in shapes and has_digit(text))


def _is_unclear(tokens: Sequence[Token]) -> bool:
    """Whether periods are "December 2023 and 2024", or "December and January 2024"."""
    periods = [token.period for token in tokens if token.period is not None]
    starts = [(period.first.month, period.first.day) for period in periods]
    is_dated = all(period.has_year for period in periods)
    return len({p.length for p in periods}) > 1 or not (is_dated or starts == sorted(starts))


def _is_one_name(before: Token, token: Token) -> bool:
    """Whether two new names are one: "Acme Corp", with nothing but a space between them."""
    is_next = token.at == before.at + len(before.text) + 1
    is_code = has_digit(token.text)  # "customers C12 C13"
    is_apart = is_code or before.is_quoted or token.is_quoted
    return is_next and not is_apart and before.kind == token.kind == "name"


def add_limits(part: Sequence[Token], thresholds: dict[str, dict[str, Any]]) -> list[str]:
    """Add a stated limit, or an absolute and a relative one that must both be met; its units."""
    refuse_if(any(token.name == "or" for token in part), part)
    limits = thresholds.setdefault("match", {})
    numbers = [at for at, token in enumerate(part) if token.kind == "number"]
    named: list[str] = []
    if not numbers:  # "ignore cents"
        limits["absolute"] = 1
        return [token.text for token in of_kinds(part, {"cents"})]
    for at, end in zip(numbers, [*numbers[1:], len(part)], strict=True):
        amount = part[max(at - 1, 0) : end]
        number, units = as_number(part[at].text), {token.kind for token in amount}
        kind = "percentage" if "percent" in units else "absolute"
        if number is None or kind in limits:
            raise NotReadError(text_of(part))
        named += [t.text for t in of_kinds(amount, {"currency", "cents", "unit"})]
        limits[kind] = as_json(number.scaleb(-2) if "cents" in units else number)
    return named


def as_json(number: Decimal) -> int | float | str:
    """A number for JSON, with all of its digits."""
    if number == int(number):
        return int(number)
    text = format(number.normalize(), "f")
    return float(text) if str(float(text)) == text else text
