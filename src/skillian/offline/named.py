"""What a question names, however it says it: the calls that are offered if it is not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from operator import itemgetter
from typing import Any

from skillian.offline.calls import UnclearError
from skillian.offline.changes import with_changes, with_limit, without_limits
from skillian.offline.language.arrangement import arranged, is_member
from skillian.offline.language.conditions import Conditions, NotReadError, as_json
from skillian.offline.language.filters import parts_of
from skillian.offline.language.periods import period_of
from skillian.offline.language.said import Direction, Reading
from skillian.offline.language.tokens import Token, as_number
from skillian.offline.language.vocabulary import Vocabulary

_VALUES = {"value", "period", "name"}
NEGATING = {"not", "nor", "dont", "remove", "leave", "ignore", "instead_of"}
"""Kinds of words that negate what is behind them."""
_LISTING = {"label", "join", "either"}
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
    said = arranged([_as_value(t) for t in reading.tokens if t.kind != "unknown"])
    kept = [
        replace(token, kind="value") if is_member(said, at, asked_by) else token
        for at, token in enumerate(said)
    ]
    found, step = Reading(), 0
    numbers: list[int] = []
    percentage: int | float | str = 0
    for before_it, token, after, is_excluded in _with_negation(kept):
        if token.kind == "dimension" and before_it not in _VALUES:
            step = {"before": -1, "after": 1}.get(after, 0)
            names = found.removed if is_excluded or step else found.breakdown
            names = found.cleared if before_it == "all" else names
            names.append(token.name)
        elif token.kind == "measure":
            (found.removed if is_excluded else found.measures).append(token.name)
        elif token.kind == "number" and (number := as_number(token.text)):
            if after == "percent":
                percentage = as_json(number)
            elif number == int(number):
                numbers.append(int(number))
        elif token.kind in _DIRECTIONS:
            found.direction = _DIRECTIONS[token.kind]
    lists = value_lists(kept)
    labels = {t.name for _, part in lists for t in part if t.kind in {"label", "dimension"}}
    stated = {t.period.first.year for t in kept if t.period is not None and t.period.has_year}
    conditions = Conditions(vocabulary, stated or {*years}, {*found.breakdown})
    named = {*asked_by, *found.breakdown}
    open_ones = [n for n in named if vocabulary.is_open(n) and not vocabulary.is_date(n)]
    for is_unwanted, part in sorted(lists, key=itemgetter(0)):
        known = [t for t in part if t.kind in {"label", "value", "period"}]  # "Bern and Genf"
        for some in (_labelled(part, open_ones), known):
            with suppress(NotReadError):
                conditions.add(some, "ne" if is_unwanted else "eq")
                break
    groups = dict.fromkeys((*reading.named, *found.breakdown))
    moved = _moved(before.filters, step, vocabulary) if step else {}
    whole = replace(
        reading,
        measures=reading.measures or found.measures,
        members=[],
        breakdown=[name for name in groups if name not in labels],
        removed=found.removed,
        cleared=found.cleared,
        filters=moved | _with_read(conditions.arguments(), reading),
        count=reading.count or next(iter(numbers), None),
        direction=reading.direction or found.direction,
        says={"only": "", "remove": ""},
    )
    whole.unread, whole.parts = [], []
    return with_limit(whole, "percentage", percentage)


def _with_negation(tokens: Sequence[Token]) -> Iterator[tuple[str, Token, str, bool]]:
    """Yield each token between the kinds beside it, and whether a word before it negates it."""
    is_negated = False
    for before, token, after in zip([_END, *tokens], tokens, [*tokens[1:], _END], strict=False):
        is_negated &= token.mark not in _ENDING
        if token.kind == "but":  # "everyone but Germany", "not rail but road"
            is_negated = not (is_negated or token.mark) and after.kind in {"label", *_VALUES}
        is_negated |= token.kind in NEGATING
        is_excluded = is_negated or after.kind in {"excluded", "out"}
        yield before.kind, token, after.kind, is_excluded


def value_lists(tokens: Sequence[Token]) -> list[tuple[bool, list[Token]]]:
    """The lists of values with their dimensions, and whether each is unwanted.

    A negation is of the first list behind it, and ends at a mark.
    """
    lists: list[tuple[bool, list[Token]]] = []
    is_used = False
    for before, token, after, is_excluded in _with_negation(tokens):
        is_used &= is_excluded and token.kind not in NEGATING
        if token.kind in {"label", *_VALUES} or (token.kind == "dimension" and before in _VALUES):
            names = {each.name for each in lists[-1][1]} if lists else set[str]()
            is_more = before in _LISTING or before == token.kind == "name"
            is_more &= token.kind != "label" or token.name in names
            is_more &= not (token.mark and lists and lists[-1][0])
            is_more |= token.kind == "dimension"
            if not (lists and is_more):
                is_out = after in {"excluded", "out"}
                lists.append((is_out or (is_excluded and not is_used), []))
            lists[-1][1].append(token)
            is_used |= is_excluded
    return lists


def _labelled(part: Sequence[Token], names: Sequence[str]) -> Sequence[Token]:
    """Values with the only dimension that may have them, if they are new names without any."""
    is_new = len(names) == 1 and {token.kind for token in part} == {"name"}
    return [Token("label", names[0], names[0]), *part] if is_new else part


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
        limited = with_limit(whole, "absolute", whole.count, before)
        whole = replace(limited, count=None, direction="")
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
