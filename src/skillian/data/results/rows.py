"""What a row comparison finds."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import Literal

from skillian.data.sql.values import Record

Side = Literal["a", "b", "both"]
KeyOrigin = Literal["given", "catalogue", "profile", "none"]

_NEED_QUOTES = frozenset('"<>=!,')


@dataclass(frozen=True, slots=True)
class TableKey(Record):
    """The columns of a that identify a row; without any, rows are compared with their counts."""

    columns: tuple[str, ...]
    origin: KeyOrigin
    reason: str


@dataclass(frozen=True, slots=True)
class ValuePair(Record):
    """A value in a that is another one in b, and in how many rows."""

    a: str | None
    b: str | None
    count: int


def percent(part: int, whole: int) -> str:
    """A share for people, such as `66.67 %`; what is not 0 never reads as 0."""
    with localcontext(Context()):
        share = round(100 * Decimal(part) / Decimal(whole or 1), 2)
        return f"{share.normalize():f} %" if share or not part else "< 0.01 %"


@dataclass(frozen=True, slots=True)
class ColumnResult(Record):
    """The mismatches of a column.

    Attributes:
        a: Its name in a.
        b: Its name in b.
        type_a: Its type in a.
        type_b: Its type in b.
        rule: How it is compared, in words.
        compared: In how many rows it was compared.
        mismatches: In how many of them it differs.
        largest_gap: The largest difference of two numbers; None for other types, or without one.
        pairs: The most frequent pairs of values that differ.
    """

    json_names = "a b type_a type_b rule compared mismatches share largest_gap pairs"

    a: str
    b: str
    type_a: str
    type_b: str
    rule: str
    compared: int
    mismatches: int
    largest_gap: Decimal | None = None
    pairs: tuple[ValuePair, ...] = ()

    @property
    def share(self) -> Decimal:
        """The mismatches as a fraction of the rows compared, to six places."""
        if not self.compared:
            return Decimal(0)
        with localcontext(Context()):
            return round(Decimal(self.mismatches) / Decimal(self.compared), 6)

    @property
    def percentage(self) -> str:
        """The share for people."""
        return percent(self.mismatches, self.compared)


Key = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class RowSample(Record):
    """A row that differs, and its cells that do: the value in a and the one in b."""

    key: Key
    cells: Mapping[str, tuple[str | None, str | None]]

    def to_dict(self) -> dict[str, object]:
        """The row for JSON."""
        cells = {name: {"a": a, "b": b} for name, (a, b) in self.cells.items()}
        return {"key": dict(self.key), "cells": cells}


@dataclass(frozen=True, slots=True)
class CountedSample(Record):
    """A key, or a row compared without one, and how many rows each side has of it."""

    key: Key
    rows_a: int
    rows_b: int


@dataclass(frozen=True, slots=True)
class Samples(Record):
    """Some rows of each class."""

    differing: tuple[RowSample, ...] = ()
    only_in_a: tuple[CountedSample, ...] = ()
    only_in_b: tuple[CountedSample, ...] = ()
    duplicates: tuple[CountedSample, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal(Record):
    """Two columns without a counterpart that may be one renamed column.

    It is unique if no value is repeated on either side, as far as sampled.
    """

    json_names = "a b reason"

    a: str
    b: str
    reason: str
    is_unique: bool = False

    @property
    def sentence(self) -> str:
        """The proposal in words, without a full stop."""
        return f"Column {self.a!r} may have been renamed to {self.b!r} ({self.reason})"


def option_name(name: str) -> str:
    """A column as options of the command line name it: in quotes if it has signs of theirs."""
    if name == name.strip() and _NEED_QUOTES.isdisjoint(name):
        return name
    return '"' + name.replace('"', '""') + '"'


def map_options(pairs: Iterable[tuple[str, str]]) -> str:
    """The options of the command line that pair columns with different names."""
    named = (f"{option_name(a)}={option_name(b)}" for a, b in pairs)
    return " ".join(f"--map {shlex.quote(each)}" for each in named)


@dataclass(frozen=True, slots=True)
class NotCompared(Record):
    """A column that is not compared.

    Attributes:
        column: Its name.
        side: The side that has it.
        reason: Why; it may name values.
        brief: The reason without values, where it names some.
        remedy: How it can be used nevertheless.
    """

    json_names = "column side reason"

    column: str
    side: Side
    reason: str
    brief: str = ""
    remedy: str = (
        "to use it, convert it in the `query` of a declared source, such as SELECT CAST(id AS"
        " BIGINT) AS id, amount FROM orders"
    )

    @property
    def without_values(self) -> str:
        """The reason for those who may not see values."""
        return self.brief or self.reason


_NAMED = 5


@dataclass(frozen=True, slots=True)
class ColumnCoverage(Record):
    """How many columns a comparison is about.

    Attributes:
        compared: The columns that were compared, those of the key among them.
        left_out: The names of all others of both sides, whatever the reason.
    """

    json_names = "compared columns not_compared=left_out"

    compared: int
    left_out: tuple[str, ...] = ()

    @property
    def columns(self) -> int:
        """How many columns both sides have; a pair is one."""
        return self.compared + len(self.left_out)

    @property
    def words(self) -> str:
        """Such as ` in 9 of 11 columns`; empty if all were compared."""
        return f" in {self.compared:,} of {self.columns:,} columns" if self.left_out else ""

    @property
    def rest(self) -> str:
        """Such as `; amount and date were not compared`; empty if all were."""
        if not self.left_out:
            return ""
        names, more = self.left_out[:_NAMED], len(self.left_out) - _NAMED
        *others, last = (*names, f"{more:,} more") if more > 0 else names
        listed = f"{', '.join(others)} and {last}" if others else last
        return f"; {listed} {'was' if len(self.left_out) == 1 else 'were'} not compared"
