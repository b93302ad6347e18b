"""What a question that was not understood may have meant: sentences that the planner reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, combinations, islice

from rapidfuzz import fuzz, process, utils

from skillian.offline.calls import Plan, PlannedCall, reading_of, sentence_of
from skillian.offline.changes import with_named
from skillian.offline.earlier import QUERY, Earlier, PastComparison
from skillian.offline.language.lexicon import KINDS
from skillian.offline.language.periods import spelt_out
from skillian.offline.language.said import Reading
from skillian.offline.language.vocabulary import Vocabulary, plain, spaced
from skillian.offline.named import asked, changes, named_in

MOST = 3
"""The largest number of offers."""
_MOST_TRIED = 12
_NEAR = 75
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:[.,]\d{3})+(?![\w.,]\w)")
_COMPARING = {"compare", "gap", "off", "same", "why", "missing", "exists"}
_LOOKS = {
    "why": "Why?",
    "major": "Show the major differences",
    "minor": "Show the minor differences",
    "equal": "Show the matching ones",
    "drill": "Show the rows behind the largest difference",
    "rows": "Show the rows behind the largest difference",
    "more": "Show the differences",
}
"""What can be asked about the last comparison, by kinds of words."""


def near_names(text: str, vocabulary: Vocabulary) -> list[str]:
    """The names that a text that was not understood may mean; only to propose them.

    They have all of its words behind the last English one, such as month in "by month", or one name
    is like these words.
    """
    words = _unknown_in(text)
    if not words:
        return []
    measures = dict.fromkeys(name for each in vocabulary.sources.values() for name in each.measures)
    names, wanted = [*vocabulary.sources, *measures, *vocabulary.described], plain(words)
    found = [name for name in names if f" {wanted} " in f" {spaced(name)} " != f" {wanted} "]
    if found:
        return found[:MOST]
    near = process.extractOne(
        words, names, scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=_NEAR
    )
    return [near[0]] if near is not None and plain(near[0]) not in wanted else []


def _unknown_in(text: str) -> str:
    """The words of a text behind the last one that is English."""
    words = [] if "(" in text else text.split()
    english = [at for at, word in enumerate(words, 1) if plain(word) in KINDS]
    return " ".join(words[max(english, default=0) :])


def offers(
    question: str,
    vocabulary: Vocabulary,
    earlier: Earlier,
    read: Callable[[str], Reading],
    plan: Callable[[str | Reading], Plan],
) -> tuple[str, ...]:
    """At most three sentences near the question, each of which is read as one call."""
    made: list[str] = []
    reading = read(question)
    calls = [PlannedCall(each.name, each.arguments) for each in (earlier.last,) if each]
    corrected = [*_with_other_words(spelt_out(question), reading, vocabulary)]
    near: tuple[Iterable[str | Reading], ...] = (
        _looks(reading, earlier.comparison),
        corrected,
        *(islice(_of_named(read(each), vocabulary, earlier), 1) for each in corrected),
        _of_named(reading, vocabulary, earlier),
    )
    for number, each in enumerate(chain.from_iterable(near)):
        if len(made) == MOST or number == _MOST_TRIED:
            break
        call = plan(each)
        if not isinstance(call, PlannedCall) or call in calls:
            continue
        said = [each] if isinstance(each, str) else []
        written = (sentence_of(call), sentence_of(call, is_quoted=True), *said)
        made += [text for text in written if text and plan(text) == call][:1]
        calls.append(call)
    return tuple(made)


def _looks(reading: Reading, known: PastComparison | None) -> Iterator[str]:
    """Yield what can be asked about the last comparison with the words of a question."""
    said = {token.kind for token in reading.tokens}
    if known is None or not {*reading.sources} <= {*known.sources}:
        return
    if said & {"missing", "exists"}:
        yield from (f"What is missing in {source}?" for source in known.sources)
    said |= {"equal"} if said >= {"which", "compare"} else set()  # "which ones match?"
    yield from (text for kind, text in _LOOKS.items() if kind in said)


def _with_other_words(question: str, reading: Reading, vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the question with other words for those that were not understood."""
    for number in _GROUPED.findall(question):  # 1,000 may be 1
        yield _replaced(question, number, re.sub("[.,]", "", number))
    for words, other in reading.instead:
        yield _replaced(question, words, other)
    corrected = [question]
    for text in reading.unread:
        words, near = _unknown_in(text), near_names(text, vocabulary)
        others = [_replaced(each, words, name) for each in corrected for name in near]
        corrected = others[:MOST] or corrected
    yield from (each for each in corrected if each != question)


def _of_named(reading: Reading, vocabulary: Vocabulary, earlier: Earlier) -> Iterator[Reading]:
    """Yield what a question names, as a change of the last one or as one of its own."""
    last, part = earlier.last, vocabulary.about(reading.sources, earlier.sources, reading.measures)
    before = reading_of(last.arguments if last else {})
    whole = named_in(reading, part, before, earlier.years)
    sources, measures = whole.sources, whole.measures
    is_counted = len(sources) == 1 and not measures
    counts = [*chain(*vocabulary.counts_of(sources[0]))] if is_counted else []
    if counts and "how_many" in reading.says:
        whole.measures = measures = vocabulary.rows_of(sources[0])
        yield from (replace(whole, measures=[count]) for count in counts if not measures)
    is_compared = bool(_COMPARING & {token.kind for token in reading.tokens})
    is_of_last = len(sources) == 1 or (is_compared and not sources)
    if last is not None and last.name == QUERY and is_of_last:
        groups = with_named(before.breakdown, whole.breakdown, is_added=False)
        narrow = replace(before, breakdown=groups, ordered_by=[], count=None)
        for count in counts if sources == before.sources else ():  # "and how many orders?"
            yield replace(narrow, measures=[count])
        for other in sources or vocabulary.with_measures(before.measures):
            pair = [*before.sources, other] if sources else [other, *before.sources]
            if other not in before.sources:
                yield replace(narrow, sources=pair)
    having = vocabulary.with_measures(measures)
    if last is not None and not sources and {*before.sources} & {*having}:
        yield from changes(whole, before, vocabulary)
        return
    names = {*whole.breakdown, *whole.filters}
    able = [name for name in having if names <= vocabulary.sources[name].dimensions.keys()]
    having = able or having
    pairs = [each for each in combinations(having, 2) if is_compared and {*sources} <= {*each}]
    alone = (sources[:2], sources[:1]) if sources else (*pairs[:1], *zip(having))
    for some in (*alone, *pairs[:1]):
        yield from asked(replace(whole, sources=[*some]))
        yield Reading(sources=[*some], measures=measures)


def _replaced(text: str, words: str, other: str) -> str:
    """The text with other words in one place."""
    return re.sub(rf"(?<!\w){re.escape(words)}(?!\w)", lambda _: other, text, count=1)
