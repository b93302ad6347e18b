"""From a question to tokens: names of the catalogue, periods, numbers and phrases of English.

At each position the longest phrase counts. A word that is English and also a value ("us" and US) is
decided by the dimension beside it or by its capitals, or else it is a doubt. A list is one token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import takewhile

from skillian.offline.language.lexicon import KINDS, NUMBERS
from skillian.offline.language.periods import Period, period_at, period_of, relative_at
from skillian.offline.language.vocabulary import Meanings, Vocabulary, Word, split

_LONGEST, _LONGEST_COUNT = 7, 2
_MARKS = ",;:.?!"
_NAMES, _VALUES = {"source", "measure", "dimension"}, {"value", "period"}
_JOINS = {"and", "or", "nor"}
_COMPARING = {"not", "but", "between", "since", "after", "until", "before", "from"}
_SMALL = {*_JOINS, "all", "aux", "prep", "not", "by", "from", "to", "between"}
_GROUPING = {"by", "every", "which", "most", "least", "rank", "how_many"}
_DOING = {"do", "does", "did"}
_RANKING = {"most", "least", "first"}
_STEPS = {"day", "week", "month", "quarter", "year"}
_UNITS = {"percent", "currency", "cents", "unit"}
_FIRST: Mapping[str, str] = {
    **dict.fromkeys(("ok", "okay", "fine", "use", "actually", "good", "very good"), "filler"),
    **dict.fromkeys(("great", "perfect", "oh", "hmm", "well"), "filler"),
    "plus": "also",
    "+": "also",
    "same,": "edit",
    "same in": "edit",
}
_BEHIND = dict.fromkeys(("show", "list", "count", "record"), "verb") | {"same for": "same"}
"""The kinds of phrases at the beginning, also with a mark behind, and behind the first name."""
_NO_NAME = {*_JOINS, "by", "unknown", "only", "verb"}


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a question.

    `kind` is one of the lexicon or the catalogue, `unknown`, or `doubt` if it has two meanings.
    `values` are the dimensions of a value or a period, each with the values as in the data, and
    `label` is the one named beside it. `mark` and `prep` are the mark and the preposition before
    it, `items` the values of a list or the parts of an amount, and `joins` the words between.
    `span` is its place in the question.
    """

    kind: str
    text: str
    names: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    period: Period | None = None
    mark: str = ""
    prep: str = ""
    label: str = ""
    items: tuple[Token, ...] = ()
    joins: frozenset[str] = frozenset()
    span: tuple[int, int] = (0, 0)


_NONE = Token("", "")


@lru_cache(8)  # a question is read several times in a turn
def tokens_of(question: str, whole: Vocabulary, part: Vocabulary, today: date) -> tuple[Token, ...]:
    """The tokens of a question about some sources of a vocabulary, from left to right."""
    reader = _Reader(question, split(question), whole, part, today)
    at, end, mark = 0, 0, ""
    starts, ends = list[int](), list[int]()
    while at < len(reader.words):
        length, token = reader.longest(at)
        marks = [each for each in question[end : reader.words[at].start] if each in _MARKS and end]
        mark = marks[-1] if marks else mark
        start, end = reader.words[at].start, reader.words[at + length - 1].end
        if reader.add(replace(token, mark=mark)):
            mark, place = "", len(reader.tokens) - 1
            starts[place:], ends[place:] = [min([*starts[place:], start])], [end]
        at += length
    spans = zip(reader.tokens, starts, ends, strict=True)
    return tuple(replace(token, span=(start, end)) for token, start, end in spans)


@dataclass(slots=True)
class _Reader:
    """Reads the words of a question one after another; `tokens` are those before."""

    question: str
    words: Sequence[Word]
    whole: Vocabulary
    part: Vocabulary
    today: date
    tokens: list[Token] = field(default_factory=list[Token])
    has_name: bool = False
    is_asked: bool = False

    def before(self, place: int = 1) -> Token:
        """One of the last tokens."""
        return self.tokens[-place] if len(self.tokens) >= place else _NONE

    # From words to tokens

    def longest(self, at: int) -> tuple[int, Token]:
        """The number of words and the token of the longest phrase here."""
        first = self.words[at]
        dated = relative_at(self.question, first.start, self.part.last_day, self.today)
        dated = dated or period_at(self.question, first.start)
        is_year = dated is not None and dated[1].is_year
        if first.is_quoted or (self.part.has_only_years and not is_year) or not self.part.timed:
            dated = None
        for length in range(min(_LONGEST, len(self.words) - at), 0, -1):
            last = self.words[at + length - 1]
            text = self.question[first.start : last.end] if length > 1 else first.text
            is_dated = dated is not None and last.end - 2 < dated[0] <= last.end
            is_apart = not is_dated and re.search(r"[,;:.?!]\s", text) and not first.is_quoted
            if is_apart and text.lower() not in self.part.phrases:
                continue
            phrase = " ".join(word.plain for word in self.words[at : at + length])
            token = self._token(text, phrase, at, length, dated[1] if dated and is_dated else None)
            if token.kind:
                return length, token
        if first.is_quoted and (quoted := period_of(first.text)):
            timed = {name: () for name in self.part.timed if self.part.is_open(name)}
            return 1, Token("period" if timed else "unknown", first.text, (), timed, quoted)
        label = self._open_label()
        if label and (first.is_quoted or re.search(r"^[A-Z]|\d", first.text)):
            return 1, Token("value", first.text, values={label: (first.text,)}, label=label)
        return 1, Token("unknown", first.text)

    def _open_label(self) -> str:
        """The dimension with values of any name that the word before this one names."""
        last = self.before(2 if self.before().kind in {"and", "or"} else 1)
        name = last.names[0] if last.kind == "dimension" else last.label
        is_open = self.part.is_open(name) and name not in self.part.timed
        return name if is_open and not (last.kind == "dimension" and self.is_grouped()) else ""

    def is_grouped(self, place: int = 1) -> bool:
        """Whether a token before is a dimension to group by, as in "by country and channel"."""
        while self.before(place).kind in {"dimension", "and"}:
            if self.before(place).mark or self.before(place).prep:
                return False
            place += 1
        return self.before(place).kind in {*_GROUPING, "number"}

    def _token(self, text: str, phrase: str, at: int, length: int, period: Period | None) -> Token:
        """The token of a phrase; without a kind if it means nothing."""
        known = {**self.part.phrases.get(phrase, {}), **self.part.phrases.get(text.lower(), {})}
        values, number = known.get("value", {}), as_number(text)
        kind = self._kind(phrase, at, length)
        if self.words[at].is_quoted:
            exact = {name: (text,) for name, of in values.items() if text in of}
            if not values and (written := period_of(text)) and self.part.timed:
                timed = dict.fromkeys(self.part.timed, tuple[str, ...]())
                return Token("period", text, values=timed, period=written)
            return Token("value", text, values=exact or values) if values else _NONE
        english = Token(kind, text)
        if period is not None:
            timed = dict.fromkeys(self.part.timed, ())
            english = Token("period", text, values=timed, period=period)
            first = self.part.phrases.get(self.words[at].plain, {}).get("value", {})
            last = self.before(2 if self.before().kind in _JOINS else 1)
            if length > 1 and not first.keys().isdisjoint({*last.values, *last.names}):
                english = replace(english, kind="doubt")  # "Reed, May 2024", where May is a name
        elif kind == "stepwise":
            step = phrase.removesuffix("ly").replace("dai", "day")
            steps = self.part.phrases.get(step, {}).get("dimension", {})
            english = Token(kind if len(steps) == 1 else "unknown", text, tuple(steps))
        elif number is not None and self.before().kind == "dimension" and self._open_label():
            english = Token("value", text, values={self._open_label(): (text,)})
        elif number is not None and not kind:
            english = Token("number", text, values=values)
        elif not kind and any(phrase in units for units in self.part.units.values()):
            english = Token("unit", text)
        named = self._named(text, known, "" if kind else phrase)
        is_line = kind == "rows" and self.before(2).kind == "first"
        following = self.words[at + length].plain if at + length < len(self.words) else ""
        # "total amount", where "total" is another name of it
        is_total = kind == "total" and "measure" in self.part.phrases.get(following, {})
        is_word = is_line or is_total or kind in _SMALL
        is_english = not named.kind or (named.kind == "measure" and is_word)
        other = english if is_english else named
        if not values:
            return other
        value = Token("value", text, values=values)
        return self._decided(value, other, at + length) if other.kind else value

    def _kind(self, phrase: str, at: int, length: int) -> str:
        """The kind of an English phrase here, or ""."""
        kind, words = KINDS.get(phrase, ""), self.words[at : at + length]
        is_count = KINDS.get(words[0].plain) in _RANKING and words[-1].plain.isdecimal()
        if is_count and length > 1 and "value" in self.part.phrases.get(phrase, {}):
            return "vague"  # "top 100" where there is a campaign of this name
        if kind == "aux" and length > 1:  # "for us" where US is a value
            is_value = any("value" in self.part.phrases.get(word.plain, {}) for word in words)
            kind = "" if is_value else kind
        first = self.part.phrases.get(words[0].plain, {}).get("value", {})
        own = [value for name in self.before().names for value in first.get(name, ())]
        if length > 1 and words[0].text in own and not self.is_grouped():
            return ""  # "destination Split by carrier"
        placed: Mapping[str, str] = _BEHIND if self.has_name else {} if self.tokens else _FIRST
        text = " ".join(word.text.lower() for word in words)
        mark = self.question[words[-1].end :][:1]
        return placed.get(text + mark, placed.get(text, kind))

    def _named(self, text: str, known: Meanings, phrase: str) -> Token:
        """The source, measure or dimension of a phrase; a doubt if it may be several."""
        found = {kind: tuple(of) for kind, of in known.items() if kind != "value"}
        sources = self.whole.phrases.get(phrase, {}).get("source") or known.get("source", {})
        if not known and phrase in self.whole.source_words:
            sources = {self.whole.source_words[phrase]: ()}
        if sources:
            found["source"] = tuple(sources)
        before, exact = self.before().kind, text.lower()
        is_source = any(name.lower() == exact for name in sources)
        is_ranked = before in {"most", "least"} and self.before(2).kind in {"dimension", "doubt"}
        is_dimension = before in {*_GROUPING, "all", "number", "ordered"} and not is_ranked
        is_dimension &= not (is_source and before == "how_many")
        is_dimension |= bool(sources) and {*sources}.isdisjoint(self.part.sources)
        if is_dimension and "dimension" in found:
            found = {"dimension": found["dimension"]}
        elif is_source:
            found = {"source": tuple(sources)}
        kind, names = next(iter(found.items()), ("", ()))
        names = tuple(name for name in names if name.lower() == exact) or names
        return Token("doubt" if len(found) > 1 or len(names) > 1 else kind, text, names)

    def _decided(self, value: Token, other: Token, end: int) -> Token:
        """A value that also means something else: one of them, or a doubt."""
        passed = takewhile(lambda t: t.kind in _SMALL | _COMPARING, reversed(self.tokens))
        place = 1 + len([*passed])
        last = self.before(place)
        is_apart = self.question[self.words[end - 1].end :][:1] in _MARKS
        following = "" if is_apart or end == len(self.words) else self.words[end].plain
        is_plural = following != "" and self.words[end].text[-1] == "s" != following[-1]
        is_plural &= self.before().kind != "prep"  # "planes with 4 engines"
        is_count = other.kind == "number" and (is_plural or self.before().kind in _RANKING)
        is_noun = last.kind == "dimension" and (_has_last_apart(last) or not self.is_grouped(place))
        beside = {*last.names[-1:]} if is_noun else set[str]()
        if other.kind != "vague" and not is_count:
            beside |= self.part.phrases.get(following, {}).get("dimension", {}).keys()
        is_exact = value.text != "I" and any(value.text in of for of in value.values.values())
        is_small = other.kind in _SMALL and not is_exact
        before = self.before(2) if self.before().kind in {*_JOINS, "to"} else _NONE
        is_list = before.kind == "value" and before.values.keys() & value.values.keys()
        apart = {
            name: of
            for name, of in value.values.items()
            if name not in self.part.timed and not self.part.parts(name)
        }
        period = replace(other, values=apart | {**other.values})  # 2024, a month or a cohort
        is_long = len(value.text) > _LONGEST_COUNT and last.kind != "tolerance"
        is_rank = value.text.islower() and other.kind in _RANKING and following.isdecimal()
        is_capital = is_exact and value.text != value.text.lower() and not self.question.isupper()
        is_noun = self.before().kind in {"prep", "not", "only", "and", "or"}
        is_noun &= (is_exact and other.kind == "filler") or other.kind == "verb"
        readings = (
            (beside & value.values.keys() and not is_small, value),
            (other.kind == "period", period),
            (is_list, value),  # "Will, Mark and US"
            (other.kind == "number", value if is_long else other),
            (is_rank, other),
            (is_capital and (self.tokens or value.text.isupper()), value),
            (is_noun, value),
            (is_small, other),
        )
        return next((token for is_so, token in readings if is_so), replace(other, kind="doubt"))

    # From tokens to lists, amounts and values with the names of their dimensions

    def add(self, token: Token) -> bool:
        """Add a token to those before; False if it carries nothing."""
        self.is_asked |= token.text.lower() in _DOING
        if token.kind == "aux" or (token.kind == "filler" and not self.has_name):
            return False
        if token.kind == "verb" and self.is_asked:
            token = replace(token, prep="did")
        self.has_name |= token.kind in {"source", "measure"}
        if self.before().kind == "prep" and token.kind not in _NO_NAME and not token.mark:
            prep = self.tokens.pop()
            token = replace(token, prep=prep.text.lower(), mark=prep.mark)
        if token.kind in _VALUES or (token.kind == "number" and token.values):
            token = self._labelled(token)
        folded = self._folded(token)
        if folded is None:
            return True
        token = folded
        is_one = token.kind in _VALUES and not token.items
        self.tokens.append(replace(token, kind="value", items=(token,)) if is_one else token)
        return True

    def _folded(self, token: Token) -> Token | None:
        """A token as one with that before it, if they belong together; None if it says the same."""
        last, is_close = self.before(), not (token.mark or token.prep)
        if token.kind == last.kind == "measure" and token.names == last.names and is_close:
            return None  # "total amount", where both are the amount
        if token.kind in _UNITS and last.kind == "number" and is_close:
            return replace(self.tokens.pop(), kind="amount", items=(last, token))
        if token.kind == "number" and last.kind == "currency" and not token.mark:
            return replace(self.tokens.pop(), kind="amount", items=(token, last))
        if token.kind == "dimension" and last.kind == "value" and token.names[0] in last.values:
            is_noun = is_close and not last.label  # "web channel"
            return _of(self.tokens.pop(), token.names[0]) if is_noun else token
        if (joined := self._joined(token)) is not None:
            return joined
        is_apart = token.kind not in _VALUES or token.prep or token.label
        if last.kind == "and" and len(self.tokens) > 1 and is_apart:
            self.tokens.pop()  # between two clauses
        return token

    def _labelled(self, token: Token) -> Token:
        """A value with the dimension that is named before it, as in "country is not DE"."""
        place = 2 if self.before().kind in _COMPARING and not self.before().mark else 1
        named = self.before(place)
        names: tuple[str, ...] = named.names
        is_beside = token.mark in ("", ":"[place - 1 :]) and token.prep in {"", "in"}
        is_own = named.kind == "dimension" and {*names[-1:]} <= token.values.keys() and is_beside
        is_step = self.before().kind in {"after", "before"} and named.text.lower() in _STEPS
        is_step |= self.before(place + 1).kind == "same"  # "the same month in 2023"
        is_step |= self.before().kind == "but" and self.before(3).kind != "all"  # "teams but HR"
        is_last = is_own and _has_last_apart(named)  # "by country, channel not web"
        is_alone = len(names) == 1 and not self.is_grouped(place)
        if not is_own or is_step or not (is_last or is_alone):
            return token
        token = _of(token, names[-1])
        if is_last:
            rest = replace(named, names=names[:-1], text=named.text.rpartition(",")[0])
            self.tokens[-place], named = rest, replace(named, mark=",", prep="")
        else:
            del self.tokens[-place]
        if place == 1:
            return replace(token, mark=named.mark, prep=named.prep or "of")
        self.tokens[-1] = replace(self.before(), mark=named.mark, prep=named.prep or "of")
        return token

    def _joined(self, token: Token) -> Token | None:
        """A token as one list with the one before; None if they are not of a kind."""
        join = self.before().kind if self.before().kind in _JOINS else ""
        last = self.before(2 if join else 1)
        marks = {token.mark, self.before().mark if join else ""} - {"", ","}
        if marks or not (join or (token.mark == "," and not token.prep)):
            return None
        own = {token.label} if token.label else {*token.values}
        shared = [name for name in last.values if name in own]
        is_member = token.kind in _VALUES or (token.kind == "number" and last.label != "")
        is_list = last.kind == "value" and is_member and shared and last.label in {"", *shared}
        if not is_list and not (last.kind == token.kind in _NAMES and join in {"", "and"}):
            return None
        del self.tokens[-2 if join else -1 :]
        joins = last.joins | {join or ","}
        text = f"{last.text} {join} {token.text}" if join else f"{last.text}, {token.text}"
        names = (*last.names, *token.names)
        whole = replace(last, text=text, names=names, joins=joins, label=last.label or token.label)
        values = dict.fromkeys(shared, ())
        return replace(whole, items=(*last.items, token), values=values) if is_list else whole


def _has_last_apart(named: Token) -> bool:
    """Whether a comma is before the last of several dimensions, which a value may follow."""
    return "," in named.joins and _JOINS.isdisjoint(named.text.rpartition(",")[2].split())


def _of(token: Token, name: str) -> Token:
    """A value of this dimension."""
    own = token.values.get(name, ())
    period = None if own else token.period
    kind = "value" if period is None else token.kind
    return replace(token, kind=kind, values={name: own}, period=period, label=name)


def as_number(text: str) -> Decimal | None:
    """The number that digits or a word say; a comma before 1 or 2 digits is a point."""
    if text.lower() in NUMBERS:
        return Decimal(NUMBERS[text.lower()])
    if thousands := re.fullmatch(r"\d{1,3}(?:([.,])\d{3})+(?!\1)[.,]\d+", text):
        text = text.replace(thousands[1], "")
    whole, point, rest = text.replace(",", ".").rpartition(".")
    is_grouped = len(rest) == 3 and bool(point) and whole != "0"  # noqa: PLR2004
    digits = f"{whole}{point}{rest}"
    if is_grouped or ("," in text and "." in text) or not digits.replace(".", "", 1).isdecimal():
        return None
    return Decimal(digits)
