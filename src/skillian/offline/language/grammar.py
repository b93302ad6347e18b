"""Parses the tokens of a question by `grammar.lark`, in one pass and without backtracking."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, cast

from lark import Lark, UnexpectedToken
from lark.lexer import Token as Terminal

from skillian.offline.language.tokens import Token, text_of

Clause = tuple[str, list[Token]]
_WORDS = {"unknown", "name", "number", "unit", "currency"}
_BESIDE = _WORDS | {
    *("prep", "by", "not", "after", "before", "since", "until", "over", "under", "percent", "verb"),
    "vague",
}


@cache
def _parser() -> tuple[Lark, frozenset[str]]:
    text = files("skillian.offline.language").joinpath("grammar.lark").read_text("utf-8")
    names = set(re.findall(r"\b[A-Z][A-Z_]+\b", re.sub("//.*", "", text)))
    declared = f"{text}\n%declare {' '.join(sorted(names))}\n"
    return Lark(declared, parser="lalr"), frozenset(names)


def clauses_of(tokens: Sequence[Token]) -> tuple[list[Clause], list[Token]]:
    """The clauses of a question with their tokens, and the tokens that it was not read at.

    A token that the grammar has no place for ends the clause before it.
    """
    clauses: list[Clause] = []
    unread: list[Token] = []
    rest = list(tokens)
    while rest:
        end, found = _parsed(rest)
        if found is None:
            unread.append(rest[min(end, len(rest) - 1)])
        whole = end
        while found is None and whole:
            found = _parsed(rest[:whole])[1]
            whole -= 1
        clauses += found or ()
        rest = rest[end or 1 :]
    return clauses, unread


def _parsed(tokens: Sequence[Token]) -> tuple[int, list[Clause] | None]:
    """The clauses of all tokens; or None, with the number of tokens that may begin clauses."""
    parser, names = _parser()
    known = next((i for i, t in enumerate(tokens) if t.kind.upper() not in names), len(tokens))
    state = cast("Any", parser).parse_interactive()
    at = 0
    try:
        for at, token in enumerate(tokens[:known]):  # noqa: B007
            terminal = Terminal(token.kind.upper(), token.text)
            terminal.value = token
            state.feed_token(terminal)
        at = known
        tree = state.feed_eof()
    except UnexpectedToken:
        return at, None
    if known < len(tokens):
        return known, None
    return known, [(str(e.data), [token.value for token in e.children]) for e in tree.children]


def unread_words(tokens: Sequence[Token], stop: Token | None = None) -> list[str]:
    """The unknown words, or the one at which reading stopped, each with the words that it needs."""
    parts: list[tuple[int, int]] = []
    for at, token in enumerate(tokens):
        if token.at == stop.at if stop else token.kind == "unknown":
            first = at
            while first and tokens[first - 1].kind in _BESIDE and not tokens[first].mark:
                first -= 1
            end = last = at + 1
            while last < len(tokens) and tokens[last].kind in _BESIDE and not tokens[last].mark:
                last += 1
                end = last if tokens[last - 1].kind in _WORDS else end
            parts = [each for each in parts if each[0] != first] + [(first, end)]
    return [text_of(tokens[first:end]) for first, end in parts]
