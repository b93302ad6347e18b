"""What a model has read, row by row: which rows may vouch for a value, and which values they hold.

A row is an object of a list, without the rows that are nested in it; a text is one row. A
look-up that the user did not ask for returns what an attacker searched for, so its rows vouch only
if they have to do with the request: they share a word with it that few other rows have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, cast

from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.provenance import Label
from tinyagent.core.provenance.rules import as_number, normal, numbers_in
from tinyagent.core.untrusted import as_object
from tinyagent.provenance.vouching import (
    Scalar,
    as_json,
    can_be_vouched_for,
    echoes_of,
    has_words,
    is_said_in,
    without_quotation,
)

_MAX_LEAVES = 100_000
_MAX_DEPTH = 50
_WORD = re.compile(r"[^\W\d_]{3,}|\d{2,}")
_COMMON = frozenset(
    """
    about after all also and any are been before but can day each email every file for from
    get had has have her him his how http https into its just last let list mail message
    more most name need new next not now off old one only order other our out own please put
    say see send she that the their them then there these they this today too two use user
    very via want was way week what when where which who why will with would yes you your
    """.split()  # noqa: SIM905 - a list would take a line a word
)
"""Words that say nothing about which row is meant."""


@dataclass
class ResultRow:
    """One row of a result.

    Attributes:
        writer: Who wrote it, if the tool attests that.
        entries: Its values with their fields.
        parts: The rows that are in it.
    """

    writer: str = ""
    entries: list[tuple[str, Scalar]] = field(default_factory=list[tuple[str, Scalar]])
    parts: list[ResultRow] = field(default_factory=list["ResultRow"])

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its texts and its numbers, and of the rows in it by the same writer."""
        own = words_of(str(value) for _, value in self.entries if not isinstance(value, bool))
        return own.union(*(part.words for part in self.parts if part.writer == self.writer))


Admits = Callable[["Record", ResultRow], bool]
"""Whether a row may vouch."""


def everything(_: Record, __: ResultRow) -> bool:
    """Admits all rows."""
    return True


@dataclass(slots=True)
class Record:
    """A text that a model has read: a tool's result, or material in the task.

    Attributes:
        tool: Its source.
        value: The result as JSON.
        arguments: Of its call.
        known: The paths of those that somebody vouched for; a result may repeat the other ones.
        vouches: Whether it may vouch for values; errors do not.
        own: Its label, without what its arguments were made of.
        by: The field that says who wrote a row; empty if nothing does.
        is_clean: Whether nothing untrusted had been read when the call was written, nor is in its
            arguments.
        is_planned: Whether nothing untrusted had been read when the call was written.
    """

    tool: str
    value: Any
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    known: frozenset[str] = frozenset()
    vouches: bool = True
    own: Label = field(default_factory=Label)
    by: str = ""
    is_clean: bool = True
    is_planned: bool = True
    _rows: list[ResultRow] | None = field(default=None, repr=False)
    _places: dict[tuple[str, str], dict[str, list[ResultRow]]] = field(
        default_factory=dict[tuple[str, str], dict[str, list[ResultRow]]], repr=False
    )
    _echoes: list[str] | None = field(default=None, repr=False)
    _text: str | None = field(default=None, repr=False)
    _counts: Counter[str] | None = field(default=None, repr=False)

    def holds(
        self, value: Scalar, name: str | None, form: str = "", admits: Admits = everything
    ) -> bool:
        """Whether the value is a whole value of an admitted row, or of one of its fields."""
        if isinstance(value, bool) or (not isinstance(value, str) and not (name or form)):
            return False
        if isinstance(value, str) and name is None and not can_be_vouched_for(value):
            return False
        rows = self._values(name or "", form).get(_spelt(value, form), ())
        return any(admits(self, row) for row in rows) and not self.is_echo(value, form)

    def says(
        self, value: Scalar, name: str | None, form: str = "", admits: Admits = everything
    ) -> bool:
        """Whether the value is in a text of an admitted row, as whole words."""
        number = number_of(value, form)
        wanted = normal(value, form) if isinstance(value, str) else ""
        if number is None and (
            not can_be_vouched_for(wanted) or (not form and wanted not in self.text())
        ):
            return False

        def is_in(text: str) -> bool:
            if number is not None:
                return number in numbers_in(text)
            return has_words(wanted, normal(text, form))

        return any(
            isinstance(text, str)
            and name in (None, field_name)
            and is_in(text)
            and admits(self, row)
            for row in self.rows()
            for field_name, text in row.entries
        ) and not self.is_echo(value, form)

    def names(self, said: Iterable[str], value: str, admits: Admits) -> bool:
        """Whether an admitted row says one of these texts, and the call did not say the value."""
        is_said = any(self.says(one, None, "", admits) for one in said)
        return is_said and not self.is_echo(value, "")

    def is_open(self) -> bool:
        """Whether everybody may read it, and its call carried nothing into it."""
        return self.own.readers is None and not self.arguments

    def texts(self, admits: Admits = everything) -> Iterable[str]:
        """The texts of all admitted rows, and their numbers."""
        for row in self.rows():
            if admits(self, row):
                yield from (str(each) for _, each in row.entries if not isinstance(each, bool))

    def text(self) -> str:
        """All texts of the result, one after the other."""
        if self._text is None:
            self._text = "\0".join(self.texts())
        return self._text

    def writers(self) -> frozenset[str]:
        """Who wrote its rows; the empty name for texts that nobody is attested to have written."""
        return frozenset(
            row.writer
            for row in self.rows()
            if row.writer or any(isinstance(value, str) for _, value in row.entries)
        )

    def shares(self, row: ResultRow, words: Collection[str]) -> bool:
        """Whether the row has one of these words, which at most a quarter of the rows have."""
        common = row.words.intersection(words) - _COMMON
        if not common:
            return False
        if self._counts is None:
            self._counts = Counter(word for each in self.rows() for word in each.words)
        most = max(1, len(self.rows()) // 4)
        return any(self._counts[word] <= most for word in common)

    def rows(self) -> list[ResultRow]:
        """Its rows, with at most 100,000 values; too deep ones vouch for nothing."""
        if self._rows is None:
            self._rows = _rows_of(self.value, self.by)
        return self._rows

    def is_echo(self, value: Scalar, form: str) -> bool:
        """Whether the call may have put the value into its result.

        It is a part of an argument, or is put together of nothing but arguments.
        """
        wanted = _open(str(value), form)
        number = as_number(str(value)) if form == "number" or not isinstance(value, str) else None
        rest = wanted
        if self._echoes is None:
            written: Mapping[str, Any] = dict[str, Any]() if self.is_clean else self.arguments
            self._echoes = sorted(echoes_of(written, self.known), key=len, reverse=True)
        for echo in (_open(each, form) for each in self._echoes):
            if number is not None and number in {*numbers_in(echo), as_number(echo)}:
                return True
            if wanted in echo if isinstance(value, str) else has_words(wanted, echo):
                return True
            rest = rest.replace(echo, " ")
        return rest != wanted and not any(map(str.isalnum, rest))

    def _values(self, name: str, form: str) -> Mapping[str, list[ResultRow]]:
        """The rows of each whole value in one spelling; of all fields for the empty name."""
        key = (name, form)
        if key not in self._places:
            places: dict[str, list[ResultRow]] = {}
            for row in self.rows():
                for field_name, value in row.entries:
                    if name in ("", field_name):
                        places.setdefault(_spelt(value, form), []).append(row)
            self._places[key] = places
        return self._places[key]


def earlier_record(call: ToolCall, message: Message, by: str, known: frozenset[str]) -> Record:
    """The result of an earlier run: it may have read anything, and so may its call."""
    return Record(
        call.name,
        as_json(None, message.text),
        call.arguments,
        known,
        vouches=not message.is_error,
        own=Label(frozenset({call.name})),
        by=by,
        is_clean=False,
        is_planned=False,
    )


def texts_of(result: str) -> str:
    """The texts and numbers of a result as a model reads it."""
    return "\n".join(Record("", as_json(None, result)).texts())


def number_of(value: Scalar, form: str) -> Decimal | None:
    """The number that a value of the form `number` is."""
    return as_number(str(value)) if form == "number" else None


def is_in_texts(value: Scalar, texts: Collection[str], form: str) -> bool:
    """Whether one of the texts contains a value; see `is_said_in`."""
    if (number := number_of(value, form)) is not None:
        return any(number in numbers_in(text) for text in texts)
    return isinstance(value, str) and any(
        is_said_in(value, text, form) for text in texts if form or value in text
    )


def _open(text: str, form: str) -> str:
    """The text without what a form leaves open, and without its case."""
    return normal(text.upper(), form).casefold()


def words_of(texts: Iterable[str]) -> frozenset[str]:
    """The words of three letters and more, and the numbers of two digits and more."""
    return frozenset(word for text in texts for word in _WORD.findall(text.casefold()))


def _spelt(value: Scalar, form: str) -> str:
    """The value in one spelling; a number is not the text of it."""
    if (number := number_of(value, form)) is not None:
        return f"={number.normalize()}"
    return normal(value, form) if isinstance(value, str) else f"#{value!r}"


def _rows_of(value: object, by: str) -> list[ResultRow]:
    """The rows of a result; this is called with all of a large result.

    What an item quotes is a row that nobody is attested to have written.
    """
    rows = [ResultRow()]
    waiting: list[tuple[str, object, int, ResultRow]] = [("", value, 0, rows[0])]
    count = 0
    while waiting and count < _MAX_LEAVES:
        name, item, depth, row = waiting.pop()
        if isinstance(item, str | float | int):
            count += 1
            said, quoted = item, ""
            if row.writer and isinstance(item, str):
                said, quoted = without_quotation(item)
            row.entries.append((name, said))
            if quoted:  # by somebody else
                _new(rows, row, "").entries.append((name, quoted))
        elif depth >= _MAX_DEPTH or item is None:
            continue
        elif isinstance(item, dict):
            entries = cast("dict[object, object]", item)
            if by and by in entries:  # only a text attests somebody
                writer = entries[by]
                row = _new(rows, row, writer if isinstance(writer, str) else "")
            is_table = len(entries) > 1 and all(isinstance(v, dict) for v in entries.values())
            waiting += [
                (str(key), each, depth + 1, _new(rows, row, row.writer) if is_table else row)
                for key, each in entries.items()
            ]
        elif isinstance(item, list | tuple | set | frozenset):
            for each in cast("Iterable[object]", item):
                is_row = depth == 0 or as_object(each) is not None
                waiting.append(
                    (name, each, depth + 1, _new(rows, row, row.writer) if is_row else row)
                )
        else:
            row.entries.append((name, str(item)))
            count += 1
    return [row for row in rows if row.entries]


def _new(rows: list[ResultRow], around: ResultRow, writer: str) -> ResultRow:
    """A new row inside another one."""
    rows.append(ResultRow(writer))
    if around is not rows[0]:
        around.parts.append(rows[-1])
    return rows[-1]
