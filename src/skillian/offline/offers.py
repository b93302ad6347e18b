"""What a question that was not understood may have meant: sentences that the planner reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

from rapidfuzz import fuzz, process, utils

from skillian.offline.calls import Plan, PlannedCall
from skillian.offline.changes import reading_of
from skillian.offline.earlier import Earlier
from skillian.offline.language.clauses import Reading
from skillian.offline.language.lexicon import KINDS
from skillian.offline.language.periods import spelt_out
from skillian.offline.language.vocabulary import Vocabulary, plain
from skillian.offline.sentences import sentence_of
from tinyagent import ToolCall

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
    near = process.extract(
        text, names, scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=_NEAR, limit=1
    )
    others = (name for name, *_ in near if "(" not in text and plain(name) not in plain(text))
    return next(others, None)


def offers(
    question: str,
    reading: Reading,
    vocabulary: Vocabulary,
    earlier: Earlier,
    plan: Callable[[str | Reading], Plan],
) -> tuple[str, ...]:
    """At most three sentences near the question, each of which is read as one call."""
    made: dict[str, None] = {}
    question = spelt_out(question)
    last = earlier.last and PlannedCall(earlier.last.name, earlier.last.arguments)
    changes = _changes(question, reading, earlier.last, plan)
    for number, near in enumerate(chain(changes, _nearby(question, reading, vocabulary))):
        if len(made) == MOST or number == _MOST_TRIED:
            break
        call = near if isinstance(near, PlannedCall) else plan(near)
        written = sentence_of(call) if isinstance(call, PlannedCall) and call != last else None
        if written is not None and plan(written) == call:
            made[written] = None
    return tuple(made)


def _changes(
    question: str, reading: Reading, last: ToolCall | None, plan: Callable[[str], Plan]
) -> Iterator[str | PlannedCall]:
    """Yield a change of the last question with what leaves a doubt: its limit, or its rows."""
    if last is None or reading.sources:
        return
    before = reading_of(last.arguments)
    limits = before.thresholds.get("match", {})
    if "absolute" in limits:
        yield f"{question}, with a tolerance of {limits['absolute']}"
        yield f"{question}, without tolerance"
    first = plan(f"{question} again")
    if before.count and isinstance(first, PlannedCall):
        yield first
        kept = {n: value for n, value in first.arguments.items() if n not in {"limit", "order"}}
        yield PlannedCall(first.tool, kept)
    for name, value in before.filters.items():
        if isinstance(value, str) and name in reading.named:
            yield from (f"{question} for {name} {value}", f"{question} for all {name}")
    yield from (f"also {question}", f"only {question}")


def _nearby(question: str, reading: Reading, vocabulary: Vocabulary) -> Iterator[str | Reading]:
    """Yield the question with other words for those not understood, without them, and its names."""
    for words, other in reading.instead:
        yield _replaced(question, words, other)
    unread = [text.split(" (")[0] for text in reading.unread]
    kinds = {KINDS.get(plain(word)) for text in unread for word in text.split()}
    if not (kinds & _CHANGING or _NEGATING.search(question)):
        corrected = question
        for words in unread:
            corrected = _replaced(corrected, words, near_name(words, vocabulary) or "")
        yield corrected
        yield replace(reading, unread=[])
        yield replace(reading, unread=[], says={})
    refused = [t.name for part in reading.refused for t in part if t.kind == "measure"]
    measures, sources = reading.measures or refused[:1], reading.sources
    if not sources:
        sources = [n for n, of in vocabulary.sources.items() if {*measures} <= of.measures.keys()]
        yield from (f"{question} in {source}" for source in sources)
    for pair in (sources[:2], sources[:1]):
        most = measures or [*vocabulary.sources[pair[0]].measures][:1] if pair else []
        yield Reading(sources=pair, measures=most, breakdown=reading.named)
        yield Reading(sources=pair, measures=most)


def _replaced(text: str, words: str, other: str) -> str:
    """The text with other words in one place."""
    return re.sub(rf"(?<!\w){re.escape(words)}(?!\w)", lambda _: other, text, count=1)
