"""Two rules between a question and the calls that answer it.

The planner reads the question as far as it can, and says which call it would make. What that call
has and the calls that were made don't is lost; what these have and that call doesn't is chosen by
the model. What the planner cannot read must be in a call as it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property, lru_cache
from typing import Any

from skillian.offline.calls import (
    PlannedCall,
    UnclearError,
    as_list,
    check_units,
    order_of,
    without_empty,
)
from skillian.offline.earlier import COMPARE, QUERY, Earlier
from skillian.offline.language.clauses import Reading
from skillian.offline.language.filters import (
    admitted,
    as_mapping,
    condition_words,
    number_of,
    values_of,
    years_of,
)
from skillian.offline.language.lexicon import KINDS
from skillian.offline.language.reading import read
from skillian.offline.language.tokens import Token, as_number, tokens_of
from skillian.offline.language.vocabulary import Vocabulary, plain, split
from skillian.offline.plans import plan

LOOKS = {"explain_difference", "drill_down", "get_comparison_rows"}
CHECKED = {COMPARE, QUERY, *LOOKS}
"""The tools that answer a question about data."""
DATA = {"source", "measure", "dimension", "value", "period", "not", "most", "least"}
"""Kinds of tokens that ask for data."""
_ORDERING = {"ranked", "order", "direction", "rank"}
_NEGATING = {"not", "dont", "remove", "leave", "but", "excluded", "ignore"}
_DEFAULT_LIMIT = 50
Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Loss:
    """A part of a question that its calls do not have.

    Attributes:
        text: The part as it is written.
        readings: If it changes numbers, the question with the part at its end, and without it.
        is_partial: Whether it is a list of which the calls have some, so that others may follow.
    """

    text: str
    readings: tuple[str, ...] = ()
    is_partial: bool = False


@lru_cache(32)
def _tokens(question: str, vocabulary: Vocabulary, today: date) -> tuple[Token, ...]:
    return tuple(tokens_of(question, vocabulary, today=today))


def merged(tool: str, arguments: Arguments, earlier: Earlier) -> Arguments:
    """A call as one object; a look into a comparison also has the arguments of the comparison."""
    compared: Arguments = {}
    if tool in LOOKS and earlier.comparison is not None:
        compared = earlier.comparison.arguments
    filters = {**as_mapping(compared.get("filters")), **as_mapping(arguments.get("filters"))}
    filters |= as_mapping(arguments.get("key")) if tool in LOOKS else {}
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
    def tokens(self) -> Sequence[Token]:
        """The question, read with the sources of the calls."""
        return _tokens(self.question, self._vocabulary, date.today())  # noqa: DTZ011

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return self.whole.within(name for call in self.calls for name in _sources(call))

    @cached_property
    def _reading(self) -> Reading:
        """What can be read of the question, if it is about the sources and years of the calls."""
        sources = tuple(dict.fromkeys(name for call in self.calls for name in _sources(call)))
        years = self.earlier.years or years_of(call["filters"] for call in self.calls)
        return read(self.question, self.whole, self.earlier.sources or sources, None, years)

    @cached_property
    def _expected(self) -> Arguments:
        """The call that the planner makes of it; without one, the arguments that it names."""
        reading = self._reading
        planned = plan(replace(reading, unread=[]), self.earlier, self.whole)
        if isinstance(planned, PlannedCall) and planned.tool in {c["tool"] for c in self.calls}:
            return merged(planned.tool, planned.arguments, self.earlier)
        stated: Arguments = {
            "tool": "",
            "sources": reading.sources,
            "measures": reading.measures,
            "by": [*reading.breakdown, *reading.members],
            "filters": reading.filters,
            "thresholds": reading.thresholds,
            "order": self._order(),
            "limit": reading.count,
        }
        last = self.earlier.last
        if reading.sources or last is None or last.name not in {c["tool"] for c in self.calls}:
            return stated
        before = merged(last.name, last.arguments, Earlier())
        filters = {**before["filters"], **reading.filters}
        return {**before, **without_empty(stated), "tool": "", "filters": filters}

    def _order(self) -> list[str]:
        measures = self._reading.measures or as_list(self.calls[0].get("measures"))
        try:
            return order_of(self._reading, measures)
        except UnclearError:
            return []

    def losses(self) -> list[Loss]:
        """What the calls do not have of the question."""
        made = {key for call in self.calls for key, _ in _parts(call)}
        found = [*self._conditions()]
        for key, text in _parts(self._expected):
            is_default = key[0] == "measure" and not self._reading.measures
            if key not in made and not (is_default and self._reading.unread):
                is_order = key[0] == "order"
                parts = [part for name, part in self._reading.parts if name in _ORDERING]
                found.append(self._loss(parts) if is_order and parts else Loss(text))
        measures = [name for kind, name in made if kind == "measure"]
        try:
            check_units(self._reading, measures, self.whole)
        except UnclearError:
            found += map(Loss, self._reading.units)
        return list(dict.fromkeys((*found, *self._unread())))

    def _conditions(self) -> Iterator[Loss]:
        """Yield the conditions that the calls do not have, or have otherwise."""
        for name, wanted in self._expected["filters"].items():
            made = [c["filters"][name] for c in self.calls if name in c["filters"]] or [{}]
            known = self._vocabulary.values.get(name, {}).values()
            sets = admitted(known, [wanted, *made], is_open=self._vocabulary.is_open(name))
            union = set[str]().union(*sets[1:])
            if union == sets[0]:
                continue
            parts = [
                part
                for _, part in self._reading.parts
                if any(name in t.values or (t.kind == "label" and t.name == name) for t in part)
            ]
            if parts:
                is_partial = bool(union) and union < sets[0]
                yield replace(self._loss(parts), is_partial=is_partial)
            else:
                yield Loss(f"{name}: {condition_words(wanted)}, as before")

    def _unread(self) -> Iterator[Loss]:
        """Yield what is not read and in no call as it is written."""
        texts = {each.lower() for call in self.calls for each in values_of(call)}
        names = {key[1] for call in self.calls for key, _ in _parts(call)}
        names = names.union(*(call["filters"] for call in self.calls))
        numbers = {number_of(text) for text in texts}
        filters = [condition for call in self.calls for condition in call["filters"].values()]
        changing = {"value", "either"}
        changing |= set() if names & {*self._vocabulary.timed} else {"period"}
        changing |= set() if any("ne" in as_mapping(each) for each in filters) else {"not", "dont"}
        if not any(call.get("order") for call in self.calls):
            changing |= {"most", "least", "descending", "ascending"}
        for part in self._unread_parts():
            said = [
                t for t in part if texts.isdisjoint(map(str.lower, (t.text, *t.values.values())))
            ]
            if changing & {token.kind for token in said}:
                yield self._loss([part])
                continue
            for token in said:
                is_named = token.kind in {"measure", "dimension", "source"}
                is_number = token.kind == "number" and as_number(token.text) not in numbers
                is_number |= token.other is not None and bool(self._reading.unread)  # "in us"
                if is_number or token.kind == "name" or (is_named and token.name not in names):
                    yield Loss(token.text)

    def _unread_parts(self) -> list[Sequence[Token]]:
        """The clauses that mean nothing, and the words that are in none, each with its "not"."""
        refused = self._reading.refused
        parts = [*(part for _, part in self._reading.parts), *refused]
        read_at = {token.at for part in parts for token in part}
        found: list[list[Token]] = []
        for token in self.tokens:
            if token.at not in read_at:
                is_excluded = bool(found) and found[-1][-1].kind == "not"
                found[-1:] = [[*found[-1], token]] if is_excluded else [*found[-1:], [token]]
        return [*refused, *found]

    def choices(self) -> Iterator[str]:
        """Yield what the calls have that neither the question nor the calls before them have."""
        expected = self._expected
        past = [each.arguments for each in (self.earlier.last, self.earlier.comparison) if each]
        known = [expected]
        if not expected["tool"]:  # otherwise the planner says what stays as it was
            known += [merged("", arguments, Earlier()) for arguments in past]
        stated = {key for each in known for key, _ in _parts(each)}
        removed = self._reading.removed
        stated |= {("by", token.name) for token in self.tokens if token.name not in removed}
        said = f" {plain(f'{self.spoken} {self.question}')} "
        words = {word.text for word in split(self.question)}
        is_negated = any(token.kind in _NEGATING for token in self.tokens)
        for call in self.calls:
            for name, condition in call["filters"].items():
                values = [*values_of(condition)]
                is_said = bool(values) and all(
                    value in words if plain(value) in KINDS else f" {plain(value)} " in said
                    for value in values
                )
                is_turned = "ne" in as_mapping(condition) and not is_negated
                is_said = is_said and not is_turned
                is_kept = any(each["filters"].get(name) == condition for each in known)
                if not (is_said or is_kept or name in expected["filters"]):
                    yield f"{name}: {condition_words(condition)}"
            for key, text in _parts(call):
                kind, name = key
                is_usual = kind in {"source", "measure"} or name in call["filters"]
                is_usual |= kind == "limit" and name == _DEFAULT_LIMIT
                if not is_usual and key not in stated:
                    yield text

    def _loss(self, parts: Sequence[Sequence[Token]]) -> Loss:
        """A part that changes numbers, with the question that says it last, and without it."""
        said: list[str] = []
        rest = self.question
        for part in reversed(parts):
            start = min((token.prep or token).at for token in part)
            end = max(token.at + len(token.text) for token in part)
            said.insert(0, self.question[start:end])
            rest = f"{rest[:start].rstrip(' ,:')} {rest[end:].lstrip(' ,:')}".strip()
        text = ", ".join(said)
        return Loss(text, (f"{rest}, {text}", rest))


def _sources(call: Arguments) -> list[str]:
    names = (call.get(each) for each in ("source", "source_a", "source_b"))
    return [str(name) for name in (*names, *call.get("sources", ())) if name is not None]


def _parts(call: Arguments) -> Iterator[tuple[tuple[str, Any], str]]:
    """Yield what a call has apart from conditions, each with its words."""
    yield from ((("source", name), name) for name in _sources(call))
    yield from ((("measure", str(name)), str(name)) for name in as_list(call.get("measures")))
    yield from ((("by", str(name)), f"by {name}") for name in call["by"])
    yield from ((("order", str(name)), f"order {name}") for name in as_list(call.get("order"))[:1])
    if call.get("limit"):
        yield ("limit", number_of(call["limit"])), f"the first {call['limit']} rows"
    for limits in as_mapping(call.get("thresholds")).values():
        for kind, limit in as_mapping(limits).items():
            if limit is not None:
                unit = " %" if kind == "percentage" else ""
                yield (kind, number_of(limit)), f"tolerance {limit}{unit}"
