"""Grounding a question: the sources, measures, dimensions and values that it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from skillian.offline.figures import read_limits
from skillian.offline.lexicon import (
    ALL,
    ARTICLES,
    BEFORE_NAMES,
    BREAKDOWNS,
    BROKEN,
    JOINING,
    ORDINALS,
    PERIODIC,
    Cue,
)
from skillian.offline.values import Conditions, SpokenCondition, ValueReader
from skillian.offline.vocabulary import (
    LONGEST,
    MOST_PASSED,
    Phrases,
    SpokenName,
    Vocabulary,
    Word,
    WordRole,
    find_cues,
    plain,
    split,
    unread_words,
)


@dataclass(slots=True)
class Grounding:
    """What a question names, in the order of the question.

    Attributes:
        sources, measures, breakdown, mentioned: names; `mentioned` are dimensions without a filter
            or a breakdown.
        filters: in the filter language of the tools.
        cleared: dimensions with all values ("for all companies").
        thresholds, count: limits of a match; number of rows.
        cues: words that show what is requested, by kind.
        ordered_by: measures to order by.
        asked_which: mentioned dimensions whose members are requested ("which companies").
        is_singular: whether a single member is requested ("which company").
        ordinal: "first", "second": the position of a group.
        source_after: the source named after a cue ("missing in bpc_reporting").
        said_sources: words in the positions of two sources, known or not ("between X and Y").
        row_words: words for rows that may also name a measure.
        unread: words with a meaning that was not understood: a plan without them would answer
            another question.
    """

    sources: list[str] = field(default_factory=list[str])
    measures: list[str] = field(default_factory=list[str])
    breakdown: list[str] = field(default_factory=list[str])
    mentioned: list[str] = field(default_factory=list[str])
    filters: dict[str, Any] = field(default_factory=dict[str, Any])
    cleared: list[str] = field(default_factory=list[str])
    thresholds: dict[str, Any] = field(default_factory=dict[str, Any])
    count: int | None = None
    cues: dict[Cue, str] = field(default_factory=dict[Cue, str])
    ordered_by: list[str] = field(default_factory=list[str])
    asked_which: list[str] = field(default_factory=list[str])
    is_singular: bool = False
    ordinal: str = ""
    source_after: dict[Cue, str] = field(default_factory=dict[Cue, str])
    said_sources: list[str] = field(default_factory=list[str])
    row_words: list[str] = field(default_factory=list[str])
    unread: list[str] = field(default_factory=list[str])

    @property
    def names_data(self) -> bool:
        """Whether it names something that changes a call."""
        named = (self.measures, self.breakdown, self.filters, self.cleared, self.thresholds)
        return any(named) or (self.count is not None and "gaps" not in self.cues)


LONGEST_QUESTION = 2000
"""The longest question, in characters; a longer text takes too long to read."""
MOST_WORDS = 400
"""The largest number of words of a question, signs such as `=` included."""


def ground(question: str, vocabulary: Vocabulary, sources: Sequence[str] = ()) -> Grounding:
    """Return what `question` names; nothing that is not in the question or the vocabulary.

    `sources` are those of the conversation: if the question names no source, names are looked up
    in these.
    """
    if len(question) > LONGEST_QUESTION:
        return Grounding(unread=[f"a question of more than {LONGEST_QUESTION} characters"])
    words = split(question)
    if len(words) > MOST_WORDS:
        return Grounding(unread=[f"a question of more than {MOST_WORDS} words"])
    phrases = Phrases(vocabulary)
    named = [
        name.meanings["source"]
        for at in range(len(words))
        if (name := phrases.at(words, at)) is not None and "source" in name.meanings
    ]
    return _QuestionReader(question, words, vocabulary.within(named or sources), vocabulary).read()


class _QuestionReader:
    """Reads a question from left to right, preferring the longest known phrase."""

    def __init__(
        self, question: str, words: list[Word], part: Vocabulary, whole: Vocabulary
    ) -> None:
        self._question = question
        self._words = words
        self._whole = whole
        self._phrases = Phrases(Vocabulary({**part.sources}))
        self._sources = Phrases(Vocabulary({name: type(w)() for name, w in whole.sources.items()}))
        self._roles: list[WordRole] = [""] * len(words)
        self._grounding = Grounding()
        self._conditions = Conditions()
        self._values = ValueReader(words, part, self._phrases)
        self._listed_until = -1
        self._source_places: dict[int, str] = {}
        self._cue_places: dict[Cue, tuple[int, int]] = {}

    def read(self) -> Grounding:
        """Return the grounding."""
        grounding = self._grounding
        limits = read_limits(self._question)
        grounding.thresholds, grounding.count = limits.thresholds, limits.count
        for start, end in limits.spans:
            self._mark_text(start, end, "limit")
        for match in BEFORE_NAMES.finditer(self._question.lower()):
            self._mark_text(*match.span(), "cue")
        at = 0
        while at < len(self._words):
            at += 1 if self._roles[at] else self._take(at)
        grounding.filters = self._conditions.arguments()
        self._cue_places = find_cues(self._question, self._words, self._roles)
        grounding.cues = {
            cue: self._question[start:end].strip().lower()
            for cue, (start, end) in self._cue_places.items()
        }
        grounding.row_words = [
            word.text
            for word, role in zip(self._words, self._roles, strict=True)
            if role == "row word"
        ]
        grounding.ordinal = self._ordinal()
        in_names = (part for name in self._whole.sources for part in plain(name).split())
        unread = unread_words(self._words, self._roles, frozenset(in_names))
        grounding.said_sources = self._said_sources(unread)
        for at in unread:
            text, parts = self._words[at].text, self._part_of(self._words[at].plain)
            if text in grounding.said_sources:
                continue
            if len(parts) == 1 and self._roles[at] != "conflict":
                grounding.sources += [name for name in parts if name not in grounding.sources]
                self._source_places[self._words[at].start] = parts[0]
            else:
                grounding.unread.append(text)
        self._note_sources_after_cues()
        return grounding

    def _note_sources_after_cues(self) -> None:
        places = sorted(self._source_places.items())
        for cue, (_, end) in self._cue_places.items():
            behind = [name for at, name in places if at >= end]
            if behind:
                self._grounding.source_after[cue] = behind[0]

    def _take(self, at: int) -> int:
        """Read the phrase that starts at this word; returns its number of words, at least 1."""
        condition = self._values.condition_at(at)
        if condition is not None:
            return self._take_condition(at, condition)
        periodic = self._take_periodic(at)
        if periodic:
            return periodic
        name = self._sources.at(self._words, at) or self._phrases.at(self._words, at)
        if name is None:
            return 1
        kind, meaning = self._meaning(at, name)
        end = at + name.length
        if kind == "dimension":
            self._take_dimension(meaning, at, end)
        else:
            known = self._grounding.sources if kind == "source" else self._grounding.measures
            if kind == "source":
                self._source_places[self._words[at].start] = meaning
            if kind == "measure" and self._before(at) in {"by", "on"} and known:
                known = self._grounding.ordered_by
            if meaning not in known:
                known.append(meaning)
        self._mark(at, end, kind)
        return name.length

    def _take_condition(self, at: int, condition: SpokenCondition) -> int:
        fits = self._conditions.add(condition.dimension, condition.operator, condition.values)
        self._mark(at, at + condition.length, "value" if fits else "conflict")
        return condition.length

    def _take_periodic(self, at: int) -> int:
        """Read "monthly" as a breakdown by the dimension named month."""
        period = PERIODIC.get(self._words[at].plain)
        if period is None:
            return 0
        name = self._phrases.at([Word(period, period, 0, 0)], 0)
        if name is None or "dimension" not in name.meanings:
            return 0
        self._break_down(name.meanings["dimension"], at + 1)
        self._mark(at, at + 1, "dimension")
        return 1

    def _meaning(
        self, at: int, name: SpokenName
    ) -> tuple[Literal["source", "measure", "dimension"], str]:
        """Return the meaning of an ambiguous name: a dimension after "by"."""
        is_broken_down = self._before(at) in BREAKDOWNS or self._is_listed(at)
        if "dimension" in name.meanings and is_broken_down:
            return "dimension", name.meanings["dimension"]
        return name.best()

    def _take_dimension(self, name: str, start: int, end: int) -> None:
        """Read a dimension without values: a breakdown, all of its values, or a mention."""
        before = self._before(start)
        after = self._words[end].plain if end < len(self._words) else ""
        twice = self._words[start - 2].plain if start > 1 else ""
        is_listed = self._is_listed(start)
        if before == "by" and twice == self._words[start].plain:
            self._grounding.mentioned = [each for each in self._grounding.mentioned if each != name]
        if before in BREAKDOWNS or is_listed or after in BROKEN or _is_wise(self._words, start):
            self._break_down(name, end)
            if after in BROKEN:
                self._mark(end, end + 1, "cue")
        elif start and self._words[start - 1].plain in ALL:
            self._grounding.cleared.append(name)
        else:
            self._grounding.mentioned.append(name)
            self._grounding.is_singular = (
                self._words[end - 1].text.lower() == self._words[end - 1].plain
            )
            if before in {"which", "what"} or twice in {"which", "what"}:
                self._grounding.asked_which.append(name)

    def _break_down(self, name: str, end: int) -> None:
        if name not in self._grounding.breakdown:
            self._grounding.breakdown.append(name)
        self._listed_until = end

    def _is_listed(self, at: int) -> bool:
        """Whether this continues a list of breakdowns: "by company and period", "by a, b"."""
        return self._back(at, ARTICLES | JOINING | {"by", "per"}) == self._listed_until

    def _before(self, at: int) -> str:
        """Return the previous word, skipping articles."""
        at = self._back(at, ARTICLES)
        return self._words[at - 1].plain if at else ""

    def _back(self, at: int, passed: set[str]) -> int:
        """Return the index of the first of at most `MOST_PASSED` such words before this one."""
        start = max(at - MOST_PASSED, 0)
        while at > start and self._words[at - 1].plain in passed:
            at -= 1
        return at

    def _said_sources(self, unread: Sequence[int]) -> list[str]:
        """Return the two words in the positions of sources, if not both sources are known."""
        places = [at for at, role in enumerate(self._roles) if role == "source"]
        if len(self._grounding.sources) > 1:
            return []
        for at, word in enumerate(self._words):
            if word.plain not in {"and", "with", "v", "vs", "versus", "against", "to", "than"}:
                continue
            left, right = self._beside(at, -1), self._beside(at, 1)
            if word.plain == "and" and self._before(left) not in {"between", "both", "compare"}:
                continue
            pair = [left, right]
            if all(side in unread or side in places for side in pair) and left < at < right:
                return [self._source_text(side) for side in pair]
        return []

    def _part_of(self, word: str) -> list[str]:
        """Return the sources whose names contain this word: "bpc" is a part of bpc_reporting."""
        return [name for name in self._whole.sources if word in plain(name).split()]

    def _ordinal(self) -> str:
        free = (w.plain for w, role in zip(self._words, self._roles, strict=True) if not role)
        return next((word for word in free if word in ORDINALS), "")

    def _beside(self, at: int, step: int) -> int:
        at += step
        for _ in range(MOST_PASSED):
            if not (0 < at < len(self._words) - 1 and self._words[at].plain in ARTICLES):
                break
            at += step
        return at

    def _source_text(self, at: int) -> str:
        for start in range(at, max(-1, at - LONGEST), -1):
            name = self._sources.at(self._words, start)
            if name is not None and start + name.length > at:
                return name.meanings["source"]
        return self._words[at].text

    def _mark(self, start: int, end: int, role: WordRole) -> None:
        for at in range(start, end):
            self._roles[at] = role

    def _mark_text(self, start: int, end: int, role: WordRole) -> None:
        for at, word in enumerate(self._words):
            if word.start < end and start < word.end:
                self._roles[at] = role


def _is_wise(words: Sequence[Word], at: int) -> bool:
    """Whether a name is written like "company-wise", which is one word."""
    return words[at].text.lower().endswith(("-wise", "wise", "-level"))
