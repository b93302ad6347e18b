"""From a question to tokens: names of the catalogue, periods, numbers and phrases of English.

At each position the longest phrase counts; of equally long ones, the catalogue precedes English.
A word that is English and also a value ("us" and US) has a second reading, `Token.other`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from itertools import pairwise

from skillian.offline.language.lexicon import (
    ARTICLES,
    KIND_NAMES,
    KINDS,
    NUMBERS,
    PERIODIC,
    POINTING,
)
from skillian.offline.language.periods import MONTHS, Period, is_verb, period_at, relative_at
from skillian.offline.language.vocabulary import Vocabulary, Word, has_digit, signs, split

_LONGEST = 7
_LONGEST_COUNT = 2
_CODE_LENGTHS = range(2, 5)
_POSSESSIVE = re.compile(r"['\u2019]s$")
_MARKS = ",;:.?!()"
_BETWEEN = _MARKS + "'\"\u201c\u201d\u2018\u2019-\u2013\u2014_ \t\n\u00a0*`"
_GLUE = {"prep", "and", "or", "nor", "not", "by", "from", "to", "aux", "filler", "between"}
_MOST = {"most", "least", "fewest"}
_BEFORE_DIMENSION = {"by", "every", "which", "all", "most", "least", "rank", "how_many"}


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a question.

    Attributes:
        kind: A terminal of the grammar in lower case, or `unknown`.
        text: The part as it is written.
        name: The source, measure or dimension; of other kinds the plain form.
        values: The dimensions that a value or a period belongs to, each with the value as in the
            data; of a period, as it is written.
        period: Of a period.
        at: The position in the question.
        mark: The mark before it, such as a comma; the last of several.
        prep: The preposition before it.
        other: The second reading of a word that is also English.
        is_quoted: Whether it is in quotes, and so exactly as in the data.
    """

    kind: str
    text: str
    name: str
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    period: Period | None = None
    at: int = 0
    mark: str = ""
    prep: Token | None = None
    other: Token | None = None
    is_quoted: bool = False


def tokens_of(
    question: str,
    whole: Vocabulary,
    part: Vocabulary | None = None,
    today: date | None = None,
) -> list[Token]:
    """The names, periods, numbers and phrases of a question, from left to right.

    Args:
        question: The question.
        whole: All sources that it may name.
        part: The sources whose measures, dimensions and values it may name; all by default.
        today: What "last month" is before; without it no relative period is understood.
    """
    words = split(question)
    tokens: list[Token] = []
    at, end, mark = 0, 0, ""
    while at < len(words):
        length, token = _Place(question, words, at, whole, part or whole, tokens).longest(today)
        start = words[at].start
        if token is not None and token.text[:1] == question[start - 1 : start]:
            start -= 1  # of -5
        before = question[end:start] if at else ""
        mark = next((each for each in reversed(before) if each in _MARKS), mark)
        if strange := _strange(before, question[start : start + 1]):
            tokens.append(Token("unknown", strange, strange, at=end))
        if token is not None:
            is_quoted = words[at].is_quoted
            tokens.append(replace(token, at=start, mark=mark, is_quoted=is_quoted))
            mark = ""
        at += length
        end = max(words[at - 1].end, start + len(token.text) if token else 0)
    strange = _strange(question[end:]) if words else ""
    return [*tokens, *([Token("unknown", strange, strange, at=len(question))] if strange else ())]


def _strange(text: str, after: str = "") -> str:
    """The signs between two words that mean something: those of A*, A-, 3 > 2 and -5."""
    sign = text[:1] if re.match(r"[-*](?![-*\w])", text) else ""
    strange = sign + "".join(each for each in text if each not in _BETWEEN)
    is_minus = after.isdecimal() and re.search(r"(?:^|\s)-$", text) is not None
    is_sign = after.isalnum() and re.search(r"\s[-!]$", text) is not None  # -web, !web
    return strange or (text[-1] if is_minus or is_sign else "")


def of_kinds(part: Iterable[Token], kinds: set[str]) -> list[Token]:
    """The tokens of these kinds."""
    return [token for token in part if token.kind in kinds]


def text_of(part: Sequence[Token]) -> str:
    """The words of tokens as they are written."""
    return " ".join(token.text for token in part)


@dataclass(frozen=True, slots=True)
class _Place:
    """A position in a question: its words from `at` on, and the tokens before it."""

    question: str
    words: list[Word]
    at: int
    whole: Vocabulary
    part: Vocabulary
    before: list[Token]

    def longest(self, today: date | None) -> tuple[int, Token | None]:
        """The number of words and the token of the longest reading; None for an article."""
        first = self.words[self.at]
        if signed := self._signed(first):
            return signed
        is_label = first.is_quoted or first.plain in self.part.dimensions  # "year 2024"
        dated = None if is_label else self._dated(first.start, today)
        for length in range(min(_LONGEST, len(self.words) - self.at), 0, -1):
            part = self.words[self.at : self.at + length]
            end, words = part[-1].end, [word.plain for word in part]
            text = first.text if first.is_quoted else self.question[first.start : end]
            is_dated = dated is not None and first.start < dated[0] <= end and dated[0] > end - 2
            bare = _POSSESSIVE.sub("", text)
            timed = dict.fromkeys(self.part.timed, bare)
            period = Token("period", bare, bare, timed, dated[1]) if dated and is_dated else None
            is_article = words[0] in ARTICLES or words[-1] in ARTICLES
            content = words if is_article else self._without_articles(part)
            for phrase in dict.fromkeys((" ".join(words), " ".join(content))):
                is_apart = _is_apart(self.question, part)
                named = period if is_apart else self._named(phrase, text, period)
                if named is not None and not (is_article and named.kind in KIND_NAMES):
                    return length, named
        is_beside = first.start == (self.words[self.at - 1].end + 1 if self.at else 0)
        is_name = is_beside and self._previous() == "dimension" and first.text.istitle()
        if first.plain in ARTICLES and not (first.is_quoted or is_name):  # "artist The Lost Boys"
            points = first.plain in POINTING and self._following() in self.part.dimensions
            return 1, Token("those", first.text, first.plain) if points else None
        return 1, _other(first, is_first=self.at == 0)

    def _without_articles(self, part: Sequence[Word]) -> list[str]:
        """The words of a phrase without articles that are no values: not of "but A without"."""
        values = self.part.plain_values
        is_value = [word.text in values.get(word.plain, {}).values() for word in part]
        kept = zip(part, is_value, strict=True)
        return [word.plain for word, is_kept in kept if is_kept or word.plain not in ARTICLES]

    def _signed(self, first: Word) -> tuple[int, Token] | None:
        """The number of words and the token of a value with a sign at its end, such as A+."""
        for start in (first.start + first.is_quoted, max(first.start - 1, 0)):  # <18, and -5
            rest = self.question[start:].lower()
            found = [text for text in self.part.signed if rest.startswith(text)]
            found = [text for text in found if not rest[len(text) :][:1].isalnum()]
            if found and not self.question[start - 1 : start].isalnum():
                text = max(found, key=len)
                written = self.question[start : start + len(text)]
                count = sum(first.start <= word.start < start + len(text) for word in self.words)
                return count, Token("value", written, text, self.part.plain_values[text])
        return None

    def _dated(self, start: int, today: date | None) -> tuple[int, Period] | None:
        """The period at this position; only a year where the data has columns of years."""
        found = relative_at(self.question, start, self.part.last_day, today) if today else None
        end = start + len(self.words[self.at].text) if self._is_listed() else None
        found = found or period_at(self.question[:end], start)
        if found and self.part.timed and self.part.has_only_years and not found[1].is_year:
            return None
        return found

    def _is_listed(self) -> bool:
        """Whether a month is a value: "tariff May in 2024", or "examiners March and May 2024"."""
        near = next((t for t in reversed(self.before) if t.kind not in {"and", "or"}), None)
        first = self.words[self.at]
        is_month = near is not None and near.text.lower() in MONTHS
        is_joined = self._previous() in {"and", "or"}
        is_joined |= is_month and "," in self.question[self.words[self.at - 1].end : first.start]
        known = self.part.plain_values.get(first.plain, {})
        is_labelled = self._previous() == "dimension" and self.before[-1].name in known
        is_labelled &= not self._is_grouped()
        is_listed = near is not None and not known.keys().isdisjoint(near.values)
        return is_labelled or (is_joined and is_listed)

    def _named(self, phrase: str, text: str, period: Token | None) -> Token | None:
        """The reading of a phrase; the catalogue precedes English, a dimension follows "by"."""
        previous = self._previous()
        is_quoted = self.words[self.at].is_quoted
        values = self.part.plain_values.get(phrase, {})
        if is_quoted:  # "A*" is not A
            values = {name: each for name, each in values.items() if signs(each) == signs(text)}
        is_pointing = phrase in POINTING and previous != "dimension"
        is_first = self.at == 0 and phrase == "a" and self._following() != "only"
        is_article = phrase in ARTICLES and (is_first or text not in values.values())
        if is_article and (is_pointing or not self._is_alone()):
            return None
        value = Token("value", text, phrase, values) if values else None
        measure, dimension = (
            names.get(text.lower()) or names.get(phrase)  # "engines", where "engine" is another
            for names in (self.part.measures, self.part.dimensions)
        )
        is_english = {
            "rows": bool(self.before) and as_number(self.before[-1].text) is not None,
            "total": self._following() in self.part.measures,
        }
        if is_english.get(KINDS.get(phrase, "")):
            measure = None  # "first 5 rows", where rows are a measure
        if is_quoted and (value or not (measure or dimension)):
            return value or self._other_name(phrase, text)
        is_other = KINDS.get(phrase) in {"from", "to"} and not self.part.is_open(dimension or "")
        # "from Q1 to Q3", where "to" is also a name of the destination
        is_other &= dimension not in self.part.plain_values.get(self._following(), {})
        is_free = not (value or measure or is_other)
        if self._is_source(phrase, text, dimension):  # "how many flights", numbered by "flight"
            dimension = None
        if dimension and (previous in _BEFORE_DIMENSION or is_free):
            return Token("dimension", text, dimension)
        named = Token("measure", text, measure) if measure else None
        if named and phrase in KINDS and text.lower() == phrase and phrase != measure:
            # "are fine", where fines are a measure
            named = replace(named, other=self._other_name(phrase, text))
        english = named or period or self._other_name(phrase, text)
        is_small = english is not None and english.kind in _GLUE - {"aux", "filler"}
        is_labelled = previous == "dimension" and self.before[-1].name in values
        # "no country in", "country is not IS"
        is_copula = english is not None and english.kind == "aux" and self._is_linked()
        is_apart = is_small or is_copula or self._is_grouped()
        is_labelled &= not is_apart or text in values.values()
        is_labelled &= english is None or english.kind != "number"
        is_month = phrase == "may" and not is_verb(self.question, self.words[self.at].start)
        months = {name: each for name, each in values.items() if each.isdecimal() and is_month}
        if value and months:  # "in May 2025", where May is 5
            exact = {name: each for name, each in values.items() if each == text}
            return replace(value, values=exact or months)
        if value is None or is_labelled:
            return value or english
        return self._either(value, english) if english else value

    def _either(self, value: Token, english: Token) -> Token:
        """A value that is also English or a measure: as the letters are written, or both."""
        following = self._following()
        named = self.part.dimensions.get(following)
        is_exact = value.text in value.values.values()
        previous = self._previous()
        is_code = any(map(str.isupper, value.values.values()))
        is_value = {
            "noun": previous in {"prep", "not", "only", "and", "or"},
            "adjective": is_exact or not is_code,
            "number": len(value.text) > _LONGEST_COUNT,  # "company 1001", but "3 rows"
            "period": not value.name.isalpha(),
        }
        is_named = is_exact and named in value.values and english.kind != "vague"
        if is_value.get(english.kind) or (is_named and english.kind != "number"):
            return value
        if english.kind == "number":
            return replace(english, values=value.values)
        if english.kind == "period":
            return replace(english, other=value)
        if english.kind == "aux" and value.text.islower() and "'" in value.text:
            return english  # "it's"
        is_capital = value.text != value.text.lower() and not self.question.isupper()
        is_start = self.at == 0 and not value.text.isupper()
        if is_capital and is_exact and not is_start:
            return value
        is_pronoun = english.kind in {"filler", "aux"} and following not in ARTICLES
        is_noun = previous in {"prep", "not", "only", "and", "or"} or english.kind not in _GLUE
        return replace(english, other=value) if is_pronoun or is_noun else english

    def _is_source(self, phrase: str, text: str, dimension: str | None) -> bool:
        """Whether a word is the whole name of a source, and a dimension's only in the plural."""
        name = self.whole.whole_names.get(phrase, "").lower()
        is_grouped = self._previous() in _BEFORE_DIMENSION - {"how_many"}
        is_counted = bool(self.before) and self.before[-1].text.lower() in _MOST
        is_named = text.lower() == name != (dimension or "").lower()
        return is_named and (is_counted or not is_grouped)

    def _is_alone(self) -> bool:
        """Whether no noun is after an article: "grade a", "a and b"."""
        is_last = self.at + 1 == len(self.words) or KINDS.get(self._following()) in _GLUE
        return is_last or self.question[self.words[self.at].end :].lstrip()[:1] in {",", "?", "."}

    def _is_grouped(self) -> bool:
        """Whether the token before this word is a dimension to group by."""
        kinds = (token.kind for token in reversed(self.before))
        kind = next((each for each in kinds if each not in {"dimension", "and"}), "")
        return kind in _BEFORE_DIMENSION

    def _is_linked(self) -> bool:
        """Whether a dimension is before this word, and after it a value of it or "not"."""
        if self._previous() != "dimension":
            return False
        values = self.part.plain_values.get(self._following(), {})
        return self.before[-1].name in values or KINDS.get(self._following()) == "not"

    def _previous(self) -> str:
        """The kind of the token before this word."""
        return self.before[-1].kind if self.before else ""

    def _following(self) -> str:
        """The word after this one."""
        return self.words[self.at + 1].plain if self.at + 1 < len(self.words) else ""

    def _other_name(self, phrase: str, text: str) -> Token | None:
        is_taken = phrase in KINDS or phrase in PERIODIC or phrase in self.part.plain_values
        is_part = phrase in self.whole.names and not is_taken
        if phrase in self.whole.whole_names or is_part:
            return Token("source", text, self.whole.names[phrase])
        if self.words[self.at].is_quoted:
            return None
        if phrase in PERIODIC or (phrase in self.part.units and phrase not in KINDS):
            return Token("periodic" if phrase in PERIODIC else "unit", text, phrase)
        kind = KINDS.get(phrase)
        if kind is None or (kind == "adjective" and phrase not in self.part.plain_values):
            return self._number(phrase, text)
        codes = [each for each in text.split() if each.isupper() and len(each) in _CODE_LENGTHS]
        is_contracted = kind == "not" and text.endswith(("n't", "n\u2019t"))
        is_contracted &= not self._is_linked()  # "country isn't Germany"
        # "all but NO", "on OR before"
        has_value = codes != [text] and any(c.lower() in self.part.plain_values for c in codes)
        is_small = codes == [text] and kind in {"filler", "aux", "prep"}
        if (has_value or is_small) and not self.question.isupper():
            return None
        return Token("dont" if is_contracted else kind, text, phrase)

    def _number(self, phrase: str, text: str) -> Token | None:
        start = self.words[self.at].start
        is_negative = start > 0 and self.question[start - 1] in "-\u2212."  # -2, .5
        if as_number(text) is None:
            return None
        return Token("unknown" if is_negative else "number", text, phrase)


def _is_apart(question: str, words: Sequence[Word]) -> bool:
    """Whether a mark other than a point is between words."""
    return any(mark in question[a.end : b.start] for a, b in pairwise(words) for mark in ",;:?!")


def _other(word: Word, *, is_first: bool) -> Token:
    """The token of a word that no list has: a new name, or unknown."""
    is_name = (
        word.is_quoted
        or (has_digit(word.text) and not re.fullmatch(r"\d+-[a-z]+", word.text))  # "2-axle"
        or "_" in word.text
        or (word.text != word.text.lower() and not is_first)
    )
    text = _POSSESSIVE.sub("", word.text) if is_name and not word.is_quoted else word.text
    return Token("name" if is_name else "unknown", text, word.plain)


def as_number(text: str) -> Decimal | None:
    """The number that digits or a word say; a comma before 1 or 2 digits is a point."""
    if text.lower() in NUMBERS:
        return Decimal(NUMBERS[text.lower()])
    whole, point, rest = text.replace(",", ".").rpartition(".")
    is_grouped = len(rest) == 3 and bool(point) and whole != "0"  # noqa: PLR2004
    is_ambiguous = is_grouped or ("," in text and "." in text)
    digits = f"{whole}{point}{rest}"
    if is_ambiguous or not digits.replace(".", "", 1).isdecimal():
        return None
    return Decimal(digits)
