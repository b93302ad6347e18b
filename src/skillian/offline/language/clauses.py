"""The clauses of a question: which kinds of tokens each has, and what it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from skillian.offline.language.filters import Parts, both, years_of
from skillian.offline.language.lexicon import KINDS, data_of
from skillian.offline.language.periods import Period, dated, period_of
from skillian.offline.language.tokens import Token, as_number
from skillian.offline.language.vocabulary import Vocabulary, plain

_NAMES = {
    "source": {"": "sources"},
    "measure": {n: n for n in ("measures", "removed", "replaced")}
    | {"": "ordered", "look": "", "ne": "", "limit": "units"},
    "dimension": {n: n for n in ("groups", "cleared", "removed", "ordered", "replaced")}
    | {"": "members", "ne": ""},
    "stepwise": {"": "groups"},
    "tolerance": {"removed": "removed", "": ""},
}
"""Where the names of each kind of token go, by the clause that it is in."""
SIGNS = {"most": "-", "desc": "-", "least": "", "asc": ""}
"""What an order begins with, by the kind of the word that states it."""
_OPERATORS = {
    "since": "gte",
    "onwards": "gte",
    "after": "gt",
    "until": "lte",
    "before": "lt",
    **dict.fromkeys(("not", "remove", "but", "ignore", "excluded", "leave", "out"), "ne"),
}
_ROUTE = {
    "from": {"origin", "from", "departure", "sender", "start"},
    "to": {"destination", "to", "arrival", "receiver", "end", "dest"},
}
_MOST_ROWS, _ENDS = 1000, 2
_THOUSAND = re.compile(r"^(\d{1,3})[.,](?=\d{3}$)(\d+?)(0*)$")
_PLAIN_NOT = {"not", "no", "isn't", "aren't"}
_ASKING = {"which", "how_many", "how_much"}
_LIMITING = {"ignore", "tolerance", "within"}


def _pattern(form: str) -> re.Pattern[str]:
    """The regular expression of a form, over the kinds of tokens with a space after each."""
    words = (re.fullmatch(r"([^?*]+)([?*]?)", word) for word in form.lower().split())
    return re.compile("".join(f"(?:(?:{w[1]}) ){w[2]}" for w in words if w))


_GRAMMAR = data_of("grammar.toml")
_FORMS = [(n, _pattern(form)) for n, forms in _GRAMMAR["clauses"].items() for form in forms]
_CLASHES = [(form, reason) for reason, forms in _GRAMMAR["clashes"].items() for form in forms]


class UnclearError(Exception):
    """Why a question has no call: words without a meaning, or a sentence."""


def refuse(*doubts: tuple[object, str]) -> None:
    """Refuse a question for the first reason that applies."""
    for is_unclear, reason in doubts:
        if is_unclear:
            raise UnclearError(reason)


@dataclass(slots=True)
class Reading:
    """What a question says, in the language of the tools.

    `members` are dimensions whose members are asked for, and the order is `sign` and `ordered`.
    `says` are the kinds of tokens that show what is requested. Without what is `unread` a call
    would answer another question. `parts` are the places of the tokens of each clause, without a
    name if it is not read.
    """

    sources: list[str] = field(default_factory=list[str])
    measures: list[str] = field(default_factory=list[str])
    groups: list[str] = field(default_factory=list[str])
    members: list[str] = field(default_factory=list[str])
    filters: dict[str, Parts] = field(default_factory=dict[str, Parts])
    limits: dict[str, Any] = field(default_factory=dict[str, Any])
    units: list[str] = field(default_factory=list[str])
    count: int | None = None
    sign: str | None = None
    ordered: list[str] = field(default_factory=list[str])
    cleared: list[str] = field(default_factory=list[str])
    removed: list[str] = field(default_factory=list[str])
    replaced: list[str] = field(default_factory=list[str])
    is_singular: bool = False
    says: dict[str, str] = field(default_factory=dict[str, str])
    clauses: list[str] = field(default_factory=list[str])
    unread: list[str] = field(default_factory=list[str])
    tokens: Sequence[Token] = ()
    parts: list[tuple[str, range]] = field(default_factory=list[Any])

    @property
    def named(self) -> list[str]:
        """The dimensions to group by."""
        return list(dict.fromkeys((*self.members, *self.groups)))


@dataclass(slots=True)
class Reader:
    """Reads the clauses of tokens; periods without a year are of `years` if none has one."""

    tokens: Sequence[Token]
    vocabulary: Vocabulary
    years: frozenset[int]
    reading: Reading = field(default_factory=Reading)

    def read(self) -> Reading:
        """What the tokens say."""
        reading, at, line, texts = self.reading, 0, "", list[tuple[int, str]]()
        reading.tokens = self.tokens
        timed = [t for t in self.tokens if {*t.values} <= {*self.vocabulary.timed}]
        periods = [item.period for token in timed for item in token.items if item.period]
        self.years = frozenset(p.first.year for p in periods if p.has_year) or self.years
        while at < len(self.tokens):
            name, length = self._clause(self.tokens[at:])
            part = self.tokens[at : at + length]
            text = " ".join(f"{token.prep} {token.text}".strip() for token in part)
            reading.parts.append((name, range(at, at + length)))
            try:
                is_one = len(part[-1].items or part[-1].names) != _ENDS
                is_unclear = part[0].kind == "which" and name == "members" and part[-1].prep != ""
                is_unclear |= "both" in {t.kind for t in part} and is_one
                refuse((not name or is_unclear, _THOUSAND.sub(r"\g<0> (\1\2\3 or \1.\2?)", text)))
                for token in part:
                    reading.says[token.kind] = token.text
                    self._take(name, token, text)
                values = [token for token in part if token.kind == "value"]
                if name == "replaced":
                    items = [item for value in values for item in value.items]
                    reading.replaced += [v for i in items for of in i.values.values() for v in of]
                elif values:
                    self._where(name, values, part, text)
                if name in {"limit", "amended"}:
                    self._limit(part, text)
            except UnclearError as error:
                reading.unread.append(str(error))
                reading.parts[-1] = ("", range(at, at + length))
            at += length
            texts.append((len(line), text))
            line += f"{', ' * bool(part[0].mark)}{self._sign(name, part)} "
            reading.clauses.append(name)
        for form, reason in _CLASHES if not reading.unread else ():
            if match := re.search(form, line):
                said = [text for start, text in texts if start < match.end()]
                reading.unread.append(f"{said[-1]} ({reason})")
        if noun := re.search(r"(eq|ne). measures- ", line):
            reading.says["of_noun"] = noun[0]
        reading.unread += [text for is_unclear, text in self._doubts(line) if is_unclear]
        return reading

    def _clause(self, tokens: Sequence[Token]) -> tuple[str, int]:
        """The name and the number of tokens of the longest clause at the beginning of tokens."""
        kinds = "".join(f"{', ' * bool(t.mark and at)}{t.kind} " for at, t in enumerate(tokens))
        found = [(match.end(), name) for name, form in _FORMS if (match := form.match(kinds))]
        ends = next((len(kinds[:end].split()) for end, name in found if name == "range"), 0)
        values = [{*token.values} for token in tokens[:ends] if token.kind == "value"]
        if len(values) == _ENDS and values[0].isdisjoint(values[1]):
            found = [(end, name) for end, name in found if name != "range"]
        end, name = max(found, key=lambda each: each[0], default=(0, ""))
        length = len(kinds[:end].replace(",", "").split()) or 1
        if name == "only_in" and tokens[length - 1].kind == "only":
            following, _ = self._clause(tokens[length - 1 :])
            if following in {"eq", "bound", "range"}:
                return "sources", length - 1  # "revenue of erp only Germany"
        return name, length

    def _sign(self, name: str, part: Sequence[Token]) -> str:
        """The name of a clause with + if it cannot belong to a noun, or else -."""
        value, kinds = part[-1] if part[-1].items else part[0], {token.kind for token in part}
        is_bare = not any(token.prep or token.label for token in part)
        is_bare &= not (name == "eq" and kinds & {"only", "verb", "by", "both"})
        is_code = len(value.items) > 1 or value.text[-1:].isdecimal()
        if name == "eq" and is_code and not self.reading.clauses:
            is_bare = False  # unlike a verb, as in "export revenue"
        if name == "sorted":
            is_bare = part[-1].text.lower().endswith(("ing", "asc", "desc"))
        if name == "ranked" and part[-1].kind == "measure":
            name = "ranked_by"  # "lowest mileage: which depot"
        if name == "eq" and {*value.values} <= {*self.vocabulary.timed}:
            name = "timed" if len(value.items) == 1 else "several"
        return f"{part[0].kind if name == 'said' else name}{'-' if is_bare else '+'}"

    def _doubts(self, line: str) -> list[tuple[object, str]]:
        """What only the whole question shows to have several readings."""
        reading, says = self.reading, self.reading.says
        is_listed = reading.sign is not None or says.keys() & {"gap", "first", "major", "minor"}
        is_each = any("ne" in reading.filters.get(name, {}) for name in reading.groups)
        is_each &= "every" in says and len(reading.named) > 1
        is_asked = says.keys() & _ASKING or any(t.prep == "did" for t in self.tokens)
        is_edit = {*reading.clauses} <= {"edit", "recounted"}
        is_open = "ranked" in line and reading.ordered and not (reading.members or reading.count)
        return [
            (len(reading.ordered) > 1, "two orders"),
            (is_each, f"{says.get('every')} (each apart, or all of them?)"),
            ("verb" in says and not (reading.measures or reading.ordered), says.get("verb", "")),
            ("verb" in reading.clauses and not is_asked, says.get("verb", "")),
            (reading.count and not (is_listed or is_edit), f"{reading.count} (which ones?)"),
            (is_open, "the largest of what?"),
            (reading.ordered and not (is_listed or says.keys() & {"rank", "ordered"}), "by what?"),
        ]

    def _take(self, name: str, token: Token, text: str) -> None:
        """Note the names, the order and the number of rows that a token of a clause says."""
        reading = self.reading
        if token.kind in _NAMES:
            of = _NAMES[token.kind]
            names: list[str] = getattr(reading, of.get(name, of[""]), [])
            names = [] if "not" in reading.says and name == "only_in" else names
            names += [each for each in token.names or (token.kind,) if each not in names]
        if token.kind in SIGNS:
            reading.sign = SIGNS[token.kind]
        if token.kind == "gap" and name == "ranked" and not reading.members:
            reading.is_singular = plain(token.text) == token.text.lower()
        if token.kind == "dimension" and name in {"members", "ranked", "noun"}:
            is_singular = plain(token.text) == token.text.lower()
            reading.is_singular = is_singular or "which of" in text.lower()
            refuse((f"most {token.text}".lower() in text.lower(), text))
        is_row = KINDS.get(plain(token.text)) == "rows"
        refuse((name == "look" and token.kind == "measure" and not is_row, text))
        reading.units += [token.text] if name == "unit" else []
        if token.kind == "number" and name != "limit":
            number = as_number(token.text)
            is_count = number is not None and number == int(number) and 0 < number <= _MOST_ROWS
            refuse((reading.count or not is_count, text))
            reading.count = int(number or 0)

    # Which part of it

    def _where(self, name: str, values: Sequence[Token], part: Sequence[Token], text: str) -> None:
        """Add the conditions of a clause."""
        if name == "corrected":  # "not AT, but BE"
            refuse((values[0].values.keys().isdisjoint(values[-1].values), text))
            values, part = values[-1:], part[-1:]
        kinds, value = [token.kind for token in part], values[0]
        operator = next((_OPERATORS[kind] for kind in kinds if kind in _OPERATORS), "eq")
        last = value.text.rpartition(" and ")[2] if not value.prep else value.text
        is_list = kinds[-1] == "excluded" and "," in value.joins and "," in last
        is_which = "which" in self.reading.says and part[0].text.lower() in _PLAIN_NOT
        is_last = value is part[-1] and bool(value.prep) and not value.label
        is_after = name in {"bound", "place"} and is_last
        is_timed = bool({*value.values} & {*self.vocabulary.timed})
        is_until = is_timed and "by" in kinds  # "by May 2024"
        refuse((is_list or is_which or is_after or is_until, text))
        if name == "range" and (is_timed or kinds[0] == "between"):
            ends = tuple(item for each in values for item in each.items)
            shared = {name: () for name in value.values if name in values[-1].values}
            refuse((len(ends) != _ENDS or not shared, text))
            self._add(replace(value, values=shared), "between", ends)
            return
        toward = [kind for kind in kinds if kind in _ROUTE] if name in {"place", "ne"} else []
        toward = ["from", "to"] if name == "range" else [*toward, ""]
        for each, way in zip(values, toward, strict=False):
            refuse((way and {*each.values} & {*self.vocabulary.timed}, text))
            self._add(each, operator, each.items, way)

    def _add(self, value: Token, operator: str, items: Sequence[Token], toward: str = "") -> None:
        """Add a condition on the dimension of a value."""
        name, text = self._dimension_of(value, items, toward), value.text
        meant = [self._meant(item, name) for item in items]
        each, periods = [values for values, _ in meant], [period for _, period in meant if period]
        found = list(dict.fromkeys(v for values in each for v in values))
        first, last = list(each[0][:1]), list(each[-1][-1:])
        is_unordered = periods != sorted(periods, key=lambda period: period.first)
        is_undated = any(item.period and not item.period.has_year for item in items)
        refuse(("nor" in value.joins and operator != "ne", text))
        refuse((toward and all(map(str.isdecimal, found)), text))  # "from September", which is 9
        refuse((is_unordered and (is_undated or operator == "between"), text))
        if operator in {"eq", "ne"}:
            steps = {b.first - a.last for a, b in pairwise(periods)}
            is_wide = len(found) > len(items) or any(not period.is_year for period in periods)
            is_run = operator == "eq" and len(periods) == len(items) and is_wide and len(found) > 1
            is_run = is_run and steps <= {timedelta(1)}
            is_split = self.vocabulary.is_open(name) and len(found) > len(items) and not is_run
            refuse((is_split or len({period.length for period in periods}) > 1, text))
            parts: Parts = {"gte": first, "lte": last} if is_run else {operator: found}
        else:
            is_period = all(map(period_of, found))
            is_number = operator == "between" and all(map(str.isdecimal, found))
            is_number &= len({*map(len, found)}) == 1  # 10 may be a text that is before 9
            is_one = operator == "between" or len(items) == 1
            refuse((not (is_period or is_number) or not is_one or first > last, text))
            parts = {operator: last if operator in {"gt", "lte"} else first}
            parts = {"gte": first, "lte": last} if operator == "between" else parts
        combined = both(self.reading.filters.get(name, {}), parts)
        refuse((combined is None, f"{text} (a second condition on {name})"))
        self.reading.filters[name] = combined or parts

    def _dimension_of(self, value: Token, items: Sequence[Token], toward: str) -> str:
        """The one dimension that a value belongs to; `toward` is "from" or "to" before it."""
        names = [value.label] if value.label else list(value.values)
        words = {name: {*plain(name).split()} for name in names}
        if toward:
            against = _ROUTE["to" if toward == "from" else "from"]
            meant = [name for name in names if words[name] & _ROUTE[toward]]
            names = meant or [n for n in names if not (words[n] & against or value.label)]
        stated = {n for token in self.tokens if token.kind == "dimension" for n in token.names}
        timed = [name for name in names if name in self.vocabulary.timed]
        chosen = [name for name in timed if name in stated] or self._longest(timed, items)
        names = [name for name in names if name not in timed or name in chosen]
        refuse((len(names) != 1, f"{value.text} ({' or '.join(names)}?)" if names else value.text))
        return names[0]

    def _longest(self, names: list[str], items: Sequence[Token]) -> list[str]:
        """The longest dimension that has these periods, if the others that have are its parts."""
        having = list[str]()
        for name in names if len(names) > 1 else ():
            with suppress(UnclearError):
                having += [name for _ in [self._meant(item, name) for item in items]][:1]
        described = self.vocabulary.dimensions
        of = {n: [{n, *words.parts} for words in described[n]] for n in having}
        return [n for n in having if all({*having} <= parts for parts in of[n])] or names

    def _meant(self, item: Token, name: str) -> tuple[tuple[str, ...], Period | None]:
        """The values of the dimension that a token means, and the days of a period."""
        values = self.vocabulary.values(name)
        found = item.values.get(name, ())
        period = None if found else item.period
        period = dated(period, self.years or years_of(values)) if period else None
        if period is None:
            doubt = "of which year" if item.period else " or ".join(found)
            is_exact = item.text in found and item.text.isupper()
            found = (item.text,) if is_exact else found
            refuse((len(found) != 1, f"{item.text} ({doubt}?)"))
            return found, period_of(found[0]) if name in self.vocabulary.timed else None
        if self.vocabulary.is_open(name):
            return tuple(dict.fromkeys((period.first.isoformat(), period.last.isoformat()))), period
        known = {value: each for value in values if (each := period_of(value))}
        within = [v for v, p in known.items() if period.first <= p.first and p.last <= period.last]
        length = known[within[0]].length if within else 0
        is_part = length and ((period.first.month - 1) % length or period.length % length)
        refuse((not within or is_part, f"{item.text} (there is no such {name})"))
        return tuple(sorted(within, key=lambda value: known[value].first)), period

    def _limit(self, part: Sequence[Token], text: str) -> None:
        """Note the limits of a comparison, each with its unit."""
        kinds, limits = {token.kind for token in part}, self.reading.limits
        is_fine = ("forgiven" in kinds or {"gap", "excluded"} <= kinds) and "over" not in kinds
        is_stated = kinds == {"amount"} or kinds & _LIMITING or is_fine
        if "over" in kinds:
            units = {token.items[1].kind for token in part if token.kind == "amount"}
            is_gap = bool(kinds & {"gap", "off", "compare"})
            is_gap |= text.lower().startswith("by ") and "compare" in self.reading.says
            is_share = units == {"percent"} and bool({"compare", "gap"} & self.reading.says.keys())
            is_gap |= is_share
            is_of_names = self.reading.clauses[-1:] in (["measures"], ["members"])
            is_of_names &= not (is_share or "off" in kinds)
            is_stated = is_gap and not (kinds & {*_LIMITING, "forgiven"} or is_of_names)
        refuse((not is_stated, text))
        for token in part:
            if token.kind in {"number", "amount", "cents"}:
                number, unit = token.items or (token, token)
                amount = Decimal(1) if token.kind == "cents" else as_number(number.text)
                kind = "percentage" if unit.kind == "percent" else "absolute"
                if amount is None or kind in limits:
                    raise UnclearError(text)
                amount = amount.scaleb(-2) if token.items and unit.kind == "cents" else amount
                limits[kind] = int(amount) if amount == int(amount) else float(amount)
                named = {"cents": "cent", "currency": unit.text, "unit": unit.text}
                self.reading.units += [named[unit.kind]] if unit.kind in named else []
