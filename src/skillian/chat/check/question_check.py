"""Two rules between a question and the calls that answer it.

Nothing is lost: the calls have what the planner would call, as far as it reads the question, and
the values that the other words name. Nothing is invented: whatever else the calls have is stated as
the model's choice, and so is what a word that is not read may change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from rapidfuzz import fuzz

from skillian.offline.calls import PlannedCall, sentence_of
from skillian.offline.earlier import COMPARE, QUERY, Earlier
from skillian.offline.language.clauses import SIGNS, Reading
from skillian.offline.language.filters import (
    BOUNDS,
    admits,
    as_mapping,
    filter_of,
    parts_of,
    values_of,
)
from skillian.offline.language.periods import dated, period_of, spelt_out
from skillian.offline.language.tokens import Token, as_number
from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.planner import OfflinePlanner
from skillian.offline.plans import plan
from tinyagent import ToolCall

_LOOKS = {"explain_difference", "drill_down", "get_comparison_rows"}
CHECKED = {COMPARE, QUERY, *_LOOKS}
"""The tools that answer a question about data."""
_NAMES, _VALUES = {"source", "measure", "dimension"}, {"value", "period"}
DATA = {*_NAMES, "value", "not", "most", "least"}
"""Kinds of tokens that ask for data."""
_ORDERING = {*SIGNS, "rank", "ordered"}
_TURNING = {"not", "but", "remove", "ignore", "instead_of", "excluded", "out", "out_of", "leave"}
_MEANING = {*_NAMES, "number", "amount", "unknown", "doubt", "vague"}
_SOURCE, _BY, _ORDER, _ROWS = "source {}", "by {}", "order {}", "the first {} rows"
_OPERATORS = {"eq": "", "ne": "not ", "gte": "from ", "gt": "after ", "lte": "up to "}
_DEFAULT_LIMIT, _END = "50", Token("", "")
_NOT = "n't", "n\u2019t"
_SHORT, _STEM, _NEAR = 3, 4, 80
"""The letters of a word that says little alone and of a stem; how much alike a misspelt name is."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A part of a question that its calls do not have.

    `readings` are the question with the part at its end, and without it, if it changes numbers;
    `is_partial` is whether it is a list of which the calls have some, so that others may follow.
    """

    text: str
    readings: tuple[str, ...] = ()
    is_partial: bool = False


class Asked(NamedTuple):
    """What a call asks for: conditions by dimension, and its other parts as forms with a name."""

    tool: str
    filters: Mapping[str, Any]
    parts: Sequence[tuple[str, str]]


def merged(tool: str, arguments: Mapping[str, Any], earlier: Earlier) -> Asked:
    """What a call asks for; a look into a comparison also asks for what was compared."""
    known = earlier.comparison if tool in _LOOKS else None
    before: Mapping[str, Any] = known.arguments if known else {}
    whole = {**before, **arguments}
    limits = as_mapping(as_mapping(whole.get("thresholds")).get("match"))
    percent = [f"{v.removesuffix('.0')} %" for v in values_of(limits.get("percentage"))]
    parts = {
        _SOURCE: [whole.get(name) for name in ("source", "source_a", "source_b")],
        "{}": [whole.get("measures"), whole.get("status")],
        _BY: [before.get("align_on"), arguments.get("align_on"), arguments.get("dimensions")],
        _ORDER: [*values_of(whole.get("order"))][:1],
        _ROWS: whole.get("limit"),
        "tolerance {}": [limits.get("absolute"), percent],
    }
    filters = [before.get("filters"), arguments.get("filters"), arguments.get("key")]
    return Asked(
        tool,
        {name: each for some in filters for name, each in as_mapping(some).items()},
        [(form, v.removesuffix(".0")) for form, of in parts.items() for v in values_of(of)],
    )


@dataclass
class Turn:
    """A question, the conversation before it, and the calls that answer it, each `merged`."""

    question: str
    whole: Vocabulary
    calls: Sequence[Asked] = ()
    earlier: Earlier = field(default_factory=Earlier)

    # What the question asks for

    @cached_property
    def _reading(self) -> Reading:
        """What can be read of the question, if it is about the sources and years of the calls."""
        filters = [call.filters for call in self.calls]
        last = self.earlier.last if self.earlier.years else ToolCall("", "", {"filters": filters})
        sources = tuple(name for call in self.calls for form, name in call.parts if form == _SOURCE)
        before = replace(self.earlier, last=last, sources=self.earlier.sources or sources)
        return OfflinePlanner(self.whole).read(self.question, before)

    @property
    def tokens(self) -> Sequence[Token]:
        """The question, as it is read."""
        return self._reading.tokens

    @cached_property
    def _planned(self) -> PlannedCall | None:
        """The call of the planner, if it answers the question."""
        planned = plan(self._reading, self.earlier, self.whole)
        return planned if isinstance(planned, PlannedCall) else None

    @property
    def _is_read(self) -> bool:
        return self._planned is not None

    @cached_property
    def _expected(self) -> Asked:
        """The call that the planner makes of what it reads, or the last call with its filters."""
        reading, last = self._reading, self.earlier.last
        planned = plan(replace(reading, unread=[]), self.earlier, self.whole)
        if isinstance(planned, PlannedCall):
            return merged(planned.tool, planned.arguments, self.earlier)
        before: Mapping[str, Any] = last.arguments if last and not reading.sources else {}
        kept = as_mapping(before.get("filters")).items()
        filters = {name: each for name, each in kept if name not in reading.cleared}
        filters |= {name: filter_of(parts) for name, parts in reading.filters.items()}
        found = merged(self.calls[0].tool, {**before, "filters": filters}, self.earlier)
        return found._replace(tool="")

    @cached_property
    def _unread(self) -> set[int]:
        """The places of the words that the planner does not read."""
        parts = () if self._is_read else self._reading.parts
        return {at for name, of in parts for at in of if name in {"", "but"}}

    @cached_property
    def _wanted(self) -> Mapping[str, set[str]]:
        """The values that the question wants of each dimension that it restricts."""
        filters = self._expected.filters
        return {group: self._admitted(group, filters) for group in map(self._group, filters)}

    @cached_property
    def _places(self) -> Mapping[str, Sequence[int]]:
        """The places of the values of each dimension."""
        found: dict[str, list[int]] = {}
        for at, token in enumerate(self.tokens):
            for group in {self._group(name) for each in _items(token) for name in each.values}:
                found.setdefault(group, []).append(at)
        return found

    def _is_certain(self, places: Sequence[int]) -> bool:
        """Whether no word that is not read may change what is said of these values.

        It may say that they are excluded, bounds, or added to those of the last call.
        """
        clauses = {name for name, of in self._reading.parts if {*of}.intersection(places)}
        is_clear = not clauses <= {"eq", "place"} and self._unread.isdisjoint(places)
        is_change = bool(self._before) and not self._reading.sources
        return self._is_read or (is_clear and not (is_change or self._is_turned))

    @property
    def _before(self) -> Mapping[str, Any]:
        """The filters of the last call."""
        last = self.earlier.last
        return as_mapping(last.arguments.get("filters")) if last else {}

    def _is_stated(self, token: Token) -> bool:
        """Whether the calls, or the last call before, have conditions with all values of a token.

        They may have a part of a period, or a bound next to it: "after 2024" is from 2025-01 on.
        """
        filters = [self._before, *(call.filters for call in self.calls)]
        stated = {value.lower() for value in values_of(filters)}
        periods = [period for value in stated if (period := period_of(value))]
        parts = [parts_of(each) for made in filters for each in made.values()]
        bounds = values_of([of[name] for of in parts for name in BOUNDS & {*of}])
        ends = [(p.first, p.last) for value in bounds if (p := period_of(value))]
        wholes = [each.period and dated(each.period, self.earlier.years) for each in _items(token)]
        return all(
            (of and any(of.first <= each.first <= each.last <= of.last for each in periods))
            or (of and any(timedelta(1) in {a - of.last, of.first - b} for a, b in ends))
            or not _forms(item).isdisjoint(stated)
            for item, of in zip(_items(token), wholes, strict=True)
        )

    @cached_property
    def _is_turned(self) -> bool:
        """Whether a word in a clause without a value may exclude one."""
        names = {"unlike"} if self._is_read else {"", "but", "unlike", "removed"}
        parts = [[self.tokens[at] for at in of] for n, of in self._reading.parts if n in names]
        loose = [t for of in parts if _VALUES.isdisjoint(t.kind for t in of) for t in of]
        return any(t.kind in _TURNING or t.text.endswith(_NOT) for t in loose)

    # What the calls have of it

    def losses(self) -> list[Loss]:
        """What the calls do not have of the question."""
        marks, every = list[str](), range(len(self.tokens))
        dropped = [at for at in every if self._is_dropped(at)]
        lost = {at: False for at in dropped if not self._is_corrected(at)}
        marks += [self.tokens[at].text for at in dropped]
        for group, wanted in self._wanted.items():
            found, places = self._found(group), self._places.get(group, ())
            around = {place for at in places for place in (at - 1, at)}
            is_plain = not self._is_turned and self._unread.isdisjoint(around)
            is_excluded = is_plain and found.isdisjoint(wanted)
            if found != wanted and (is_excluded or self._is_certain(places)):
                lost |= dict.fromkeys(places, bool(found) and found < wanted)
                marks.append(f"{group}, as before")
            elif found != wanted and not self._filters_of(group):
                marks.append(group)
        made, missing = {part for call in self.calls for part in call.parts}, dict[str, str]()
        for form, name in self._expected.parts:
            is_kept = form in {_SOURCE, _ORDER, _BY} or form not in dict(made)
            is_said = self._is_read or is_kept or name.lower() in self._said
            if (form, name) not in made and is_said:
                missing |= {form: name}
                marks.append(form.format(name))
        signs = {_sign(name) for form, name in made if form == _ORDER}
        is_ordered = _ORDER not in missing if self._is_read else bool(signs)
        for at in every if self._is_read else self._unread:
            is_lost = self.tokens[at].kind in SIGNS and not is_ordered
            lost |= dict.fromkeys([at] if is_lost else self._changing(at), False)
        if self.calls[0].tool == QUERY and not self._is_read and _ORDER not in missing:
            marks += [t.text for t in self.tokens if SIGNS.get(t.kind) not in {None, *signs}]
        loose = self._unread if self._expected.tool else every
        marks += [self.tokens[at].text for at in loose if self._is_unused(at)]
        marks += self._reading.units if not self._expected.tool else []
        return [self._loss(lost)] if lost else [*map(Loss, dict.fromkeys(marks))]

    def _is_dropped(self, at: int) -> bool:
        """Whether values that may be conditions are in no call, and not in the one before."""
        token = self.tokens[at]
        is_open = token.kind in _VALUES and not self._is_certain([at])
        return is_open and not self._is_stated(token)

    def _is_corrected(self, at: int) -> bool:
        """Whether the calls have another value of the dimension that the question also names."""
        groups = {group for group, places in self._places.items() if at in places}
        others = [o for group in groups for o in self._places[group] if self._filters_of(group)]
        return any(self._is_stated(self.tokens[other]) for other in {*others} - {at})

    def _changing(self, at: int) -> Sequence[int]:
        """The places of an exclusion or a choice from here on, if it is not read and in no call."""
        before, token, after = (_END, *self.tokens, _END)[at : at + 3]
        if token.kind == "or":
            is_one = not {*after.values} or {*before.values} & {*after.values}
            return () if is_one else range(at - 1, at + 2)
        made = {part for c in self.calls for each in c.filters.values() for part in parts_of(each)}
        is_lost = token.kind in {"unknown", "doubt"} and before.kind == "not" and made <= {"eq"}
        return range(at - 1, at + 1) if is_lost else ()

    def _is_unused(self, at: int) -> bool:
        """Whether a token means something that is in no call, as a word that is not read may."""
        token, before = self.tokens[at], self.tokens[at - 1] if at else _END
        if before.kind in _TURNING or token.kind not in _MEANING:
            return False
        if token.kind == "unknown" and self._is_plain(token.text.lower()):
            return False
        is_group = token.kind == "dimension" and before.kind == "by"
        made = [each for call in self.calls for each in (*call.filters, *values_of(call))]
        made = [n for c in self.calls for form, n in c.parts if form == _BY] if is_group else made
        named = {*token.names} if token.kind in _NAMES else set[str]()
        made += self._reading.cleared
        return not named <= {*made} or _forms(token).isdisjoint(map(str.lower, made))

    def _is_plain(self, word: str) -> bool:
        """Whether a word is short, turns others (which is checked), or is like a name of a call."""
        names = [name.lower() for call in self.calls for _, name in call.parts]
        names += [name.lower() for call in self.calls for name in call.filters]
        is_short = len(word) <= _SHORT and word in self.question
        likes = (fuzz.ratio(word, n) >= _NEAR or word[:_STEM] == n[:_STEM] for n in names)
        return is_short or word.endswith(_NOT) or any(likes)

    @cached_property
    def _said(self) -> set[str]:
        """The names and numbers of the question."""
        found = set[str]().union(*map(_forms, self.tokens))
        return found.difference(*(call.filters for call in self.calls))

    def choices(self) -> Iterator[str]:
        """Yield what the last call has that the question does not have."""
        known = {part for part in self._expected.parts if part[0] != _BY or not self._is_turned}
        known |= {(_ROWS, "1") for token in self.tokens if token.kind in _ORDERING}
        known.add((_ROWS, _DEFAULT_LIMIT))
        signs = {SIGNS[t.kind] for t in self.tokens if t.kind in SIGNS and not self._is_read}
        for call in self.calls[-1:]:
            for name, condition in call.filters.items():
                group = self._group(name)
                places = {place for at in self._places.get(group, ()) for place in (at - 1, at)}
                is_same = self._found(group) == self._wanted.get(group)
                if not is_same or self._is_turned or not self._unread.isdisjoint(places):
                    yield _in_words(name, condition)
            for form, name in call.parts:
                is_said = name.lower() in self._said and (form == "{}" or not self._is_read)
                is_said &= not self._is_turned
                is_said |= form == _ORDER and _sign(name) in signs
                if not is_said and form != _SOURCE and (form, name) not in known:
                    yield form.format(name)

    # The dimensions and places of conditions

    def _group(self, name: str) -> str:
        """The dimension of the shortest periods that determines a dimension, or itself."""
        known = self.whole.within(name for call in self.calls for _, name in call.parts)
        return next((part for part in known.parts(name) if not known.parts(part)), name)

    def _filters_of(self, group: str) -> list[Mapping[str, Any]]:
        """The filters of the calls that restrict a dimension."""
        return [call.filters for call in self.calls if group in map(self._group, call.filters)]

    def _found(self, group: str) -> set[str]:
        """The values of a dimension that the calls admit together."""
        filters = self._filters_of(group) or [{}]
        return set[str]().union(*(self._admitted(group, each) for each in filters))

    def _admitted(self, group: str, filters: Mapping[str, Any]) -> set[str]:
        """The values of a dimension that filters admit, of those that tell conditions apart."""
        own = [each for name, each in filters.items() if self._group(name) == group]
        known = {*self.whole.values(group), *self._ends}
        return {v for v in known if all(admits(each, v) for each in own)}

    @cached_property
    def _ends(self) -> set[str]:
        """The values of all conditions, and the days around the ends of their periods."""
        filters = [self._expected.filters, *(call.filters for call in self.calls)]
        texts = {"", *values_of(filters)}
        periods = [period for text in texts if (period := period_of(text))]
        ends = [end for each in periods for end in (each.first, each.last)]
        return texts | {str(end + timedelta(days)) for end in ends for days in (-1, 0, 1)}

    def _loss(self, lost: Mapping[int, bool]) -> Loss:
        """The clauses of these places, with the question that says them last, and without them."""
        text, pieces = spelt_out(self.question), dict[bool, list[str]]({True: [], False: []})
        joins = {at for at, t in enumerate(self.tokens) if t.kind == "and"}
        places = lost.keys() | {at for at in joins if lost.keys() >= {at - 1, at + 1}}
        clauses = groupby(self._reading.parts, lambda part: not places.isdisjoint(part[1]))
        for is_lost, parts in clauses:
            tokens = [self.tokens[at] for _, of in parts for at in of]
            pieces[is_lost].append(text[tokens[0].span[0] : tokens[-1].span[1]])
        part, rest = ", ".join(pieces[True]), " ".join(pieces[False])
        said = {token.kind for at, token in enumerate(self.tokens) if at not in places}
        readings = (f"{rest}, {part}", rest) if rest else (part,)
        sentence = sentence_of(self._planned) if self._planned else None
        if sentence and said.isdisjoint(_NAMES):  # the rest is not a question
            readings = (sentence,)
        return Loss(part, readings, all(lost.values()))


def _items(token: Token) -> Sequence[Token]:
    return token.items or [token]


def _forms(token: Token) -> set[str]:
    """The names, values and numbers that a token may mean."""
    if token.kind == "amount":
        number, unit = as_number(token.items[0].text) or Decimal(), token.items[1].kind
        number = (number / 100 if unit == "cents" else number).normalize()
        return {f"{number:f} %" if unit == "percent" else f"{number:f}"}
    texts = (token.text, *token.names, *values_of([as_number(token.text), token.values]))
    return {text.lower() for text in texts}.union(*map(_forms, token.items))


def _sign(order: str) -> str:
    return "-" if order.startswith("-") else ""


def _in_words(name: str, condition: Any) -> str:
    parts = parts_of(condition).items()
    words = (f"{_OPERATORS.get(operator, 'before ')}{', '.join(of)}" for operator, of in parts)
    return f"{name}: {' and '.join(words)}"
