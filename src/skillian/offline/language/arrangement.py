"""The order of a question's tokens that the grammar reads: what stands beside a word decides."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

from skillian.offline.language.periods import are_years
from skillian.offline.language.tokens import Token, as_number, of_kinds
from skillian.offline.language.vocabulary import is_plural

_POLITE = {"filler", "noun", "show", "where"}
_VALUES = {"value", "period", "name"}
_FAMILIES = dict.fromkeys((*_VALUES, "label"), "value") | {
    "source": "source",
    "measure": "measure",
    "dimension": "dimension",
    **dict.fromkeys(("number", "percent", "currency", "unit", "cents"), "amount"),
}
_STOPS = set(";.?!")
_BLOCKING = {"by", "every", "which", "most", "least", "rank", "how_many", "number"}
_LIMITING = {"under", "over", "within", "until", "tolerance"}
_GROUPING = {"by", "every", "which"}
_BOUNDS = {"between", "from", "since", "after", "until", "before"}
_COMPARING = _BOUNDS | {"not", "but"}
_UNITS = {"currency", "unit", ""}
_JOINS = {"and", "or", "nor"}
_BEFORE_NUMBER = {
    *("most", "least", "first", "tolerance", "under", "over", "within", "ignore", "currency"),
    "which",
}
_OF_AMOUNTS = {"percent", "currency", "cents", "unit"}
_AFTER_NUMBER = _OF_AMOUNTS | {"most", "least", "tolerance"}
_UNITS_OF_TIME = {"day", "week", "month", "quarter", "year"}
_END = Token("", "", "")


def arranged(tokens: Sequence[Token]) -> list[Token]:
    """The tokens as the grammar reads them: labels, joins and numbers by what is beside them."""
    kept = _with_labels_inside(_without_prepositions(_without_filler(tokens)))
    return _joined(_numbers(_labels(kept)))


def _without_filler(tokens: Sequence[Token]) -> list[Token]:
    """Drop what carries nothing: filler before the first name, and forms of "be" and "do"."""
    named = (at for at, token in enumerate(tokens) if token.kind in {"source", "measure"})
    first = next(named, len(tokens))
    has_helper = any(token.text.lower() in {"do", "does", "did"} for token in tokens)
    lead = [token for token in tokens[:first] if token.kind not in _POLITE]
    kept = [token for token in (*lead, *tokens[first:]) if token.kind != "aux"]
    for at, token in enumerate(kept):
        if not _may_stand(token, kept, at, has_helper=has_helper):
            kept[at] = replace(token, kind="unknown")
    return kept


def _may_stand(token: Token, tokens: Sequence[Token], at: int, *, has_helper: bool) -> bool:
    """Whether a small word has the meaning of its kind at this place."""
    text, before = token.text.lower(), {each.kind for each in tokens[:at]}
    after, second = [*tokens[at + 1 : at + 3], _END, _END][:2]
    if token.kind == "verb":
        is_asked = bool(before & {"which", "how_many", "how_much"})
        return has_helper or is_asked or after.kind in {"from", "to", "by"}
    if token.kind == "same":
        return after.kind not in {"dimension", "period"}
    if token.kind == "not" and text == "no":
        return not after.mark  # "no, Germany"
    if text == "with" and after.kind == "dimension":
        return second.kind in {*_VALUES, *_COMPARING, "number"}
    if text == "as of":
        return after.kind == "source"
    return token.kind != "prep" or after.kind not in _JOINS


def _without_prepositions(tokens: Sequence[Token]) -> list[Token]:
    """Drop prepositions before a name, which keeps them as its own."""
    named = [
        replace(token, prep=before, mark=token.mark or before.mark)
        if before.kind == "prep"
        else token
        for before, token in pairwise([_END, *tokens])
    ]
    kept: list[Token] = []
    following = [*named[1:], _END, _END]
    for token, after, second in zip(named, following, following[1:], strict=False):
        is_bounded = bool(kept) and kept[-1].kind in _BOUNDS
        if token.kind == "prep" and second.kind == "level":  # "at company level"
            kept.append(replace(token, kind="by"))
        elif token.kind != "prep" or after.kind in _UNITS or is_bounded:
            kept.append(token)
    return kept


def _labels(tokens: Sequence[Token]) -> list[Token]:
    """Mark dimensions that are before a value of theirs."""
    labelled: list[Token] = []
    is_grouped = False
    for token, after in pairwise([*tokens, _END]):
        is_grouped &= token.kind in {"dimension", *_JOINS}
        is_grouped |= token.kind in _GROUPING
        # "the largest months of 2024"
        is_apart = bool(after.mark or after.prep) and (is_grouped or is_plural(token.text))
        # a condition beside a group, as in "by country, channel: web"
        is_value = after.kind != "period" and after.mark in {"", ":"}
        is_apart &= not is_value or (is_grouped and _is_of_group(labelled))
        is_label = _is_of(token, after) and not is_apart
        labelled.append(replace(token, kind="label") if is_label else token)
    return labelled


def _is_of_group(before: Sequence[Token]) -> bool:
    """Whether a dimension after these tokens is one to group by.

    The second of a group without "and" is not: "by country, channel not web".
    """
    kinds = ["", "", *(token.kind for token in before)]
    group: list[str] = []
    while kinds[-1] in {"dimension", *_JOINS}:
        group.append(kinds.pop())
    *_, limit, word = kinds
    return word in _BLOCKING and limit not in _LIMITING and group != ["dimension"]


def _is_of(token: Token, value: Token) -> bool:
    """Whether a token is a dimension that may have this value."""
    if token.kind != "dimension" or value.kind not in {*_VALUES, "number"}:
        return False
    return token.name in (value.values or {token.name})


def _with_labels_inside(tokens: Sequence[Token]) -> list[Token]:
    """Move a dimension behind the word that compares it: "months since", "wards other than"."""
    kept = list(tokens)
    for at, (token, operator, value) in enumerate(zip(kept, kept[1:], kept[2:], strict=False)):
        is_next = operator.kind in {"after", "before"} and token.text.lower() in _UNITS_OF_TIME
        is_label = operator.kind in _COMPARING and _is_of(token, value) and not is_next
        before = kept[:at]
        # "by fuel, for plants other than P63"
        is_apart = token.prep is not None and bool(of_kinds(before[-1:], {"dimension"}))
        if is_label and (is_apart or not _is_of_group(before)):
            kept[at : at + 2] = [operator, token]
    return kept


def _numbers(tokens: Sequence[Token]) -> list[Token]:
    """Numbers that are values, and values that are numbers."""
    kept: list[Token] = []
    for at, (token, after) in enumerate(pairwise([*tokens, _END])):
        before = kept[-1].kind if kept else ""
        is_number = token.kind == "value" and as_number(token.text) is not None
        is_amount = not (before == "ignore" or are_years([token.text]))  # "ignore 1001"
        is_number &= is_amount or after.kind in _OF_AMOUNTS
        is_counted = before in _BEFORE_NUMBER or after.kind in _AFTER_NUMBER
        is_one_more = before in _JOINS and [each.kind for each in kept[-2:-1]] == ["name"]
        if is_number and is_counted and before != "label":
            kept.append(replace(token, kind="number"))
        elif is_member(tokens, at):
            kept.append(replace(token, kind="value"))
        elif token.kind == "number" and (before == "label" or is_one_more):
            kept.append(replace(token, kind="name"))
        else:
            kept.append(token)
    return kept


def is_member(tokens: Sequence[Token], at: int, known: Collection[str] = ()) -> bool:
    """Whether a number is a value: of a dimension beside it or its list, or of a known one."""
    before, token, after = [_END, *tokens, _END][at : at + 3]
    is_counted = before.kind in _BEFORE_NUMBER or after.kind in _AFTER_NUMBER
    if token.kind != "number" or (is_counted and before.kind != "label"):
        return False
    for step in (-1, 1):
        near = at + step
        while 0 <= near < len(tokens) and _is_listed(tokens[near], token):
            near += step
        beside = tokens[near] if 0 <= near < len(tokens) else _END
        is_apart = tokens[near + 1 if step < 0 else near].mark if beside.kind == "dimension" else ""
        if beside.kind in {"label", "dimension"} and not is_apart:
            return beside.name in token.values
    return not token.values.keys().isdisjoint(known)


def _is_listed(token: Token, member: Token) -> bool:
    """Whether a token may be in one list with a member."""
    is_alike = token.kind in {"number", "value"} and token.values.keys() & member.values.keys()
    return token.kind in _JOINS | _COMPARING | {"to"} or bool(is_alike)


def _joined(tokens: Sequence[Token]) -> list[Token]:
    """Turn conjunctions between two of a kind into joins, and drop "and" elsewhere."""
    kept: list[Token] = []
    following = [*tokens[1:], _END, _END]
    for token, after, second in zip(tokens, following, following[1:], strict=False):
        before = kept[-1] if kept else _END
        family = _FAMILIES.get(before.kind, "")
        if token.kind in _JOINS:
            is_by = after.kind == "by" and family == "value"  # "by road or by sea"
            is_same = family == _FAMILIES.get((second if is_by else after).kind, "")
            # "in Germany and for web"
            named = {after.name: ""} if after.kind == "label" else after.values
            is_label = after.kind == "label" and token.kind == "and"
            is_apart = (after.prep or is_label) and before.values and named
            is_same &= not (is_apart and before.values.keys().isdisjoint(named))
            if family and is_same and not {token.mark, after.mark} & _STOPS:
                kept.append(replace(token, kind="join" if token.kind == "and" else "either"))
            elif token.kind != "and" or (before.kind == "dimension" and after.kind == "label"):
                kept.append(token)
            continue
        is_list = family not in {"", "amount"} and family == _FAMILIES.get(token.kind)
        if before.kind in {"value", "period"} and token.kind in {"value", "period", "label"}:
            is_list &= bool(before.values.keys() & (token.values or {token.name: ""}).keys())
        is_list &= {before.kind, token.kind} != {"name", "period"}  # "other than Initech, Q3 2024"
        if token.mark == "," and not token.prep and is_list:
            kept.append(Token("join", ",", ","))
        if not (token.kind == "by" and before.kind in {"join", "either"}):
            kept.append(token)
    return kept
