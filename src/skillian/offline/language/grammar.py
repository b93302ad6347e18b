"""Parses the tokens of a question by `grammar.lark`, in one pass and without backtracking."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, cast

from lark import Lark, UnexpectedToken
from lark.lexer import Lexer
from lark.lexer import Token as Terminal

from skillian.offline.language.tokens import Token, of_kinds, text_of

Clause = tuple[str, list[Token]]
_WORDS = {"unknown", "name", "number", "unit", "currency"}
_BESIDE = _WORDS | {
    *("prep", "by", "not", "after", "before", "since", "until", "over", "under", "percent"),
}


class UnreadError(Exception):
    """The grammar has no place for a token, or for the end of the question (None)."""

    def __init__(self, token: Token | None) -> None:
        super().__init__(token.text if token else "a question that ends here")
        self.token = token


class _Tokens(Lexer):
    """Passes on tokens that are already made."""

    def __init__(self, _: Any) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any = None) -> Iterator[Terminal]:  # noqa: ARG002
        """Yield the terminals."""
        for token in cast("Sequence[Token]", lexer_state):
            terminal = Terminal(token.kind.upper(), token.text)
            terminal.value = token
            yield terminal


@cache
def _parser() -> tuple[Lark, frozenset[str]]:
    text = files("skillian.offline.language").joinpath("grammar.lark").read_text("utf-8")
    names = set(re.findall(r"\b[A-Z][A-Z_]+\b", re.sub("//.*", "", text)))
    declared = f"{text}\n%declare {' '.join(sorted(names))}\n"
    return Lark(declared, parser="lalr", lexer=_Tokens), frozenset(names)


def clauses_of(tokens: Sequence[Token]) -> list[Clause]:
    """The clauses of a question with their tokens, from left to right.

    Raises:
        UnreadError: The grammar does not have the tokens in this order.
    """
    parser, names = _parser()
    for token in tokens:
        if token.kind.upper() not in names:
            raise UnreadError(token)
    parse: Callable[[Sequence[Token]], Any] = cast("Any", parser).parse
    try:
        tree = parse(tokens)
    except UnexpectedToken as error:
        at = cast("Any", error).token
        raise UnreadError(None if at.type == "$END" else at.value) from None
    return [(str(each.data), [token.value for token in each.children]) for each in tree.children]


def unknown_words(tokens: Sequence[Token]) -> list[str]:
    """The unknown words, with the small words, names and numbers beside them."""
    found: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind not in _BESIDE or token.mark:
            found.append([])
        if token.kind in _BESIDE:
            found[-1].append(token)
    texts: list[str] = []
    for part in found:
        while part and part[-1].kind not in _WORDS:
            part.pop()
        if of_kinds(part, {"unknown"}):
            texts.append(text_of(part))
    return texts


def words_before(token: Token | None, tokens: Sequence[Token]) -> str:
    """The words of a token, with the small words before it."""
    places = [at for at, each in enumerate(tokens) if token is not None and each.at == token.at]
    if not places or token is None or token.kind == "join":
        return ""
    first = last = places[0]
    while first and tokens[first - 1].kind in _BESIDE - _WORDS:
        first -= 1
    return text_of(tokens[first : last + 1])
