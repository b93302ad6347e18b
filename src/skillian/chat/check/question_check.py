"""Two rules between a question and the calls that answer it.

The planner reads the question as far as it can, and says which call it would make. What that call
has and the calls that were made don't is lost; what these have and that call doesn't is chosen by
the model. What the planner cannot read must be in a call as it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from skillian.offline.calls import (
    PlannedCall,
    UnclearError,
    as_list,
    call_of,
    check_units,
    order_of,
    reading_of,
)
from skillian.offline.changes import with_changes
from skillian.offline.earlier import COMPARE, QUERY, Earlier
from skillian.offline.language.arrangement import arranged
from skillian.offline.language.filters import (
    BOUNDS,
    admitted,
    as_mapping,
    both,
    condition_words,
    days_of,
    filter_of,
    number_of,
    parts_of,
    values_of,
    years_of,
)
from skillian.offline.language.lexicon import KINDS
from skillian.offline.language.reading import read
from skillian.offline.language.said import Reading
from skillian.offline.language.tokens import Token, as_number, of_kinds, text_of
from skillian.offline.language.vocabulary import Vocabulary, plain, split
from skillian.offline.looks import wanted_look
from skillian.offline.named import NEGATING, value_lists
from skillian.offline.plans import plan

LOOKS = {"explain_difference", "drill_down", "get_comparison_rows"}
CHECKED = {COMPARE, QUERY, *LOOKS}
"""The tools that answer a question about data."""
DATA = {"source", "measure", "dimension", "value", "period", "not", "most", "least"}
"""Kinds of tokens that ask for data."""
_ORDERING = {"ranked", "order", "direction", "rank"}
_TURNING = {"not", "dont", "remove", "excluded"}
_SMALL = {"aux", "prep", "and", "or", "filler", "from"}
_OF_LIMITS = {"percent", "cents", "currency", "tolerance", "within"}
_DEFAULT_LIMIT = 50
_WORDS = {
    "sources": "{}",
    "measures": "{}",
    "by": "by {}",
    "order": "order {}",
    "class": "class {}",
    "limit": "the first {} rows",
    "absolute": "tolerance {}",
    "percentage": "tolerance {} %",
}
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


def merged(tool: str, arguments: Arguments, earlier: Earlier) -> Arguments:
    """What a call asks for; a look into a comparison also asks for what was compared."""
    compared: Arguments = {}
    if tool in LOOKS and earlier.comparison is not None:
        compared = earlier.comparison.arguments
    whole = {**compared, **arguments}
    sources = [whole.get(each) for each in ("source", "source_a", "source_b")]
    by = (compared.get("align_on"), arguments.get("align_on"), arguments.get("dimensions"))
    given = (compared.get("filters"), arguments.get("filters"))
    key = arguments.get("key") if tool in LOOKS else None
    return {
        "tool": tool,
        "sources": _names(sources),
        "measures": _names(whole.get("measures")),
        "by": [name for names in by for name in _names(names)],
        "filters": {n: each for some in (*given, key) for n, each in as_mapping(some).items()},
        "thresholds": as_mapping(whole.get("thresholds")),
        "order": _names(whole.get("order"))[:1],
        "class": _names(arguments.get("status")),
        "limit": whole.get("limit"),
    }


def _names(value: object) -> list[str]:
    """The names in an argument, which the tool itself refuses if it is not a list of names."""
    return [each for each in as_list(value) if isinstance(each, str)]


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
        """The question, as it is read."""
        return self._reading.tokens

    @cached_property
    def _sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for call in self.calls for name in call["sources"]))

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return self.whole.within(self._sources)

    @cached_property
    def _reading(self) -> Reading:
        """What can be read of the question, if it is about the sources and years of the calls."""
        years = self.earlier.years or years_of(call["filters"] for call in self.calls)
        return read(self.question, self.whole, self.earlier.sources or self._sources, None, years)

    @cached_property
    def _expected(self) -> Arguments:
        """The call that the planner makes of it; without one, the arguments that it names."""
        reading, tools = self._reading, {call["tool"] for call in self.calls}
        planned = plan(replace(reading, unread=[]), self.earlier, self.whole)
        if isinstance(planned, PlannedCall) and planned.tool in tools:
            return merged(planned.tool, planned.arguments, self.earlier)
        last = self.earlier.last
        is_new = bool(reading.sources and (reading.measures or reading.members))
        is_change = last is not None and last.name in tools and not is_new
        before = reading_of(last.arguments if last and is_change else {})
        with suppress(UnclearError):
            measures = reading.measures or self.calls[0]["measures"]
            reading = replace(reading, ordered_by=order_of(reading, measures)[:1])
        reading, is_added = replace(reading, is_singular=False), "also" in reading.says
        try:
            whole = with_changes(reading, before, is_added=is_added)
        except UnclearError:
            bare = replace(before, filters={}, ordered_by=[], count=None)
            whole = with_changes(reading, bare, is_added=is_added)
        tool = COMPARE if len(whole.sources) > 1 else QUERY
        return merged("", call_of(tool, whole).arguments, Earlier())

    def losses(self) -> list[Loss]:
        """What the calls do not have of the question."""
        made = {key for call in self.calls for key in _parts(call)}
        found = [*self._conditions()]
        last = self.earlier.last
        past = _parts(merged("", last.arguments, Earlier())) if last else {}
        for key, text in _parts(self._expected).items():
            is_default = key[0] == "measures" and not self._reading.measures
            is_default &= bool(self._reading.unread)
            is_default |= key[0] == "limit" and self._reading.count is None  # "which one"
            if key not in made and not (is_default and key not in past):
                is_order = key[0] == "order"
                parts = [p for name, p in self._reading.parts if is_order and name in _ORDERING]
                parts = [p for p in parts if text_of(p) not in self._reading.unread]  # of each?
                found.append(self._loss(parts) if parts else Loss(text))
        try:
            measures = [name for call in self.calls for name in call["measures"]]
            check_units(self._reading, measures, self.whole)
        except UnclearError:
            found += map(Loss, self._reading.units)
        return list(dict.fromkeys((*found, *self._unread())))

    def _conditions(self) -> Iterator[Loss]:
        """Yield the conditions that the calls do not have, or have otherwise."""
        calls = [self._by_part(call["filters"]) for call in self.calls]
        for name, wanted in self._by_part(self._expected["filters"]).items():
            made = [filters[name] for filters in calls if name in filters] or [{}]
            known = self._vocabulary.values.get(name, {}).values()
            is_open = self._vocabulary.is_open(name)
            sets = admitted(known, [wanted, *made], is_open=is_open)
            union = set[str]().union(*sets[1:])
            parts = self._parts_on(name)
            if union == sets[0] or self._is_doubtful(parts, wanted, made):
                continue
            if parts:
                is_partial = bool(union) and union < sets[0]
                yield replace(self._loss(parts), is_partial=is_partial)
            else:
                yield Loss(f"{name}: {condition_words(wanted)}, as before")

    def _by_part(self, filters: Mapping[str, Any]) -> dict[str, Any]:
        """The conditions; one on months becomes one on days if the day determines the month."""
        conditions: dict[str, Any] = {}
        for name, condition in filters.items():
            part = self._vocabulary.part_of(name)
            days = days_of(condition) if part else dict[str, list[str]]()
            known = parts_of(conditions.get(part, filters.get(part))) if part else {}
            combined = both(known, days) if days else None
            if part and combined:
                conditions[part] = filter_of(combined)
            else:
                conditions.setdefault(name, condition)
        return conditions

    def _parts_on(self, name: str) -> list[Sequence[Token]]:
        """The clauses with a condition on a dimension."""
        return [
            part
            for _, part in self._reading.parts
            if any(name in t.values or (t.kind == "label" and t.name == name) for t in part)
        ]

    def _is_doubtful(
        self, parts: Sequence[Sequence[Token]], wanted: Any, made: Sequence[Any]
    ) -> bool:
        """Whether a word before a clause may turn it, and calls have its values.

        "Leave out whatever is on hold", "which isn't on hold".
        """
        is_turned = "ne" in as_mapping(wanted)
        if is_turned or not all({*values_of(wanted)} <= {*values_of(each)} for each in made):
            return False
        parts = [part for part in parts if not of_kinds(part, {"only"})]
        before = [[t.kind for t in self.tokens if t.at < part[0].at] for part in parts]
        lasts = [[kind for kind in kinds if kind not in _SMALL][-1:] for kinds in before]
        return any(last in (["unknown"], ["dont"]) for last in lasts)

    def _unread(self) -> Iterator[Loss]:
        """Yield what is not read and in no call as it is written."""
        texts = {each.lower() for call in self.calls for each in values_of(call)}
        names = {name for call in self.calls for _, name in _parts(call)}
        names = names.union(*(call["filters"] for call in self.calls))
        numbers = {number_of(text) for text in texts}
        filters = [condition for call in self.calls for condition in call["filters"].values()]
        changing = {"value", "either"}
        changing |= set() if names & {*self._vocabulary.timed} else {"period"}
        changing |= set() if any("ne" in as_mapping(each) for each in filters) else _TURNING
        if not any(call.get("order") for call in self.calls):
            changing |= {"most", "least", "rated", "descending", "ascending"}
        has_limits = any(call.get("thresholds") for call in self.calls)
        for part in self._unread_parts():
            named = of_kinds(part, {"measure", "dimension", "source"})
            is_of_names = part[0].kind == "not" and len(named) == len(part) - 1 > 0
            if is_of_names and names.isdisjoint(token.name for token in named):
                continue  # "damages, not income"
            said = [
                t for t in part if texts.isdisjoint(map(str.lower, (t.text, *t.values.values())))
            ]
            if changing & {token.kind for token in said}:
                yield self._loss([part])
                continue
            for token in said:
                is_named = token.kind in {"measure", "dimension", "source"}
                is_limit = token.kind in _OF_LIMITS and not has_limits
                is_number = token.kind == "number" and as_number(token.text) not in numbers
                is_value = token.other is not None and token.kind not in {"prep", "measure"}  # "us"
                is_value &= bool(self._reading.unread)
                is_strange = is_number or is_value or is_limit or token.kind == "name"
                if is_strange or (is_named and token.name not in names):
                    yield Loss(token.text)

    def _unread_parts(self) -> list[Sequence[Token]]:
        """The clauses that mean nothing, and the words that are in none, each with its "not"."""
        refused = [part for part in self._reading.refused if len(part) > 1]
        parts = [*(part for _, part in self._reading.parts), *refused]
        read_at = {token.at for part in parts for token in part}
        found: list[list[Token]] = []
        for before, token, after in zip(
            [None, *self.tokens], self.tokens, [*self.tokens[1:], None], strict=False
        ):
            is_idle = token.kind == "not" and after is not None and after.kind == "filler"
            if token.at not in read_at and not is_idle:  # "not what I need"
                last = found[-1][-1] if found else None
                is_excluded = last is not None and last is before and last.kind == "not"
                found[-1:] = [[*found[-1], token]] if is_excluded else [*found[-1:], [token]]
        return [*refused, *found]

    def choices(self) -> Iterator[str]:
        """Yield what the calls have that neither the question nor the calls before them have."""
        known = [self._expected]
        if not known[0]["tool"]:  # otherwise the planner says what stays as it was
            past = (self.earlier.last, self.earlier.comparison)
            known += [merged("", each.arguments, Earlier()) for each in past if each]
        removed = {*self._reading.removed, *self._reading.replaced.get("", ())}
        stated: set[tuple[str, Any]] = {("limit", self._reading.count)}.union(*map(_parts, known))
        stated |= {("by", token.name) for token in self.tokens if token.name not in removed}
        is_listed = self._expected["tool"] == COMPARE and wanted_look(self._reading) == "rows"
        conditions = [self._by_part(each["filters"]) for each in known]
        for call in self.calls:
            for name, condition in self._by_part(call["filters"]).items():
                is_kept = any(each.get(name) == condition for each in conditions)
                is_kept = is_kept or (bool(self._reading.unread) and self._is_said(name, condition))
                is_kept &= name not in self._reading.cleared
                wanted = conditions[0].get(name)
                parts = self._parts_on(name) if wanted != condition else []
                is_read = wanted is not None and not self._is_doubtful(parts, wanted, [condition])
                if not (is_kept or is_read):
                    yield f"{name}: {condition_words(condition)}"
            is_measured = any(("measures", name) in stated for name in call["measures"])
            usual = {"sources", "measures"} if is_measured else {"sources"}
            for (kind, name), text in _parts(call).items():
                is_usual = kind in usual
                is_usual |= kind == "by" and isinstance(call["filters"].get(name), str)
                is_usual |= kind == "limit" and name == _DEFAULT_LIMIT
                is_usual |= kind == "class" and is_listed
                if not is_usual and (kind, name) not in stated:
                    yield text

    def _is_said(self, name: str, condition: Any) -> bool:
        """Whether the user has said all values of a condition, and that they are excluded.

        Of values that differ only in case or number, none is said but one in quotes.
        """
        said = f" {plain(f'{self.spoken} {self.question}')} "
        words = {word.text for word in split(self.question)}
        values, alike = [*values_of(condition)], self._vocabulary.alike
        is_turned = "ne" in as_mapping(condition)
        return (
            bool(values)
            and not BOUNDS & {*parts_of(condition)}
            and (not is_turned or all(map(self._is_negated, values)))
            and all(
                (value in words if plain(value) in KINDS else f" {plain(value)} " in said)
                and (f'"{value}"' in self.question or (name, plain(value)) not in alike)
                for value in values
            )
        )

    def _is_negated(self, value: str) -> bool:
        """Whether a negation is before or behind a value, or anywhere without the value."""
        lists = [
            is_unwanted
            for is_unwanted, part in value_lists(arranged(self.tokens))
            if any(value in (*token.values.values(), token.text) for token in part)
        ]
        return any(lists or of_kinds(self.tokens, NEGATING | {"excluded", "but"}))

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


def _parts(call: Arguments) -> dict[tuple[str, Any], str]:
    """What a call has apart from conditions, each with its words."""
    values = {kind: call[kind] for kind in ("sources", "measures", "by", "order", "class")}
    values["limit"] = [call["limit"]] if call["limit"] else []
    for limits in call["thresholds"].values():
        known = as_mapping(limits).items()
        values |= {kind: [limit] for kind, limit in known if limit is not None}
    return {
        (kind, str(each) if isinstance(each, str) else number_of(each)): words.format(each)
        for kind, words in _WORDS.items()
        for each in values.get(kind, ())
    }
