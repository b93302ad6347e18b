"""What a question that was not understood may have meant: sentences that the planner reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from rapidfuzz import fuzz, process, utils

from skillian.offline.calls import Plan, PlannedCall
from skillian.offline.language.clauses import Reading
from skillian.offline.language.lexicon import KINDS
from skillian.offline.language.tokens import Token, of_kinds, tokens_of
from skillian.offline.language.vocabulary import Vocabulary, plain
from skillian.offline.sentences import sentence_of

MOST = 3
"""The largest number of offers."""
_NEAR = 75
_MOST_TRIED = 12
_CHANGING = {"not", "or", "nor", "over", "under", "before", "after", "since", "until", "between"}
"""Kinds of words without which a question has another answer."""
_NEGATING = re.compile(
    r"\bnon\b|n['\u2019]t\b|\b(?:less|net|aside|remove|drop|minus|than|but|not|no|without|except)\b",
    re.IGNORECASE,
)


def near_name(text: str, vocabulary: Vocabulary) -> str | None:
    """The name of the catalogue that a text is like; only to propose it."""
    names = [*vocabulary.sources, *vocabulary.measures, *vocabulary.dimensions]
    found = process.extractOne(
        text, names, scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=_NEAR
    )
    is_other = found is not None and "(" not in text and plain(found[0]) not in plain(text)
    return found[0] if found is not None and is_other else None


def offers(
    question: str, reading: Reading, vocabulary: Vocabulary, plan: Callable[[str], Plan]
) -> tuple[str, ...]:
    """At most three sentences near the question, each of which is read as one call."""
    made: dict[str, None] = {}
    for number, sentence in enumerate(_sentences(question, reading, vocabulary)):
        if len(made) == MOST or number == _MOST_TRIED:
            break
        call = plan(sentence)
        written = sentence_of(call) if isinstance(call, PlannedCall) else None
        if written is not None and plan(written) == call:
            made[written] = None
    return tuple(made)


def _sentences(question: str, reading: Reading, vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the question with other words in place of those not understood, and without them."""
    for words, other in reading.instead:
        yield _replaced(question, words, other)
    unread = [text.split(" (")[0] for text in reading.unread]
    corrected, shorter = question, question
    for words in unread:
        corrected = _replaced(corrected, words, near_name(words, vocabulary) or "")
        shorter = _replaced(shorter, words, "")
    changes = {KINDS.get(plain(word)) for text in unread for word in text.split()} & _CHANGING
    if not (changes or _NEGATING.search(question)):
        yield corrected
        yield shorter
    yield from _rebuilt(question, tokens_of(question, vocabulary), vocabulary)


def _replaced(text: str, words: str, other: str) -> str:
    """The text with other words in one place."""
    return re.sub(rf"(?<!\w){re.escape(words)}(?!\w)", lambda _: other, text, count=1)


def _rebuilt(question: str, tokens: Sequence[Token], vocabulary: Vocabulary) -> Iterator[str]:
    """Yield sentences of the names alone that the question has."""
    sources = _names(tokens, "source")
    measures, groups = _names(tokens, "measure"), _names(tokens, "dimension")
    having = [n for n, words in vocabulary.sources.items() if {*measures} <= words.measures.keys()]
    sources = sources or having
    if not sources:
        return
    if not _names(tokens, "source"):
        yield from (f"{question} in {source}" for source in sources)
    measure = " and ".join(measures or list(vocabulary.sources[sources[0]].measures)[:1])
    start = f"Show {measure} of {sources[0]}"
    if len(sources) > 1:
        start = f"Compare {measure} between {sources[0]} and {sources[1]}"
    is_changed = {token.kind for token in tokens} & _CHANGING - {"or"}
    if not (is_changed or _NEGATING.search(question)):
        for token in of_kinds(tokens, {"value"}):
            yield from (f'{start} for {name} "{each}"' for name, each in token.values.items())
    by = f" by {' and '.join(groups)}" if groups else ""
    yield f"{start}{by}"
    if len(sources) > 1:
        yield f"Compare {sources[0]} and {sources[1]}"
    yield f"Show {measure} of {sources[0]}{by}"


def _names(tokens: Sequence[Token], kind: str) -> list[str]:
    return list(dict.fromkeys(token.name for token in of_kinds(tokens, {kind})))
