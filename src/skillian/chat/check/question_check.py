"""Two rules between a question and the calls that answer it.

The planner reads the question as far as it can, and says which call it would make. What that call
has and the calls that were made don't is lost; what these have and that call doesn't is chosen by
the model. A value of a call that is in words that are not read belongs to that call too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from itertools import product
from typing import Any

from skillian.offline.calls import PlannedCall
from skillian.offline.earlier import COMPARE, QUERY, Earlier
from skillian.offline.language.clauses import Reading
from skillian.offline.language.filters import admits, as_mapping, filter_of, parts_of, values_of
from skillian.offline.language.periods import dated, period_of, spelt_out
from skillian.offline.language.tokens import Token, as_number
from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.planner import OfflinePlanner
from skillian.offline.plans import plan
from tinyagent import ToolCall

_LOOKS = {"explain_difference", "drill_down", "get_comparison_rows"}
CHECKED = {COMPARE, QUERY, *_LOOKS}
"""The tools that answer a question about data."""
DATA = {"source", "measure", "dimension", "value", "not", "most", "least"}
"""Kinds of tokens that ask for data."""
_ORDERING = {"most", "least", "desc", "asc", "rank", "ordered"}
_TURNING = {"not", "remove", "ignore", "instead_of", "excluded", "out"}
_SMALL = {"prep", "and", "or", "by", "from", "to", "verb", "dimension", "unknown", "only"}
_WORDS = {"sources": "{}", "measures": "{}", "by": "by {}", "order": "order {}"} | {
    "limit": "the first {} rows",
    "absolute": "tolerance {}",
    "percentage": "tolerance {} %",
}
_OPERATORS = {"eq": "", "ne": "not ", "gte": "from ", "gt": "after ", "lte": "up to "}
_MEANING = {"number", "amount", "unknown", "doubt", "vague"} | {*DATA} - {"not", "most", "least"}
_DEFAULT_LIMIT, _END = "50", Token("", "")
Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Loss:
    """A part of a question that its calls do not have.

    `readings` are the question with the part at its end, and without it, if it changes numbers;
    `is_partial` is whether it is a list of which the calls have some, so that others may follow.
    """

    text: str
    readings: tuple[str, ...] = ()
    is_partial: bool = False


def merged(tool: str, arguments: Arguments, earlier: Earlier) -> Arguments:
    """What a call asks for, as texts; a look into a comparison also asks for what was compared."""
    known = earlier.comparison if tool in _LOOKS else None
    before: Arguments = known.arguments if known else {}
    whole = {**before, **arguments}
    by = [before.get("align_on"), arguments.get("align_on"), arguments.get("dimensions")]
    filters = [before.get("filters"), arguments.get("filters"), arguments.get("key")]
    limits = as_mapping(as_mapping(whole.get("thresholds")).get("match"))
    return {
        "tool": tool,
        "sources": [*values_of([whole.get(n) for n in ("source", "source_a", "source_b")])],
        "measures": [*values_of(whole.get("measures"))],
        "by": [*values_of(by)],
        "filters": {name: each for some in filters for name, each in as_mapping(some).items()},
        "order": [*values_of(whole.get("order"))][:1],
        "limit": [*values_of(whole.get("limit"))],
        "absolute": [*values_of(limits.get("absolute"))],
        "percentage": [*values_of(limits.get("percentage"))],
    }


def _facts(call: Arguments) -> dict[tuple[str, str], str]:
    """What a call has apart from conditions, each with its words."""
    texts = [(kind, each.removesuffix(".0")) for kind in _WORDS for each in call[kind]]
    return {(kind, text): _WORDS[kind].format(text) for kind, text in texts}


def _numbers(text: str, units: Collection[str] = ()) -> set[Decimal]:
    """The number that a text is, also in euros if it may be in cents."""
    number = as_number(text)
    return {number, number / 100 if "cents" in units else number} if number is not None else set()


def _forms(token: Token) -> set[str]:
    """The names and values that a token may mean."""
    texts = (token.text, *token.names, *values_of([*token.values.values()]))
    return {text.lower() for text in texts}


def _in_words(name: str, condition: Any) -> str:
    parts = parts_of(condition).items()
    words = (f"{_OPERATORS.get(operator, 'before ')}{', '.join(of)}" for operator, of in parts)
    return f"{name}: {' and '.join(words)}"


@dataclass
class Turn:
    """A question, the conversation before it, and the calls that answer it, each `merged`."""

    question: str
    whole: Vocabulary
    calls: Sequence[Arguments] = ()
    earlier: Earlier = field(default_factory=Earlier)

    @cached_property
    def _reading(self) -> Reading:
        """What can be read of the question, if it is about the sources and years of the calls."""
        filters = [call["filters"] for call in self.calls]
        last = self.earlier.last if self.earlier.years else ToolCall("", "", {"filters": filters})
        sources = self.earlier.sources or tuple(s for call in self.calls for s in call["sources"])
        before = replace(self.earlier, last=last, sources=sources)
        return OfflinePlanner(self.whole).read(self.question, before)

    @property
    def tokens(self) -> Sequence[Token]:
        """The question, as it is read."""
        return self._reading.tokens

    @cached_property
    def _is_read(self) -> bool:
        """Whether the planner answers the question."""
        return isinstance(plan(self._reading, self.earlier, self.whole), PlannedCall)

    @cached_property
    def _unread(self) -> set[int]:
        """The places of the tokens that are not read: "but" and a number alone may mean more."""
        parts = self._reading.parts if not self._is_read else []
        alone = [of[0] for name, of in parts if name in {"but", "limit"} and len(of) == 1]
        return {*alone, *(at for name, of in parts for at in of if not name)}

    @cached_property
    def _expected(self) -> Arguments:
        """The call that the planner makes; without one, the last with what the question names."""
        reading, last = replace(self._reading, unread=[]), self.earlier.last
        planned = plan(reading, self.earlier, self.whole)
        if isinstance(planned, PlannedCall) and planned.tool in {c["tool"] for c in self.calls}:
            return self._completed(merged(planned.tool, planned.arguments, self.earlier))
        is_new = reading.sources and (reading.measures or reading.members)
        before = merged("", last.arguments if last and not is_new else {}, Earlier())
        is_ordered = reading.sign is not None or reading.ordered
        ordered = reading.ordered or reading.measures or self.calls[0]["measures"]
        named = {
            "source": reading.sources,
            "measures": reading.measures,
            "dimensions": reading.named,
            "order": [f"{reading.sign or ''}{each}" for each in ordered if is_ordered],
            "limit": reading.count,
            "thresholds": {"match": reading.limits},
        }
        kept = {n: each for n, each in before["filters"].items() if n not in reading.cleared}
        kept |= {name: filter_of(parts) for name, parts in reading.filters.items()}
        named = {n: each for n, each in merged("", named, Earlier()).items() if each}
        return self._completed({**before, **named, "filters": kept})

    def _completed(self, found: Arguments) -> Arguments:
        """A call with the limits and values of the calls that are in words that are not read."""
        items = [item for at in sorted(self._unread) for item in self._items(at)]
        filters = {} if "filter" in {item.kind for item in items} else dict(found["filters"])
        units = {each.kind for token in self.tokens for each in (token, *token.items)}
        kind = "percentage" if "percent" in units else "absolute"
        numbers = {number for item in items for number in _numbers(item.text, units)}
        for call in self.calls:
            if numbers & _numbers("".join(call[kind])):
                found = {**found, "absolute": [], "percentage": [], kind: call[kind]}
            for name, condition in call["filters"].items():
                period = next((item.period for item in items if name in item.values), None)
                period = dated(period, self.earlier.years) if period else None
                parts: dict[str, list[str]] = parts_of(filters.get(name))
                if period and not parts:
                    parts = {"gte": [str(period.first)], "lte": [str(period.last)]}
                for value, at in product(values_of(condition), range(len(self.tokens))):
                    turning = self._turning(at)
                    is_said = any(value.lower() in _forms(item) for item in self._items(at))
                    if is_said and {at, turning} & self._unread:
                        operator = "eq" if turning is None else "ne"
                        parts = {n: [v for v in of if v != value] for n, of in parts.items()}
                        parts[operator] = [*parts.get(operator, []), value]
                if parts := {operator: of for operator, of in parts.items() if of}:
                    filters[name] = filter_of(parts)
        return {**found, "filters": filters}

    def _items(self, at: int) -> Sequence[Token]:
        """A token, or the values of its list."""
        return self.tokens[at].items or [self.tokens[at]]

    def _turning(self, at: int) -> int | None:
        """The place of the word that turns the meaning of the token at a place."""
        if (*self.tokens, _END)[at + 1].kind in {"excluded", "out"}:
            return at + 1
        for place in range(at - 1, -1, -1):
            token, before = self.tokens[place], self.tokens[place - 1] if place else _END
            is_but = token.kind == "but" and before.kind in {"dimension", "unknown"}
            is_turning = token.kind in _TURNING or re.search(r"n\Wt$", token.text) or is_but
            if is_turning or token.kind not in _SMALL or self.tokens[place + 1].mark:
                return place if is_turning and not self.tokens[place + 1].mark else None
        return None

    def _group(self, name: str) -> str:
        """The dimension of the shortest periods that determines a dimension, or itself."""
        sources = {source for call in self.calls for source in call["sources"]}
        known = self.whole.within(sources).dimensions.get(name, ())
        parts = known[0].parts if known else ()
        return next((part for part in parts if all(part in each.parts for each in known)), name)

    def _admitted(self, group: str, every: Sequence[Mapping[str, Any]]) -> list[set[str]]:
        """The values of a dimension that each of these filters admits."""
        own = [[each for n, each in some.items() if self._group(n) == group] for some in every]
        periods = [period for value in values_of(own) if (period := period_of(value))]
        ends = [end for period in periods for end in (period.first, period.last)]
        days = {str(end + timedelta(days)) for end in ends for days in (-1, 0, 1)}
        known = {"", *self.whole.values(group), *values_of(own), *days}
        return [{v for v in known if all(admits(each, v) for each in some)} for some in own]

    def losses(self) -> list[Loss]:
        """What the calls do not have of the question."""
        filters, lost, marks = [c["filters"] for c in self.calls], dict[int, bool](), list[str]()
        for group in dict.fromkeys(map(self._group, self._expected["filters"])):
            own = [some for some in filters if group in map(self._group, some)] or [{}]
            wanted, *admitted = self._admitted(group, [self._expected["filters"], *own])
            union = set[str]().union(*admitted)
            values = self._places_on(group) if union != wanted else set[int]()
            lost |= dict.fromkeys(values, bool(union) and union < wanted)
            marks += [f"{group}, as before"] if union != wanted and not values else []
        made = {key for call in self.calls for key in _facts(call)}
        for (kind, name), text in _facts(self._expected).items():
            if (kind, name) not in made and self._is_stated(kind, name):
                is_order = kind == "order" and self._is_read
                places = [at for at, t in enumerate(self.tokens) if t.kind in _ORDERING]
                lost |= dict.fromkeys(places if is_order else (), False)
                marks += [] if is_order and places else [text]
        for at in sorted(self._unread):
            changing = self._changing(at)
            lost |= dict.fromkeys(changing, False)
            marks += [self.tokens[at].text] if not changing and self._is_unused(at) else []
        marks += self._reading.units if not self._expected["tool"] else []
        return [*([self._loss(lost)] if lost else []), *map(Loss, dict.fromkeys(marks))]

    def _is_stated(self, kind: str, name: str) -> bool:
        """Whether the question says what is expected; otherwise it is usual, or as before."""
        if kind == "limit":
            return self._reading.count is not None  # not "which one"
        tokens = enumerate(self.tokens)
        is_named = any(name in t.names and self._turning(at) is None for at, t in tokens)
        is_fixed = any(name in call["filters"] for call in self.calls)
        return self._is_read or kind not in {"measures", "by"} or (is_named and not is_fixed)

    def _places_on(self, group: str) -> set[int]:
        """The places of the values of a dimension, and of the words that turn them."""
        found = set[int]()
        for at in range(len(self.tokens)):
            if any(group == self._group(name) for t in self._items(at) for name in t.values):
                turning = self._turning(at)
                found |= {at} if turning is None else {at, *range(turning, at), turning}
        return found

    def _changing(self, at: int) -> list[int]:
        """The places of words that change numbers, are not read from here on, and in no call."""
        token, after = self.tokens[at], (*self.tokens, _END)[at + 1]
        filters = [call["filters"] for call in self.calls]
        if after.kind in {"unknown", "value"} and self._turning(at + 1) == at:
            is_turned = any("ne" in as_mapping(each) for some in filters for each in some.values())
            is_used = after.values and any(some.keys() >= {*after.values} for some in filters)
            return [] if is_used or (is_turned and not after.values) else [at, at + 1]
        if token.kind == "or" and at and after.values:
            before = self.tokens[at - 1].values.keys()
            return [at - 1, at, at + 1] if before.isdisjoint(after.values) else []
        is_order = token.kind in _ORDERING and not any(call["order"] for call in self.calls)
        is_value = token.kind == "value" and self._is_unused(at)
        return [at] if is_order or is_value else []

    def _is_unused(self, at: int) -> bool:
        """Whether a token means something that is in no call, as a name with a capital does."""
        token, filters = self.tokens[at], {name for call in self.calls for name in call["filters"]}
        texts = [each.lower() for each in (*values_of(self.calls), *filters)]
        is_title = self.question.isupper() or token.mark in {".", "?", "!"} or not at
        is_word = token.kind == "unknown" and (is_title or token.text.islower())
        if is_word or token.kind not in _MEANING or self._turning(at) is not None:
            return False
        if token.kind in {"number", "amount"}:
            return _numbers(self._items(at)[0].text, {"cents"}).isdisjoint(map(as_number, texts))
        return not all(
            filters & item.values.keys()
            if item.period
            else any(form in text for form in _forms(item) for text in texts)
            for item in self._items(at)
        )

    def choices(self) -> Iterator[str]:
        """Yield what the calls have that neither the question nor the calls before them have."""
        stated = {*_facts(self._expected), ("limit", _DEFAULT_LIMIT)}
        for token in () if self._is_read else self.tokens:
            stated |= {(kind, name) for kind in ("by", "measures") for name in token.names}
            stated |= {("limit", token.text), ("limit", "1")}
        groups = {*map(self._group, self._expected["filters"])}
        for call in self.calls:
            for name, condition in call["filters"].items():
                if self._group(name) not in groups:
                    yield _in_words(name, condition)
            is_measured = any(("measures", name) in stated for name in call["measures"])
            usual = {"sources", *(["measures"] * is_measured), *(["order"] * (not self._is_read))}
            for (kind, name), text in _facts(call).items():
                if kind not in usual and (kind, name) not in stated:
                    yield text

    def _loss(self, lost: Mapping[int, bool]) -> Loss:
        """The clauses of these places, with the question that says them last, and without them."""
        spans, end, rest = list[tuple[int, int]](), 0, spelt_out(self.question)
        for _, places in self._reading.parts:
            if {*places} & lost.keys():
                is_next = spans and all(t.kind == "and" for t in self.tokens[end : places[0]])
                start = spans.pop()[0] if is_next else self.tokens[places[0]].span[0]
                spans.append((start, self.tokens[places[-1]].span[1]))
                end = places[-1] + 1
        text = ", ".join(rest[start:stop] for start, stop in spans)
        for start, stop in reversed(spans):
            rest = f"{rest[:start].rstrip(' ,:')} {rest[stop:].lstrip(' ,:')}".strip()
        readings = (f"{rest}, {text}", rest) if rest else (text,)
        return Loss(text, readings, all(lost.values()))
