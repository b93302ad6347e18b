"""The order of a question's tokens that the grammar reads: what stands beside a word decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from skillian.offline.language.tokens import Token, as_number
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
_BLOCKING = {
    *("by", "every", "which", "most", "least", "rank", "how_many"),
    *("and", "or", "number", "dimension"),
}
_GROUPING = {"by", "every", "which"}
_COMPARING = {"not", "between", "from", "since", "after", "until", "before", "but"}
_JOINS = {"and", "or", "nor"}
_BEFORE_NUMBER = {
    *("most", "least", "first", "tolerance", "under", "over", "within", "ignore", "currency"),
    "which",
}
_AFTER_NUMBER = {"percent", "currency", "cents", "unit", "most", "least", "tolerance"}
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
    after = tokens[at + 1 : at + 3]
    following = [each.kind for each in after]
    before = {each.kind for each in tokens[:at]}
    if token.kind == "not" and token.text.lower() == "no":
        return not (at == 0 and bool(tokens[1:2]) and bool(tokens[1].mark))  # "no, Germany"
    if token.kind == "verb":
        is_route = following[:1] in (["from"], ["to"])
        return has_helper or is_route or bool(before & {"which", "how_many", "how_much"})
    if token.kind == "same":
        return following[:1] not in (["dimension"], ["period"])
    return token.kind != "prep" or _may_connect(token.text.lower(), following)


def _may_connect(text: str, following: list[str]) -> bool:
    """Whether a preposition has its noun: not "with ward", "in and outside", "as of yesterday"."""
    if text == "with" and following[:1] == ["dimension"]:
        return bool({*following[1:]} & {*_VALUES, *_COMPARING, "number"})
    if text == "as of":
        return following[:1] == ["source"]
    return following[:1] not in (["and"], ["or"], ["nor"])


def _without_prepositions(tokens: Sequence[Token]) -> list[Token]:
    """Drop prepositions before a name, and marks that only separate."""
    kept: list[Token] = []
    apart = [
        replace(
            token, prep=before if before.kind == "prep" else None, mark=token.mark or before.mark
        )
        if before.kind in {"prep", "but"}
        else token
        for before, token in pairwise([_END, *tokens])
    ]
    for token, after in pairwise([*apart, _END]):
        is_unit = after.kind in {"currency", "unit", ""}
        is_bound = bool(kept) and kept[-1].kind in _COMPARING - {"not", "but"}
        if token.kind != "prep" or is_unit or is_bound:
            kept.append(token)
    return kept


def _labels(tokens: Sequence[Token]) -> list[Token]:
    """Mark dimensions that are before a value of theirs."""
    labelled: list[Token] = []
    is_grouped = False
    for token, after in pairwise([*tokens, _END]):
        is_grouped = token.kind in _GROUPING or (
            is_grouped and token.kind in {"dimension", *_JOINS}
        )
        # "the largest months of 2024"
        is_apart = bool(after.mark or after.prep) and (is_grouped or is_plural(token.text))
        is_label = _is_of(token, after) and not is_apart
        labelled.append(replace(token, kind="label") if is_label else token)
    return labelled


def _is_of(token: Token, value: Token) -> bool:
    """Whether a token is a dimension that may have this value."""
    if token.kind != "dimension" or value.kind not in {*_VALUES, "number"}:
        return False
    return token.name in (value.values or {token.name})


def _with_labels_inside(tokens: Sequence[Token]) -> list[Token]:
    """Move a dimension behind the word that compares it: "months since", "wards other than"."""
    kept = list(tokens)
    for at, (token, operator, value) in enumerate(zip(kept, kept[1:], kept[2:], strict=False)):
        before = kept[at - 1].kind if at else ""
        is_next = operator.kind in {"after", "before"} and token.text.lower() in _UNITS_OF_TIME
        is_label = operator.kind in _COMPARING and _is_of(token, value) and not is_next
        if is_label and before not in _BLOCKING:
            kept[at : at + 2] = [operator, token]
    return kept


def _numbers(tokens: Sequence[Token]) -> list[Token]:
    """Numbers that are values, and values that are numbers."""
    kept: list[Token] = []
    for token, after in pairwise([*tokens, _END]):
        before = kept[-1].kind if kept else ""
        is_number = token.kind == "value" and as_number(token.text) is not None
        is_number &= before != "label"
        if is_number and (before in _BEFORE_NUMBER or after.kind in _AFTER_NUMBER):
            kept.append(replace(token, kind="number"))
        elif token.kind == "number" and (
            before == "label" or (before in _JOINS and len(kept) > 1 and kept[-2].kind == "name")
        ):
            kept.append(replace(token, kind="name"))
        else:
            kept.append(token)
    return kept


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
            if family and is_same and not {token.mark, after.mark} & _STOPS:
                kept.append(replace(token, kind="join" if token.kind == "and" else "either"))
            elif token.kind != "and" or (before.kind == "dimension" and after.kind == "label"):
                kept.append(token)
            continue
        is_list = family not in {"", "amount"} and family == _FAMILIES.get(token.kind)
        if {before.kind, token.kind} <= {"value", "period"}:
            is_list &= bool(before.values.keys() & token.values.keys())
        if token.mark == "," and not token.prep and is_list:
            kept.append(Token("join", ",", ","))
        if not (token.kind == "by" and before.kind in {"join", "either"}):
            kept.append(token)
    return kept
