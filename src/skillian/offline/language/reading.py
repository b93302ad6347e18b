"""What a question says: nothing that is not in the question or the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache
from itertools import islice, product

from skillian.offline.language.clauses import read_clauses
from skillian.offline.language.periods import LONGEST_QUESTION, spelt_out
from skillian.offline.language.said import Reading
from skillian.offline.language.tokens import Token, tokens_of
from skillian.offline.language.vocabulary import Vocabulary, plain

MOST_TOKENS = 200
"""The largest number of tokens of a question."""
_MOST_READINGS = 8
_LONGEST_CODE = 3
_EMPTY = {"filler", "period", "vague", "adjective"}
_PARTICLES = {"first", "only", "both", "all", "more", "out", "also", "instead", "those"} | {
    "same_again"
}


def read(
    question: str,
    vocabulary: Vocabulary,
    sources: tuple[str, ...] = (),
    today: date | None = None,
    years: frozenset[int] = frozenset(),
) -> Reading:
    """What a question says; nothing that is not in the question or the vocabulary.

    A question that names no source is about `sources`, those of the conversation, and one that
    names no year is about `years`. "Last month" is before `today`, or before the last period of the
    data if that is earlier.
    """
    today = today or date.today()  # noqa: DTZ011
    return _read_on(today, question, vocabulary, sources, years)


@lru_cache(maxsize=32)
def _read_on(
    today: date,
    question: str,
    vocabulary: Vocabulary,
    sources: tuple[str, ...],
    years: frozenset[int],
) -> Reading:
    if len(question) > LONGEST_QUESTION:
        return Reading(unread=[f"a question of more than {LONGEST_QUESTION} characters"])
    question = spelt_out(question)
    tokens = tokens_of(question, vocabulary, vocabulary, today)
    named = [token.name for token in tokens if token.kind == "source"]
    measures = {token.name for token in tokens if token.kind == "measure"}
    having = vocabulary.with_measures(measures)
    others = vocabulary.within(having).dimensions
    if {*named}.isdisjoint(having) and all(plain(name) in others for name in named):
        named = []  # "top customers by revenue", which is of the source sales
    part = vocabulary.about(named, sources, measures)
    if part is not vocabulary:
        tokens = tokens_of(question, vocabulary if named else part, part, today)
    if len(tokens) > MOST_TOKENS:
        return Reading(unread=[f"a question of more than {MOST_TOKENS} words"])
    reading = _read(tokens, part, years)
    reading.tokens = tokens
    return reading


def _read(tokens: Sequence[Token], vocabulary: Vocabulary, years: frozenset[int]) -> Reading:
    """The reading of the tokens; of several readings the English one, unless it carries nothing.

    "in" is a preposition although IN is a country, but "us" may be the country US.
    """
    choices = [
        [replace(each, at=token.at, mark=token.mark) for each in (token, token.other) if each]
        for token in tokens
    ]
    variants = islice(product(*choices), _MOST_READINGS)
    readings = [read_clauses(variant, vocabulary, years) for variant in variants]
    found = [each for each in readings if not each.unread]
    others = [token for token in tokens if token.other]
    if not found:
        return readings[0]
    is_read, is_only = found[0] is readings[0], len(found) == 1
    doubtful = [each for each in others if _is_doubtful(each, tokens, is_read=is_read)]
    is_empty = is_only and is_read and all(each.kind != "noun" for each in doubtful)
    if is_empty or ((is_read or is_only) and not doubtful):
        return found[0]
    doubts = [f"{token.text} (a value, or not?)" for token in others]
    instead = [
        (token.text, words)
        for token in others
        for name, value in (token.other or token).values.items()
        for words in (f"{name} {value}", "")
    ]
    return replace(readings[0], unread=doubts, instead=instead)


def _is_doubtful(token: Token, tokens: Sequence[Token], *, is_read: bool) -> bool:
    """Whether a word that is also a value may carry nothing: "give us", but not "in".

    `is_read` says whether the question is read with the word as English.
    """
    at = tokens.index(token)
    is_noun = at > 0 and tokens[at - 1].kind in {"prep", "not", "only", "and"}
    is_exact = token.other is not None and token.text in token.other.values.values()
    if token.kind == "noun":
        return not is_noun
    if is_exact and not is_read and at > 1 and tokens[at - 1].kind in {"and", "or"}:
        shared = tokens[at - 2].values.keys() & (token.other or token).values.keys()
        return not shared or (at + 1 < len(tokens) and tokens[at + 1].kind == "period")
    if token.kind in _EMPTY or (token.kind == "aux" and is_noun):
        return True
    if is_read:
        return token.kind == "verb" or (is_exact and token.text.isupper())
    is_bare = not is_noun or tokens[at - 1].kind == "prep"  # "in both", "except both"
    is_small = len(token.text) <= _LONGEST_CODE or (token.kind in _PARTICLES and is_bare)
    return not is_exact and is_small
