"""What a question names, however it says it: the calls that are offered if it is not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

from skillian.offline.calls import UnclearError
from skillian.offline.changes import with_changes, without_limits
from skillian.offline.language.arrangement import is_member
from skillian.offline.language.conditions import Conditions, NotReadError, as_json
from skillian.offline.language.filters import parts_of, years_of
from skillian.offline.language.periods import period_of
from skillian.offline.language.said import Direction, Reading
from skillian.offline.language.tokens import Token, as_number
from skillian.offline.language.vocabulary import Vocabulary

_VALUES = {"value", "period", "name"}
_SILENT = {"prep", "aux", "filler", "only", "and", "or", "from", "to", "both", "noun"}
_GROUPING = {"by", "every", "which"}
_NEGATING = {"not", "nor", "dont", "remove", "leave", "ignore", "instead_of"}
_BETWEEN = _NEGATING | {"unknown", "since", "until", "after", "before", "between"}
_DIRECTIONS: dict[str, Direction] = {
    **dict.fromkeys(("most", "descending", "rated"), "most"),
    **dict.fromkeys(("least", "ascending"), "least"),
}
_ENDING = set(",;:.?!")
_END = Token("", "", "")


def named_in(
    reading: Reading, vocabulary: Vocabulary, before: Reading, years: frozenset[int]
) -> Reading:
    """The question with all that its tokens name; `before` is what the last one asked for.

    A value is unwanted if a negation is before it, or "but" alone, with neither a mark nor a value
    of another dimension between them. A new name is of a dimension of the last question.
    """
    asked_by = {*before.breakdown, *before.filters}
    said = [_as_value(token) for token in reading.tokens if token.kind not in _SILENT]
    kept = [
        replace(token, kind="value") if is_member(said, at, asked_by) else token
        for at, token in enumerate(said)
    ]
    found = Reading()
    labels, is_negated, step = _labels(kept), False, 0
    values: list[tuple[Token, str, bool]] = []
    numbers: list[int] = []
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
            step = {"before": -1, "after": 1}.get(after.kind, 0)
            names = found.removed if is_excluded or step else found.breakdown
            names = found.cleared if is_cleared else names
            names.append(token.name)
        elif token.kind == "measure":
            (found.removed if is_negated else found.measures).append(token.name)
        elif token.kind == "number" and (number := as_number(token.text)):
            if after.kind == "percent":
                found.thresholds = {"match": {"percentage": as_json(number)}}
            elif number == int(number):
                numbers.append(int(number))
        elif token.kind in _DIRECTIONS:
            found.direction = _DIRECTIONS[token.kind]
    stated = {t.period.first.year for t in kept if t.period is not None and t.period.has_year}
    stated |= years_of(token.text for token, *_ in values)
    open_ones = {name for name in (*asked_by, *found.breakdown) if vocabulary.is_open(name)}
    new = [name for name in open_ones if not vocabulary.is_date(name)]
    conditions = Conditions(vocabulary, stated or {*years}, {*found.breakdown})
    own = {kept[at].name for at in labels.values()}
    groups = dict.fromkeys((*reading.named, *found.breakdown))
    moved = _moved(before.filters, step, vocabulary) if step else {}
    filters = _filters(values, conditions, new[0] if len(new) == 1 else "")
    return replace(
        reading,
        measures=reading.measures or found.measures,
        members=[],
        breakdown=[name for name in groups if name not in own],
        removed=found.removed,
        cleared=found.cleared,
        filters=moved | _with_read(filters, reading),
        thresholds=reading.thresholds or found.thresholds,
        count=reading.count or next(iter(numbers), None),
        direction=reading.direction or found.direction,
        says={"only": "", "remove": ""},
        unread=[],
    )


def _filters(
    values: Sequence[tuple[Token, str, bool]], conditions: Conditions, new: str
) -> dict[str, Any]:
    """The conditions of values, each with its label and whether it is excluded.

    A new name without a label is of the dimension `new`. A value is left out if its dimension or
    its period is not clear.
    """
    tokens: dict[tuple[bool, str], list[Token]] = {}
    before = ""
    for token, own, is_excluded in values:
        label = own or (new if token.kind == "name" else "")
        with suppress(NotReadError):
            [(name, _)] = conditions.groups([*([_label(label)] if label else []), token])
            is_unwanted = is_excluded and before in {"", name}
            before = name if is_unwanted else ""
            tokens.setdefault((is_unwanted, name), []).append(token)
    for (is_unwanted, name), each in sorted(tokens.items(), key=lambda item: item[0][0]):
        with suppress(NotReadError):
            conditions.add([_label(name), *each], "ne" if is_unwanted else "eq")
    return conditions.arguments()


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


def _with_read(filters: dict[str, Any], reading: Reading) -> dict[str, Any]:
    """Conditions as they are read, unless only these negate or only the others do."""
    read = {
        name: condition
        for name, condition in reading.filters.items()
        if ("ne" in parts_of(condition)) == ("ne" in parts_of(filters.get(name, condition)))
    }
    return filters | read


def asked(whole: Reading) -> Iterator[Reading]:
    """Yield what may be asked of the sources that a question names, with all that it names."""
    is_rated = any(token.kind == "rated" for token in whole.tokens)  # by most, or by least?
    count = None if len(whole.sources) > 1 else whole.count
    whole = replace(whole, count=count, removed=[], cleared=[], replaced={})
    filters = {n: each for n, each in whole.filters.items() if "ne" not in parts_of(each)}
    measured = {token.name: token for token in whole.tokens if token.kind == "measure"}
    others = [name for name in measured if name not in whole.measures]
    yield whole
    if others:  # "bed days of patients"
        yield replace(whole, measures=others)
    if is_rated:
        yield replace(whole, direction="least")
    yield replace(whole, filters=filters)


def changes(whole: Reading, before: Reading, vocabulary: Vocabulary) -> Iterator[Reading]:
    """Yield the last question with what a question names in place of what it had, and added to it.

    The second one has neither its limits nor its conditions on groups that are named.
    """
    if len(before.sources) > 1:
        limits = {"match": {"absolute": whole.count}} if whole.count and before.thresholds else {}
        limits = whole.thresholds or limits
        whole = replace(whole, count=None, direction="", thresholds=limits)
    timed = vocabulary.of_periods
    others = [n for n in before.filters if n in timed and {*whole.filters} & timed]
    gone = [*whole.cleared, *whole.removed]
    groups = [name for name in whole.breakdown if name not in gone]
    whole = replace(whole, breakdown=groups, cleared=gone)
    moved = replace(whole, cleared=[*whole.cleared, *others])
    wide = without_limits(before, whole.breakdown)
    of_last = replace(moved, measures=[])  # "without cancelled orders"
    for each, old, is_added in (
        (moved, before, False),
        (moved, wide, False),
        (whole, before, True),
        (of_last, before, False),
        (replace(moved, cleared=[*moved.cleared, *moved.filters]), before, False),
    ):
        with suppress(UnclearError):
            yield with_changes(each, old, is_added=is_added)


def _moved(filters: dict[str, Any], step: int, vocabulary: Vocabulary) -> dict[str, Any]:
    """The conditions on the periods before or after single ones."""
    found: dict[str, Any] = {}
    for name in vocabulary.of_periods & filters.keys():
        value, known = filters[name], sorted(vocabulary.values[name].values())
        if not isinstance(value, str):
            continue
        if vocabulary.is_date(name) and (day := period_of(value)):
            found[name] = (day.first + timedelta(step)).isoformat()
        elif value in known and 0 <= known.index(value) + step < len(known):
            found[name] = known[known.index(value) + step]
    return found
