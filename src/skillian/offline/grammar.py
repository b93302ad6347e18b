"""Parses the tokens of a question by `grammar.lark`, in one pass and without backtracking."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, cast

from lark import Lark, UnexpectedToken
from lark.lexer import Lexer
from lark.lexer import Token as Terminal

from skillian.offline.tokens import Token

Clause = tuple[str, list[Token]]


class UnreadError(Exception):
    """The grammar has no place for a token, or for the end of the question (None)."""

    def __init__(self, token: Token | None) -> None:
        super().__init__(token.text if token else "the end of the question")
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
    text = files("skillian.offline").joinpath("grammar.lark").read_text("utf-8")
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
    try:
        tree = parser.parse(cast("Any", tokens))
    except UnexpectedToken as error:
        at = error.token
        raise UnreadError(None if at.type == "$END" else cast("Token", at.value)) from None
    return [
        (str(cast("Any", clause).data), [each.value for each in cast("Any", clause).children])
        for clause in tree.children
    ]
