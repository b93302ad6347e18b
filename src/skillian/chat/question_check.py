"""Checks a call that a model made against the question: nothing of it may be dropped silently.

The same reading of the question serves the planner and the check. Each part of a question must
reach the call: sources, measures, groups, conditions, limits and the number of rows. What reaches
no call makes the turn a question back, not an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from rapidfuzz import fuzz, utils

from skillian.chat.answer_check import check_answer
from skillian.offline.clauses import Reading
from skillian.offline.earlier import COMPARE, QUERY

_LIKE = 80.0
_LOOKS = {"explain_difference", "drill_down", "get_comparison_rows"}
CHECKED = {COMPARE, QUERY, *_LOOKS}
"""The tools whose calls answer a question about data."""

_SHOWS = {
    *("plot", "chart", "graph", "draw", "diagram", "histogram", "visualise", "visualize"),
    *("summarise", "summarize", "summary", "briefly"),
}
"""Words for how an answer is shown, which a language model follows without a call for data."""

_TALK = {"filler", "article", "and", "link", "list"}
"""Kinds of words that ask for no data."""

Arguments = Mapping[str, Any]


@dataclass(slots=True)
class Coverage:
    """What the calls of a turn have used of its question.

    Args:
        reading: What the question says.
        before: The arguments of the calls before the turn, which a follow-up question changes.
        spoken: What the user said before, in lower case.
    """

    reading: Reading
    before: Sequence[Arguments] = ()
    spoken: str = ""
    _made: list[Arguments] = field(default_factory=list[Arguments])

    def faults_of(self, tool: str, arguments: Arguments) -> list[str]:
        """What makes this call an answer to another question, in words."""
        if tool not in CHECKED:
            return []
        merged = self._merged(tool, arguments)
        faults = [f"the question says {each}; the call does not" for each in self._left_out(merged)]
        added = self._added(arguments)
        unread = [text for text in self._unread if not any(is_like(text, n) for n in added)]
        if unread:
            faults.append(f"not understood: {', '.join(unread)}")
        elif not self._unread:
            faults += [f"the call has {each}; the question does not" for each in added]
        return faults

    @property
    def _unread(self) -> list[str]:
        """What was not understood, and is not only how an answer is shown."""
        return [text for text in self.reading.unread if {*text.lower().split()} - _SHOWS]

    def note(self, tool: str, arguments: Arguments) -> None:
        """Remember a call that was made."""
        if tool in CHECKED:
            self._made.append(self._merged(tool, arguments))

    def invents(self, answer: str, question: str) -> bool:
        """Whether an answer without a call has figures, and the question is about data."""
        asks = bool(self._unread) or not {*self.reading.says} <= _TALK
        return asks and bool(check_answer(answer, (), question).unverified)

    def missing(self) -> list[str]:
        """The parts of the question that no call of the turn used."""
        if not self._made:
            return []
        sources = {name for call in self._made for name in _sources(call)}
        measures = {name for call in self._made for name in _list(call.get("measures"))}
        missing = [name for name in self.reading.sources if name not in sources]
        missing += [name for name in self.reading.measures if name not in measures]
        for name, condition in self.reading.filters.items():
            if isinstance(condition, list):
                used = {
                    value for call in self._made for value in _members(_filters(call).get(name))
                }
                missing += sorted(_members(condition) - used)
        return missing

    def _merged(self, tool: str, arguments: Arguments) -> Arguments:
        """The arguments; a look into a comparison also has those of the comparison."""
        if tool not in _LOOKS:
            return arguments
        compared = [call for call in (*self.before, *self._made) if "source_a" in call]
        last: Arguments = compared[-1] if compared else {}
        filters = {**_filters(last), **_object(arguments.get("key"))}
        groups = [*_list(last.get("align_on")), *_list(arguments.get("dimensions"))]
        return {**last, **arguments, "filters": filters, "align_on": groups}

    def _left_out(self, arguments: Arguments) -> Iterator[str]:
        reading, filters = self.reading, _filters(arguments)
        yield from self._other_names(arguments)
        for name, condition in reading.filters.items():
            if not _is_within(filters.get(name), condition):
                yield f"{name}: {condition_words(condition)}"
        groups = {*_list(arguments.get("align_on")), *_list(arguments.get("dimensions"))}
        yield from (f"by {n}" for n in (*reading.breakdown, *reading.members) if n not in groups)
        yield from (f"all of {name}" for name in reading.cleared if name in filters)
        if "source_a" in arguments:
            yield from _limits_left_out(reading, _object(arguments.get("thresholds")))
        elif reading.count is not None and arguments.get("limit") != reading.count:
            yield f"{reading.count} rows"

    def _other_names(self, arguments: Arguments) -> Iterator[str]:
        """Yield the sources and measures of the question if the call has others.

        A misspelt name is not read, and the call may have the right one. "Compare it with …" names
        one source, and the call before it the other; "Are the rows of the customers the same?"
        leaves the other to the call.
        """
        before = [name for call in self.before for name in _sources(call)]
        sources = [name for name in _sources(arguments) if name not in before]
        measures = [str(name) for name in _list(arguments.get("measures"))]
        known = self.reading.sources
        if not measures and len(known) == 1 and known[0] in sources:
            known = []
        for names, used in ((known, sources), (self.reading.measures, measures)):
            others = [name for name in used if name not in names and not self._is_meant(name)]
            if names and others:
                yield " and ".join(names)

    def _is_meant(self, name: str) -> bool:
        return any(is_like(text, name) for text in self._unread)

    def _added(self, arguments: Arguments) -> list[str]:
        """What the call has and neither the question nor an earlier call has."""
        known = {name for call in self.before for name in _filters(call)}
        added = [
            f"{name}: {condition_words(condition)}"
            for name, condition in _filters(arguments).items()
            if name not in self.reading.filters
            and name not in known
            and condition is not None
            and not (_members(condition) and all(v in self.spoken for v in _members(condition)))
        ]
        added += _limits_added(arguments, (*self.before, {"thresholds": self.reading.thresholds}))
        if self._unread:
            added += [condition_words(each) for each in _filters(arguments).values()]
            added += [*_sources(arguments), *map(str, _list(arguments.get("measures")))]
        return added


def is_like(text: str, name: str) -> bool:
    """Whether a text may be a part or a misspelling of a name."""
    return float(fuzz.WRatio(text, name, processor=utils.default_process)) >= _LIKE


def condition_words(condition: object) -> str:
    """A condition of the filter language in words."""
    if isinstance(condition, Mapping):
        words = {"ne": "not", "gte": "from", "gt": "after", "lte": "up to", "lt": "before"}
        return " and ".join(
            " to ".join(map(str, _list(value)))
            if operator == "between"
            else f"{words.get(operator, operator)} {condition_words(value)}"
            for operator, value in cast("Mapping[str, Any]", condition).items()
        )
    if isinstance(condition, list):
        return ", ".join(condition_words(each) for each in cast("list[object]", condition))
    return "empty" if condition is None else str(condition)


def _limits_left_out(reading: Reading, thresholds: Mapping[str, Any]) -> Iterator[str]:
    for status, limits in reading.thresholds.items():
        stated = _object(thresholds.get(status))
        for kind, limit in limits.items():
            if _number(stated.get(kind)) != _number(limit):
                yield f"a limit of {limit} {'%' if kind == 'percentage' else ''}".strip()


def _limits_added(arguments: Arguments, known: Iterable[Arguments]) -> Iterator[str]:
    """Yield the limits of a call that the question and the calls before it do not have."""
    stated = [_object(each.get("thresholds")) for each in known]
    for status, limits in _object(arguments.get("thresholds")).items():
        for kind, limit in _object(limits).items():
            same = (_number(_object(each.get(status)).get(kind)) for each in stated)
            if limit is not None and _number(limit) not in same:
                yield f"a limit of {limit} {'%' if kind == 'percentage' else ''}".strip()


def _is_within(used: Any, asked: Any) -> bool:
    """Whether a call's condition is the one that was asked for, or a part of its list."""
    if isinstance(asked, Mapping):
        return bool(_normal(used) == _normal(asked))
    values = _members(used)
    return bool(values) and values <= _members(asked)


def _normal(condition: Any) -> Any:
    """A form in which equal conditions are equal: no order, no types, closed ends as one."""
    if not isinstance(condition, Mapping):
        return _members(condition)
    conditions = {
        operator: tuple(sorted(_members(value)))
        if operator == "ne"
        else tuple(map(str, _list(value)))
        for operator, value in cast("Mapping[str, Any]", condition).items()
    }
    if set(conditions) == {"gte", "lte"}:
        return {"between": (*conditions["gte"], *conditions["lte"])}
    return conditions


def _members(condition: Any) -> set[str]:
    """The values of a condition that is a value or a list, in lower case."""
    if condition is None or isinstance(condition, Mapping):
        return set()
    return {str(value).lower() for value in _list(condition)}


def _sources(arguments: Arguments) -> list[str]:
    names = (arguments.get(each) for each in ("source", "source_a", "source_b"))
    return [str(name) for name in names if name is not None]


def _filters(arguments: Arguments) -> Mapping[str, Any]:
    return _object(arguments.get("filters"))


def _object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    if value is None:
        return []
    return list(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else [value]


def _number(value: object) -> Decimal | None:
    try:
        return None if value is None else Decimal(str(value))
    except InvalidOperation:
        return None
