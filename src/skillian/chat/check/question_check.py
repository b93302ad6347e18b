"""Two rules between a question and the calls that answer it, over the names of the catalogue.

Nothing is lost: each value, period, name, number and comparison word of the question is in a call,
or it is named as not used. Nothing is invented: each value, tolerance, limit, order and group of a
call is in the question or in the call before it, or it is named as chosen by the model.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any

from skillian.chat.check.conditions import (
    Bound,
    admits,
    as_list,
    as_object,
    asked,
    condition_words,
    limits_of,
    number_of,
    probes,
    values_of,
)
from skillian.offline.calls import PlannedCall
from skillian.offline.earlier import COMPARE, QUERY, Earlier
from skillian.offline.language.tokens import Token, as_number, tokens_of
from skillian.offline.language.vocabulary import Vocabulary, plain
from skillian.offline.planner import OfflinePlanner

LOOKS = {"explain_difference", "drill_down", "get_comparison_rows"}
CHECKED = {COMPARE, QUERY, *LOOKS}
"""The tools that answer a question about data."""
DATA = {"source", "measure", "dimension", "value", "period", "not", "most", "least"}
"""Kinds of tokens that ask for data."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SMALL = _set(
    "a an and any are as at by code each every for from in is it no nor of on only or other our"
    " over per than that the their them these those was were with"
)
_COMPARING = _set("not since after until before between from to")
_EXCLUDING = _set("except excluding exclude omitting without apart other")
_DOWN = _set("top most largest biggest highest greatest best descending desc")
_UP = _set("bottom least smallest lowest fewest worst ascending asc")
_SORT, _BY = _set("rank ranked ranking sort sorted order ordered"), _set("by per each every")
_CURRENCIES = {"€": "eur", "euro": "eur", "$": "usd", "dollar": "usd", "£": "gbp", "pound": "gbp"}
_DEFAULT_LIMIT = 50
_STATED = (
    *("source", "source_a", "source_b", "measures", "align_on", "dimensions", "filters"),
    *("thresholds", "order", "limit", "key", "status"),
)
Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Loss:
    """A part of a question that its calls do not have.

    Attributes:
        text: The part as it is written.
        readings: If it changes numbers, the question with the part in plain words, and without it.
        is_partial: Whether it is a list of which the calls have some, so that others may follow.
    """

    text: str
    readings: tuple[str, ...] = ()
    is_partial: bool = False


def merged(tool: str, arguments: Arguments, earlier: Earlier) -> Arguments:
    """A call as one object; a look into a comparison also has the arguments of the comparison."""
    compared: Arguments = {}
    if tool in LOOKS and earlier.comparison is not None:
        compared = earlier.comparison.arguments
    filters = {**as_object(compared.get("filters")), **as_object(arguments.get("filters"))}
    filters |= as_object(arguments.get("key")) if tool in LOOKS else {}
    by = [*as_list(compared.get("align_on")), *as_list(arguments.get("align_on"))]
    by += as_list(arguments.get("dimensions"))
    return {**compared, **arguments, "tool": tool, "filters": filters, "by": by}


@dataclass
class Turn:
    """A question, the conversation before it, and the calls that answer it, each `merged`."""

    question: str
    whole: Vocabulary
    calls: Sequence[Arguments] = ()
    earlier: Earlier = field(default_factory=Earlier)
    spoken: str = ""

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The sources of the calls."""
        return self.whole.within(name for call in self.calls for name in _sources(call))

    @cached_property
    def tokens(self) -> Sequence[Token]:
        """The question, read with these sources."""
        return _tokens(self.question, self.vocabulary)

    def losses(self) -> list[Loss]:
        """What the calls do not have of the question; nothing if the grammar reads it as them."""
        if len(self.calls) == 1 and self._is_as_read(self.calls[0]):
            return []
        found = (*self._conditions(), *self._alternatives(), *self._order(), *self._names())
        return list(dict.fromkeys((*found, *self._amounts(), *self._dropped())))

    def _is_as_read(self, call: Arguments) -> bool:
        """Whether the planner without a model makes this call."""
        planned = OfflinePlanner(self.whole).plan(self.question, self.earlier)
        if not isinstance(planned, PlannedCall) or planned.tool != call["tool"]:
            return False
        stated = {name: call.get(name) or None for name in _STATED}
        return stated == {name: planned.arguments.get(name) for name in _STATED}

    def _conditions(self) -> Iterator[Loss]:
        """Yield the values and periods that are not a condition of the calls."""
        filtered = {name for call in self.calls for name in call["filters"]}
        groups: dict[str, list[int]] = {}
        for at, token in enumerate(self.tokens):
            before = self.tokens[at - 1].name if at else ""
            order = {
                name: (name != before, name not in filtered) for name in self._conditioned(token)
            }
            for name in sorted(order, key=lambda name: order[name])[:1]:
                groups.setdefault(name, []).append(at)
        for name, places in groups.items():
            words = {w for at in places for w in self.tokens[at].text.lower().split()}
            others = [
                {k: v for k, v in call["filters"].items() if k != name} for call in self.calls
            ]
            # "Q1 2024" may be a quarter and a year.
            shares = (
                {True}
                if words <= {*map(str.lower, values_of(others))}
                else self._shares(name, places)
            )
            if True not in shares:
                loss = self._loss(places, name)
                yield replace(loss, is_partial=False in shares and len(places) > 1)

    def _shares(self, name: str, places: Sequence[int]) -> set[bool]:
        """Whether conditions of the calls admit all that the question says of a dimension.

        It is empty if they admit nothing of it, or something else.
        """
        bounds: list[Bound] = [
            (self._word(at), self.tokens[at].period or self.tokens[at].values[name])
            for at in places
        ]
        conditions = [call["filters"][name] for call in self.calls if name in call["filters"]]
        known = probes(self.vocabulary, name, bounds, conditions)
        sets = [{value for value in known if admits(each, value)} for each in conditions]
        if not conditions and not self.vocabulary.is_open(name):
            sets = [set(known)]
        shares = set[bool]()
        for wanted in filter(None, asked(bounds, known)):
            parts = [each for each in sets if each and each <= wanted]
            if parts:
                shares.add(wanted == set[str]().union(*parts))
        return shares

    def _conditioned(self, token: Token) -> set[str]:
        """The dimensions that a value or a period is a condition of."""
        return {*(self.vocabulary.timed if token.period is not None else token.values)}

    def _word(self, at: int) -> str:
        """The comparison word that a value or a period belongs to."""
        own = self._conditioned(self.tokens[at])
        for token in self.tokens[at + 1 :]:
            if token.kind in {"excluded", "onwards"}:
                return "not" if token.kind == "excluded" else "since"
            if not (_is_small(token) or self._conditioned(token) & own):
                break
        for token in reversed(self.tokens[:at]):
            if token.kind in _COMPARING or _is_negative(token):
                return "not" if _is_negative(token) else token.kind
            if token.text.lower() == "but" and any(t.text.lower() == "all" for t in self.tokens):
                return "not"
            is_list = _is_small(token) or token.kind == "dimension"
            if not (is_list or self._conditioned(token) & own):
                break
        return ""

    def _alternatives(self) -> Iterator[Loss]:
        """Yield an "or" between conditions of two dimensions, which no call can say."""
        names = [at for at, token in enumerate(self.tokens) if self._conditioned(token)]
        for sides in itertools.pairwise(names):
            first, second = (self._conditioned(self.tokens[at]) for at in sides)
            words = [token.text.lower() for token in self.tokens[sides[0] + 1 : sides[1]]]
            if "or" in words[:2] and not first & second:
                text = " or ".join(self.tokens[at].text for at in sides)
                yield Loss(text, tuple(self._without([at]) for at in reversed(sides)))

    def _order(self) -> Iterator[Loss]:
        """Yield words such as "top" that the order of the queries does not have."""
        orders = ["".join(as_list(call.get("order"))[:1]) for call in self.calls]
        is_query = all(call["tool"] == QUERY for call in self.calls)
        for at, token in enumerate(self.tokens if is_query else ()):
            words = {*token.text.lower().split()}
            down, up = token.kind == "most" or words & _DOWN, token.kind == "least" or words & _UP
            if token.kind in DATA - {"most", "least"} or not (down or up):
                continue
            if not any(each and each.startswith("-") == bool(down) for each in orders):
                rest = self._without([at])
                yield Loss(token.text, (f"{rest}, {'highest' if down else 'lowest'} first", rest))

    def _names(self) -> Iterator[Loss]:
        """Yield the names that no call has: of sources, measures and groups, and unknown ones."""
        groups = {name for call in self.calls for name in call["by"]}
        measures = {name for call in self.calls for name in as_list(call.get("measures"))}
        used = groups | measures | {name for call in self.calls for name in call["filters"]}
        used |= {name.lstrip("-") for call in self.calls for name in as_list(call.get("order"))}
        sources = {name for call in self.calls for name in _sources(call)}
        texts = " ".join(each.lower() for call in self.calls for each in values_of(call))
        for at, token in enumerate(self.tokens):
            before = self.tokens[at - 1] if at else Token("", "", "")
            words, meant = {*before.text.lower().split()}, self._meant(token)
            is_by = bool(words & _BY) and token.kind != "measure"
            is_used = bool(meant & (groups if is_by else used)) or "all" in words
            is_unknown = token.kind in {"unknown", "name"} and token.text.lower() not in texts
            is_excluded = meant <= measures and is_used if meant else words & _EXCLUDING
            if (meant or is_unknown) and _is_negative(before):
                yield from [self._loss([at])] if is_excluded else ()
            elif (
                (meant and not is_used)
                or (is_unknown and (is_by or token.kind == "name"))
                or (token.kind == "source" and token.name not in sources)
            ):
                yield Loss(f"by {token.text}" if is_by else token.text)

    def _amounts(self) -> Iterator[Loss]:
        """Yield the numbers and units that no call has."""
        numbers = {number_of(each) for call in self.calls for each in values_of(call)}
        measures = [name for call in self.calls for name in as_list(call.get("measures"))]
        units = self.vocabulary.units_of(measures)
        for at, token in enumerate(self.tokens):
            if token.kind == "number" and numbers.isdisjoint(self._stated(at)):
                before = self.tokens[at - 1] if at else token
                is_bound = before.kind in {"over", "under", "since", "until"}
                yield Loss(f"{before.text} {token.text}" if is_bound else token.text)
            if token.kind in {"unit", "currency"}:
                name = plain(token.text) or token.text
                if units.isdisjoint({name, _CURRENCIES.get(name, name)}):
                    yield Loss(token.text)

    def _dropped(self) -> Iterator[Loss]:
        """Yield what the call before had, if the question goes on from it without ending it."""
        last = self.earlier.last
        if last is None or any(each["tool"] != last.name for each in self.calls):
            return
        before = merged(last.name, last.arguments, Earlier())
        kinds = [token.kind for token in self.tokens if token.kind in {"source", "measure"}]
        if "source" in kinds and len(kinds) > 1:  # it says all itself
            return
        named = {name for token in self.tokens for name in self._meant(token)}
        named = named.union(*map(self._conditioned, self.tokens))
        for name, condition in before["filters"].items():
            if name not in named and not any(name in call["filters"] for call in self.calls):
                yield Loss(f"{name}: {condition_words(condition)}, as before")
        for name in ("by", "thresholds", "order", "limit"):
            is_kept = any(call.get(name) for call in self.calls) or {*before["by"]} & named
            if before.get(name) and not is_kept:
                yield Loss(f"{name} {condition_words(before[name])}, as before")

    def choices(self) -> Iterator[str]:
        """Yield what the calls have that neither the question nor the calls before them have."""
        calls = [each.arguments for each in (self.earlier.last, self.earlier.comparison) if each]
        past = [merged("", each, Earlier()) for each in calls]
        for call in self.calls:
            yield from self._own_filters(call, past)
            yield from self._ownlimits_of(call, past)
            known = {name for each in past for name in (*each["by"], *each["filters"])}
            known |= {*call["filters"]}.union(*map(self._meant, self.tokens))
            known = known.union(*map(self._conditioned, self.tokens))
            yield from (f"by {name}" for name in call["by"] if name not in known)

    def _own_filters(self, call: Arguments, past: Sequence[Arguments]) -> Iterator[str]:
        pairs, said = itertools.pairwise(self.tokens), f"{self.spoken} {self.question.lower()}"
        ended = {now.name for before, now in pairs if before.text.lower().startswith("all")}
        named = set[str]().union(*map(self._conditioned, self.tokens))
        for name, condition in call["filters"].items():
            kept = any(each["filters"].get(name, ()) == condition for each in past)
            values = [each.lower() for each in values_of(condition)]
            is_said = bool(values) and all(value in said for value in values)
            if not (name in named or is_said or (kept and name not in ended)):
                yield f"{name}: {condition_words(condition)}"

    def _ownlimits_of(self, call: Arguments, past: Sequence[Arguments]) -> Iterator[str]:
        words = {each for token in self.tokens for each in token.text.lower().split()}
        numbers = {each for at in range(len(self.tokens)) for each in self._stated(at)}
        stated = {"percentage": self._percents, "absolute": numbers - self._percents}
        known = [limit for each in past for limit in limits_of(each)]
        for kind, limit in limits_of(call):
            if number_of(limit) not in stated.get(kind, ()) and (kind, limit) not in known:
                yield f"tolerance {limit}{' %' if kind == 'percentage' else ''}"
        if call["tool"] != QUERY:
            return
        limit, one = call.get("limit"), {Decimal(1)} if words & (_DOWN | _UP) else set[Decimal]()
        usual = (None, _DEFAULT_LIMIT, *(each.get("limit") for each in past))
        if limit not in usual and number_of(limit) not in numbers | one:
            yield f"the first {limit} rows"
        for column in as_list(call.get("order"))[:1]:
            is_free = bool(words & _SORT) and not words & (_DOWN | _UP)
            is_said = is_free or words & (_DOWN if column.startswith("-") else _UP)
            is_kept = any(column in as_list(each.get("order")) for each in past)
            if not (is_said or is_kept or column in self.vocabulary.values):
                yield f"order {column}"

    def _meant(self, token: Token) -> set[str]:
        """The dimensions and measures that a phrase may stand for in any source."""
        if token.kind == "periodic":
            return {*self.vocabulary.timed}
        if token.kind not in {"dimension", "measure"}:
            return set()
        return {token.name, *_meanings(self.vocabulary).get(plain(token.text), ())}

    def _stated(self, at: int) -> Iterator[Decimal]:
        """Yield the number of a token, in whole units too if it is of cents."""
        text = self.tokens[at].text
        number = as_number(text)
        if number is None:
            number = number_of(text.replace(",", ""))
        if number is not None:
            is_cents = any(token.kind == "cents" for token in self.tokens[at + 1 :][:1])
            yield number / 100 if is_cents else number

    @property
    def _percents(self) -> set[Decimal]:
        at = (i - 1 for i, token in enumerate(self.tokens) if i and token.kind == "percent")
        return {number for each in at for number in self._stated(each)}

    def _loss(self, places: Sequence[int], dimension: str = "") -> Loss:
        """A part that changes numbers, with the question that says it last, and without it."""
        parts: list[str] = []
        for at in places:
            first, token = self._start(at, dimension), self.tokens[at]
            parts.append(self.question[self.tokens[first].at : token.at + len(token.text)])
            if first == at and dimension:
                parts[-1] = f"for {dimension} {token.text}"
        rest, said = self._without(places, dimension), ", ".join(parts)
        return Loss(said, (f"{rest}, {said}", rest))

    def _start(self, at: int, dimension: str) -> int:
        """The first word that belongs to a name: its preposition, its comparison word."""
        for before in reversed(range(at)):
            token = self.tokens[before]
            if not (_is_small(token) or token.kind in _COMPARING or token.name == dimension):
                return before + 1
        return 0

    def _without(self, places: Sequence[int], dimension: str = "") -> str:
        """The question without these names."""
        text = self.question
        for at in reversed(places):
            start, token = self.tokens[self._start(at, dimension)].at, self.tokens[at]
            after = text[token.at + len(token.text) :].lstrip(" ,:")
            text = f"{text[:start].rstrip(' ,:')} {after}"
        return " ".join(text.split())


@lru_cache(64)
def _meanings(vocabulary: Vocabulary) -> Mapping[str, set[str]]:
    """The dimensions and measures that each phrase may stand for, in any source."""
    meanings: dict[str, set[str]] = {}
    for source in vocabulary.sources.values():
        named = [*source.measures.items()]
        named += [(name, one.synonyms) for name, one in source.dimensions.items()]
        for name, synonyms in named:
            for phrase in (name, *synonyms):
                meanings.setdefault(plain(phrase), set()).add(name)
    return meanings


@lru_cache(64)
def _tokens(question: str, vocabulary: Vocabulary) -> Sequence[Token]:
    return tuple(tokens_of(question, vocabulary))


def _is_small(token: Token) -> bool:
    return {*token.text.lower().split()} <= _SMALL


def _is_negative(token: Token) -> bool:
    return token.kind == "not" or token.text.lower() in {"instead of", "rather than"}


def _sources(call: Arguments) -> list[str]:
    names = (call.get(each) for each in ("source", "source_a", "source_b"))
    return [str(name) for name in names if name is not None]
