"""Random questions: small tables with everything in them that makes comparisons go wrong."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from tests.skillian.oracle.filter_forms import filters
from tests.skillian.oracle.limits import (
    KEEP,
    Limits,
    Move,
    mentioned,
    moves,
    settings_of,
    thresholds,
)
from tests.skillian.oracle.oracle import AGGREGATIONS
from tests.skillian.oracle.questions import Column, Question, Side, Table
from tests.skillian.oracle.themes import AGREEING, UNDECLARED, Theme

NAMES = (
    "company", "Order", "select", 'a"b', "o'k", "my col", "Größe", "x.y", "%s", "100%", "%(p0)s",
    ":p0", "$p0", "a;b", "--", "source", "key_0", "rows_a", "status", "\\", "GROUP",
)  # fmt: skip
LOGICAL = ("company", "period", "Rows_A", "status", 'a"b', "key 0", "select", "measure", "o'k", "%")
SOURCES = (("a", "b"), ("ledger", "ledger 2"), ("side_b", "side_a"), ("groups", "o'k"))
MONEY = tuple(
    Decimal(text)
    for text in (
        "0.00", "0.01", "-0.01", "0.07", "1.00", "-1.00", "99.00", "100.00", "-100.00", "101.00",
        "100.01", "200.00", "999999999999999999.99", "-999999999999999999.98", "123456789012345.00",
    )
)  # fmt: skip
WHOLE = (0, 1, -1, 100, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, -(2**62))
NOTES = ("", "x", "X", "x ", "é", "e\u0301", "o'x", "😀")

Rows = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Number:
    """A column to be measured, still without a name, in a and in b, and its values."""

    a: Column
    b: Column
    values: st.SearchStrategy[Any]
    aggregations: tuple[str, ...] = AGGREGATIONS


def number(scale_a: int, scale_b: int, values: st.SearchStrategy[Any]) -> Number:
    """A decimal of two scales."""
    return Number(Column("", "decimal", scale_a), Column("", "decimal", scale_b), values)


cents = st.decimals(min_value=-1000, max_value=1000, places=2)
money = st.one_of(st.none(), st.sampled_from(MONEY), cents)
small_money = st.one_of(st.none(), st.sampled_from(MONEY[:-3]), cents)
few = st.one_of(st.none(), st.integers(-9, 9))
NUMBERS = (
    number(2, 2, money),
    number(2, 2, money),
    number(2, 4, money),
    number(6, 2, money),
    Number(Column("", "integer"), Column("", "integer"), st.one_of(st.sampled_from(WHOLE), few)),
    Number(Column("", "integer"), Column("", "decimal", 3), few),
    Number(Column(""), Column(""), st.sampled_from((None, *NOTES)), ("count", "count_distinct")),
)


@dataclass(frozen=True)
class Profile:
    """What a pair of databases can hold; `adapt` declares what they cannot know by themselves."""

    themes: tuple[Theme, ...] = AGREEING
    numbers: tuple[Number, ...] = NUMBERS
    adapt: Callable[[Question], Question] = lambda question: question


@st.composite
def questions(draw: st.DrawFn, profile: Profile) -> Question:
    """A question whose two sides can be compared."""
    themes = draw(st.lists(st.sampled_from(profile.themes), min_size=1, max_size=3))
    return profile.adapt(draw(asked(profile, themes)))


@st.composite
def refused_questions(draw: st.DrawFn, profile: Profile) -> Question:
    """A question that no one can answer: the types of a key differ, and nothing says how."""
    return replace(draw(asked(profile, [draw(st.sampled_from(UNDECLARED))])), filters={})


@dataclass(frozen=True)
class Shape:
    """The dimensions and the measures (with their aggregations) of both sides, by logical name."""

    themes: Mapping[str, Theme]
    numbers: Mapping[str, tuple[Number, str]]

    def columns(self, index: int, names: Sequence[str]) -> tuple[Column, ...]:
        """Return the columns of a (0) or b (1): those of the dimensions first."""
        parts = [(theme.a, theme.b)[index] for theme in self.themes.values()]
        parts += [(each.a, each.b)[index] for each, _ in self.numbers.values()]
        return tuple(replace(part, name=name) for part, name in zip(parts, names, strict=False))

    def side(self, index: int, table: Table) -> Side:
        """Return the source a (0) or b (1) over its table, named as the table."""
        columns = iter(table.columns)
        dimensions = {
            name: {"column": next(columns).name, **(theme.declared_a, theme.declared_b)[index]}
            for name, theme in self.themes.items()
        }
        measures = {
            name: {"column": next(columns).name, "aggregation": how}
            for name, (_, how) in self.numbers.items()
        }
        return Side(table.name, table, dimensions, measures)


@st.composite
def shapes(draw: st.DrawFn, profile: Profile, themes: Sequence[Theme]) -> Shape:
    """These dimensions, and one measure or more."""
    names = iter(draw(turned(LOGICAL)))
    numbers = draw(st.lists(st.sampled_from(profile.numbers), min_size=1, max_size=3))
    return Shape(
        {next(names): theme for theme in themes},
        {next(names): (each, draw(st.sampled_from(each.aggregations))) for each in numbers},
    )


@st.composite
def asked(draw: st.DrawFn, profile: Profile, themes: Sequence[Theme]) -> Question:
    """A question with these dimensions."""
    shape: Shape = draw(shapes(profile, themes))
    sources, request = draw(st.sampled_from(SOURCES)), draw(thresholds)
    settings = draw(settings_of(sources, [*shape.numbers]))
    rows = draw(both_rows(shape, mentioned(request, settings)))
    a, b = (
        shape.side(index, Table(name, shape.columns(index, draw(turned(NAMES))), rows[index]))
        for index, name in enumerate(sources)
    )
    align_on = draw(st.lists(st.sampled_from([*shape.themes]), min_size=1, unique=True))
    by_default = draw(st.booleans())
    return Question(
        a,
        b,
        measures=tuple(draw(turned([*shape.numbers]))),
        align_on=None if by_default else tuple(align_on),
        filters=draw(filters(a, themes)),
        thresholds=request,
        settings={**settings, "default_align_on": align_on if by_default else []},
    )


@st.composite
def both_rows(draw: st.DrawFn, shape: Shape, limits: Limits) -> tuple[Rows, Rows]:
    """Rows of both sides: most of b are rows of a again, some of them a little off."""
    members = [
        draw(st.lists(theme.members, min_size=2, max_size=5)) for theme in shape.themes.values()
    ]
    pools = [st.sampled_from([*some, *some, (None, None)]) for some in members]
    row = st.tuples(
        st.tuples(*pools), st.tuples(*(each.values for each, _ in shape.numbers.values()))
    )
    count = draw(st.sampled_from((6, 3, 8, 1, 12, 10, 0)))
    rows = draw(st.lists(row, min_size=count, max_size=count))
    known: tuple[Move, ...] = (KEEP,) if draw(st.booleans()) else (*moves(limits), KEEP, KEEP)
    move = st.sampled_from(known)
    stays = st.sampled_from((True, True, True, False))
    other = [
        (keys, tuple(draw(move)(value) for value in values)) for keys, values in rows if draw(stays)
    ]
    other += draw(st.lists(row, max_size=2))
    times = draw(st.sampled_from([(1, 1), (1, 1), (1, 2), (2, 1)]))
    return (
        tuple((*(one for one, _ in keys), *values) for keys, values in rows * times[0]),
        tuple((*(two for _, two in keys), *values) for keys, values in other * times[1]),
    )


def turned(values: Sequence[str]) -> st.SearchStrategy[list[str]]:
    """The values from any of them on, round to the one before."""
    steps = st.integers(0, len(values) - 1)
    return steps.map(lambda step: [*values[step:], *values[:step]])
