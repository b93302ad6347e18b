"""What a question names, however it says it: the calls that are offered if it is not read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from skillian.offline.calls import PlannedCall
from skillian.offline.changes import (
    call_of,
    reading_of,
    with_limit,
    with_named,
    without_limits,
)
from skillian.offline.earlier import QUERY
from skillian.offline.language.arrangement import is_member
from skillian.offline.language.conditions import Conditions, NotReadError, as_json
from skillian.offline.language.filters import filter_of, parts_of, years_of
from skillian.offline.language.periods import period_of
from skillian.offline.language.said import Direction, Reading
from skillian.offline.language.tokens import Token, as_number
from skillian.offline.language.vocabulary import Vocabulary
from tinyagent import ToolCall

_VALUES = {"value", "period", "name"}
_SILENT = {"prep", "aux", "filler", "only", "and", "or", "from", "to", "both", "noun"}
_GROUPING = {"by", "every", "which"}
_NEGATING = {"not", "nor", "dont", "remove", "leave", "ignore", "instead_of"}
_BETWEEN = _NEGATING | {"unknown", "since", "until", "after", "before", "between"}
_SIGNS = {"most": "-", "descending": "-", "rated": "-", "least": "", "ascending": ""}
_ENDING = set(",;:.?!")
_END = Token("", "", "")
Filters = Mapping[str, Any]


@dataclass(slots=True)
class Named:
    """The measures, groups, conditions and numbers that a question names.

    `removed` are measures and groups that it negates, `cleared` groups with all their members;
    `wanted` and `unwanted` are conditions by dimension, `labels` the dimensions next to
    their values. `sign` is that of the order, and `step` is -1 for the period before the last one.
    """

    measures: list[str] = field(default_factory=list[str])
    groups: list[str] = field(default_factory=list[str])
    removed: list[str] = field(default_factory=list[str])
    cleared: list[str] = field(default_factory=list[str])
    labels: set[str] = field(default_factory=set[str])
    wanted: dict[str, Any] = field(default_factory=dict[str, Any])
    unwanted: dict[str, Any] = field(default_factory=dict[str, Any])
    numbers: list[int] = field(default_factory=list[int])
    percentages: list[int | float | str] = field(default_factory=list[int | float | str])
    sign: str | None = None
    step: int = 0

    def add_number(self, number: Decimal | None, *, is_percentage: bool) -> None:
        """Add a whole number of rows or a tolerance, or a percentage."""
        if number is not None and number > 0 and is_percentage:
            self.percentages.append(as_json(number))
        elif number is not None and number > 0 and number == int(number):
            self.numbers.append(int(number))


def named_in(
    tokens: Sequence[Token], vocabulary: Vocabulary, years: frozenset[int], asked_by: Iterable[str]
) -> Named:
    """What tokens name.

    A value is unwanted if a negation is before it, or "but" alone, with neither a mark nor a value
    of another dimension between them. A new name is of a dimension that is `asked_by`.
    """
    said = [_as_value(token) for token in tokens if token.kind not in _SILENT]
    kept = [
        replace(token, kind="value") if is_member(said, at, {*asked_by}) else token
        for at, token in enumerate(said)
    ]
    named = Named()
    labels, is_negated = _labels(kept), False
    values: list[tuple[Token, str, bool]] = []
    for at, (token, after) in enumerate(pairwise([*kept, _END])):
        is_negated &= token.mark not in _ENDING
        if token.kind == "but":  # "everyone but Germany", "not rail but road"
            is_negated = not (is_negated or token.mark) and after.kind in _VALUES
        is_negated |= token.kind in _NEGATING
        is_excluded = is_negated or after.kind in {"excluded", "out"}
        if token.kind in _VALUES:
            values.append((token, kept[labels[at]].name if at in labels else "", is_excluded))
        elif token.kind == "dimension" and at not in labels.values():
            is_cleared = at > 0 and kept[at - 1].kind == "all"
            named.step = {"before": -1, "after": 1}.get(after.kind, 0)
            names = named.removed if is_excluded else named.groups
            names = named.cleared if is_cleared else names
            names += [] if named.step else [token.name]
        elif token.kind == "measure":
            (named.removed if is_negated else named.measures).append(token.name)
        elif token.kind == "number":
            named.add_number(as_number(token.text), is_percentage=after.kind == "percent")
        elif token.kind in _SIGNS:
            named.sign = _SIGNS[token.kind]
    named.labels = {kept[at].name for at in labels.values()}
    stated = {t.period.first.year for t in kept if t.period is not None and t.period.has_year}
    stated |= years_of(token.text for token, *_ in values)
    open_ones = {name for name in (*asked_by, *named.groups) if vocabulary.is_open(name)}
    new = [name for name in open_ones if not vocabulary.is_date(name)]
    conditions = Conditions(vocabulary, stated or {*years}, {*named.groups})
    _add_conditions(named, values, conditions, new[0] if len(new) == 1 else "")
    return named


def _add_conditions(
    named: Named, values: Sequence[tuple[Token, str, bool]], empty: Conditions, new: str
) -> None:
    """Add the conditions of values, each with its label and whether it is excluded.

    A new name without a label is of the dimension `new`. A value is left out if its dimension or
    its period is not clear.
    """
    tokens: dict[tuple[str, bool], list[Token]] = {}
    before = ""
    for token, own, is_excluded in values:
        label = own or (new if token.kind == "name" else "")
        with suppress(NotReadError):
            [(name, _)] = empty.groups([*([_label(label)] if label else []), token])
            is_unwanted = is_excluded and before in {"", name}
            before = name if is_unwanted else ""
            tokens.setdefault((name, is_unwanted), []).append(token)
    for (name, is_unwanted), each in tokens.items():
        with suppress(NotReadError):
            conditions = replace(empty, _conditions={})
            conditions.add([_label(name), *each], "eq")
            (named.unwanted if is_unwanted else named.wanted).update(conditions.arguments())


def _label(name: str) -> Token:
    return Token("label", name, name)


def _labels(tokens: Sequence[Token]) -> dict[int, int]:
    """For the places of values, those of the dimensions that are named before or after them."""
    found: dict[int, int] = {}
    for at, value in enumerate(tokens):
        for step in (-1, 1) if value.kind in _VALUES else ():
            near = at + step
            while 0 <= near < len(tokens) and tokens[near].kind in _BETWEEN:
                near += step
            is_apart = any(token.mark for token in tokens[min(at, near) + 1 : max(at, near) + 1])
            other = tokens[near] if 0 <= near < len(tokens) else value
            is_apart |= near > 0 and tokens[near - 1].kind in _GROUPING  # "by month in 2024"
            is_own = other.kind == "dimension" and other.name in (value.values or {other.name})
            if at not in found and is_own and not is_apart and near not in found.values():
                found[at] = near
    return found


def _as_value(token: Token) -> Token:
    """The token, as a value if it is written as one."""
    other = token.other
    is_exact = other is not None and other.kind == "value" and token.text in other.values.values()
    return replace(other, at=token.at, mark=token.mark) if other and is_exact else token


def with_read(named: Named, reading: Reading) -> Named:
    """What a question names, with its conditions as they are read, unless only these negate."""
    for name, condition in reading.filters.items():
        excluded = parts_of(condition).get("ne")
        if excluded and name not in named.wanted:
            named.unwanted[name] = filter_of({"eq": excluded})
        elif not excluded and name not in named.unwanted:
            named.wanted[name] = condition
    return named


def asked(named: Named, reading: Reading) -> Iterator[Reading]:
    """Yield what may be asked of the sources that a question names."""
    directions: dict[str | None, Direction] = {"-": "most", "": "least", None: ""}
    stated = reading.direction or directions[named.sign]
    is_rated = any(token.kind == "rated" for token in reading.tokens)  # by most, or by least?
    groups = dict.fromkeys((*reading.named, *named.groups))
    is_pair = len(reading.sources) > 1
    kept, other = (named.unwanted, stated), (named.unwanted, directions[""])
    for unwanted, direction in (kept, *([other] if is_rated else []), (dict[str, Any](), stated)):
        yield replace(
            reading,
            measures=reading.measures or named.measures,
            members=[],
            breakdown=[name for name in groups if name not in named.labels],
            filters=_edited({}, replace(named, unwanted=unwanted), (), is_added=False),
            count=None if is_pair else reading.count or next(iter(named.numbers), None),
            direction=direction,
            says={},
            unread=[],
        )


def changes(named: Named, last: ToolCall, vocabulary: Vocabulary) -> Iterator[PlannedCall]:
    """Yield the last call with what a question names in place of what it had, and added to it.

    The second one has neither its limits nor its conditions on groups that are named.
    """
    before = reading_of(last.arguments)
    of_last = replace(named, measures=[])  # "without cancelled orders"
    gone = {*named.removed}
    kept = {
        name: _moved(name, value, named.step, vocabulary) if named.step else value
        for name, value in before.filters.items()
        if name not in gone | {*named.cleared}
    }
    narrow = replace(before, filters=kept)
    wide = without_limits(narrow, named.groups)
    variants = ((named, narrow, False), (named, wide, False), (named, narrow, True))
    for each, old, is_added in (*variants, (of_last, narrow, False)):
        measures, groups = (
            with_named([n for n in names if n not in gone], new, is_added=is_added)
            for names, new in ((old.measures, each.measures), (old.breakdown, each.groups))
        )
        whole = replace(
            old,
            measures=measures,
            breakdown=groups,
            filters=_edited(old.filters, named, vocabulary.of_periods, is_added=is_added),
        )
        if last.name == QUERY:
            whole.count = next(iter(named.numbers), old.count)
            whole.ordered_by = _order(old.ordered_by, measures, groups, named.sign)
        elif named.percentages or named.numbers:
            whole = with_limit(whole, named.numbers, named.percentages)
        yield call_of(last.name, whole)


def _moved(name: str, value: Any, step: int, vocabulary: Vocabulary) -> Any:
    """The condition on the period before or after a single one; any other as it is."""
    known = sorted(vocabulary.values.get(name, {}).values())
    if name not in vocabulary.of_periods or not isinstance(value, str):
        return value
    if vocabulary.is_date(name):
        day = period_of(value)
        return value if day is None else (day.first + timedelta(step)).isoformat()
    at = known.index(value) + step if value in known else -1
    return known[at] if 0 <= at < len(known) else value


def _order(
    before: list[str], measures: list[str], groups: list[str], sign: str | None
) -> list[str]:
    """The order of a query with these measures and groups."""
    names = {each.removeprefix("-") for each in before}
    if sign is None and names <= {*measures, *groups}:
        return before
    sign = sign if sign is not None else "-" * before[0].startswith("-")
    return [f"{sign}{measures[0]}"] if measures else []


def _edited(
    filters: Filters, named: Named, periods: Collection[str], *, is_added: bool
) -> dict[str, Any]:
    """The conditions with those of a question; a period replaces those of other dimensions."""
    replaced = {*periods} if {*named.wanted} & {*periods} and not is_added else set[str]()
    found = {name: value for name, value in filters.items() if name not in replaced}
    for name, value in named.wanted.items():
        old, new = parts_of(found.get(name)), parts_of(value)
        if is_added and {*old} == {*new} == {"eq"}:
            new = {"eq": list(dict.fromkeys((*old["eq"], *new["eq"])))}
        elif is_added and {*old} == {"ne"} and "eq" in new:
            new = {"ne": [each for each in old["ne"] if each not in new["eq"]]}
        found[name] = filter_of(new)
    for name, value in named.unwanted.items():
        old, values = parts_of(found.get(name)), parts_of(value).get("eq", [])
        kept = [each for each in old.get("eq", ()) if each not in values]
        excluded = list(dict.fromkeys((*old.get("ne", ()), *values)))
        is_listed = "eq" in old and (kept or not is_added)  # "everything except web"
        bounds = {operator: each for operator, each in old.items() if operator != "eq"}
        found[name] = filter_of({"eq": kept} if is_listed else {**bounds, "ne": excluded})
    return {name: value for name, value in found.items() if value not in ([], {"ne": []})}
