"""Random questions: small tables with everything in them that makes comparisons go wrong."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from tests.skillian.oracle.oracle import AGGREGATIONS, Limits, limits_of
from tests.skillian.oracle.questions import Question, Side
from tests.skillian.oracle.themes import AGREEING, Theme
from tests.skillian.oracle.values import kind_of, meant
from tests.support.places import Column, Table

MUCH = Decimal(9999999)
ABSOLUTE = ("0", "0.01", "0.05", 1, 5, MUCH)
PERCENTAGE = ("0", 1, 1.5, 5, "0.5", "14.285714285", 100, MUCH)

Move = Callable[[Any], Any]


absolute, percentage = st.sampled_from(ABSOLUTE), st.sampled_from(PERCENTAGE)
limits = st.one_of(
    # Where one limit is wide, the other one decides.
    st.fixed_dictionaries({"absolute": st.just(MUCH), "percentage": percentage}),
    st.fixed_dictionaries({"absolute": absolute, "percentage": st.just(MUCH)}),
    st.fixed_dictionaries({"absolute": absolute, "percentage": percentage}),
    st.fixed_dictionaries({}, optional={"absolute": absolute, "percentage": percentage}),
)
thresholds = st.one_of(
    st.fixed_dictionaries({"match": limits, "minor_diff": limits}),
    st.fixed_dictionaries({}, optional={"match": limits, "minor_diff": limits}),
)


@st.composite
def settings_of(draw: st.DrawFn, sources: Sequence[str], measures: Sequence[str]) -> dict[str, Any]:
    """What the file says of comparisons: thresholds for all, for the pair, for a measure."""
    found: dict[str, Any] = {}
    if draw(st.booleans()):
        found["thresholds"] = draw(thresholds)
    if draw(st.booleans()):
        pair = sources if draw(st.booleans()) else sources[::-1]
        found["pairs"] = [{"sources": pair, "thresholds": draw(thresholds)}]
    if draw(st.booleans()):
        found["measures"] = {draw(st.sampled_from(measures)): {"thresholds": draw(thresholds)}}
    return found


@dataclass(frozen=True)
class Nudge:
    """value + share * value + step, where the value stays one of whole cents."""

    share: Fraction = Fraction(0)
    step: Fraction = Fraction(0)

    def __call__(self, value: Any) -> Any:
        if value is None or isinstance(value, str | float):
            return value
        moved = Fraction(value) * (1 + self.share) + self.step
        if isinstance(value, int):
            return int(moved) if moved.denominator == 1 and abs(moved) < 2**63 else value
        cents = moved * 100
        fits = cents.denominator == 1 and abs(cents) < 10**23
        return Decimal(f"{cents.numerator}e-2") if fits else value


KEEP = Nudge()


def moves(limits: Limits) -> tuple[Move, ...]:
    """Ways to be off: just what a limit allows, a cent less or more; wrong sign; twice; NULL."""
    exact, cent = Fraction(0), Fraction(1, 100)
    found: list[Move] = [Nudge(Fraction(-2)), Nudge(Fraction(1)), lambda _: None]
    for absolute_limit, percentage_limit in limits:
        share, step = (percentage_limit or exact) / 100, absolute_limit or exact
        found += [Nudge(share), Nudge(-share), Nudge(share), Nudge(-share)]
        found += [Nudge(exact, step), Nudge(exact, -step)]
        found += [Nudge(share, cent), Nudge(share, -cent)]
        found += [Nudge(exact, step + cent), Nudge(exact, step - cent)]
    return tuple(found)


@st.composite
def filters(draw: st.DrawFn, side: Side, themes: Sequence[Theme]) -> Mapping[str, Any]:
    """A filter on none, one or all of the dimensions; its values are those of `side`."""
    found: dict[str, Any] = {}
    for (name, dimension), theme in zip(side.dimensions.items(), themes, strict=True):
        if draw(st.sampled_from((True, True, True, False))):
            continue
        column = side.table.column(dimension["column"])
        known = draw(st.lists(theme.members, min_size=1, max_size=3))
        values = st.sampled_from([meant(dimension, one, column) for one, _ in known])
        is_ordered = kind_of(dimension, column) != "boolean"
        found[name] = draw(filter_of(values, is_ordered=is_ordered))
    return found


def filter_of(values: st.SearchStrategy[Any], *, is_ordered: bool) -> st.SearchStrategy[Any]:
    """Every form of a filter."""
    as_json = values.map(lambda value: value if isinstance(value, bool | int) else str(value))
    plain = st.one_of(as_json, values)
    lists = st.lists(st.one_of(st.none(), plain), min_size=1, max_size=3)
    equal = st.one_of(st.none(), plain, lists)
    forms: list[st.SearchStrategy[Any]] = [equal, st.fixed_dictionaries({"ne": equal})]
    if is_ordered:
        forms += [
            st.fixed_dictionaries({"gte": plain, "lt": plain}),
            st.fixed_dictionaries({"gt": plain}, optional={"ne": equal}),
            st.fixed_dictionaries({"lte": plain}),
            st.fixed_dictionaries({"between": st.tuples(values, values).map(sorted)}),
        ]
    return st.one_of(forms)


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

# The share of a's rows that b has too.
STAYS = 0.85

Rows = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Number:
    """A column to be measured, still without a name, in a and in b, and its values."""

    a: Column
    b: Column
    values: st.SearchStrategy[Any]
    aggregations: tuple[str, ...] = (*AGGREGATIONS, "sum", "sum")


def number(scale_a: int, scale_b: int, values: st.SearchStrategy[Any]) -> Number:
    return Number(Column("", "decimal", scale_a), Column("", "decimal", scale_b), values)


cents = st.decimals(min_value=-1000, max_value=1000, places=2)
# Of which every percentage is a number of whole cents.
hundreds = st.integers(-50, 50).map(lambda number: Decimal(number * 100))
money = st.one_of(hundreds, st.sampled_from(MONEY), cents, st.none())
small_money = st.one_of(hundreds, st.sampled_from(MONEY[:-3]), cents, st.none())
few = st.one_of(st.none(), st.integers(-9, 9))
# Floats of so many digits that sums are exact decimals, and averages would not be.
finite = st.sampled_from([0.0, -0.0, 0.1, 1 / 3, 1e-10, 12345678.9]) | st.floats(-1e6, 1e6).filter(
    lambda value: value == 0 or abs(value) > 1e-6
)
numbers = finite | st.sampled_from([math.inf, -math.inf])
floats = numbers | st.just(math.nan)


def float_of(values: st.SearchStrategy[float]) -> Number:
    column = Column("", "float")
    how = tuple(each for each in AGGREGATIONS if each != "avg")
    return Number(column, column, st.none() | values, (*how, "sum", "sum"))


FLOATS = float_of(floats)


NUMBERS = (
    FLOATS,
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
    shape: Shape = draw(shapes(profile, themes))
    sources, request = draw(st.sampled_from(SOURCES)), draw(thresholds)
    settings = draw(settings_of(sources, [*shape.numbers]))
    known = [moves(limits_of(sources, name, settings, request)) for name in shape.numbers]
    rows = draw(both_rows(shape, known))
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
def both_rows(draw: st.DrawFn, shape: Shape, known: Sequence[Sequence[Move]]) -> tuple[Rows, Rows]:
    """Rows of both sides: most of b are rows of a again, off in ways that are `known`."""
    keys = [
        (*draw(st.lists(theme.members, min_size=2, max_size=6, unique_by=repr)), (None, None))
        for theme in shape.themes.values()
    ]
    cells = [
        draw(st.lists(each.values, min_size=3, max_size=6, unique_by=repr))
        for each, _ in shape.numbers.values()
    ]
    # Choices of which none is likelier than another: drawn one by one they repeat each other.
    mixed = draw(st.randoms(use_true_random=True))

    def row() -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return tuple(map(mixed.choice, keys)), tuple(map(mixed.choice, cells))

    # Few ways to be off, so that whole groups are off by just what a limit allows.
    ways: list[tuple[Move, ...]] = [
        (KEEP, *mixed.sample(some, k=mixed.randint(0, 4))) for some in known
    ]
    rows = [row() for _ in range(mixed.choice((0, 2, 4, 6, 8, 10, 12)))]
    other = [
        (key, tuple(mixed.choice(some)(cell) for some, cell in zip(ways, values, strict=True)))
        for key, values in rows
        if mixed.random() < STAYS
    ]
    other += [row() for _ in range(mixed.choice((0, 0, 1, 2)))]
    times = mixed.choice(((1, 1), (1, 1), (1, 2), (2, 1)))
    return (
        tuple((*(one for one, _ in key), *values) for key, values in rows * times[0]),
        tuple((*(two for _, two in key), *values) for key, values in other * times[1]),
    )


def turned(values: Sequence[str]) -> st.SearchStrategy[list[str]]:
    """The values from any of them on, round to the one before."""
    steps = st.integers(0, len(values) - 1)
    return steps.map(lambda step: [*values[step:], *values[:step]])


# SQLite keeps a DECIMAL of more than 15 digits as a binary float, and NaN as NULL.
_SMALL = (
    float_of(numbers),
    number(2, 2, small_money),
    number(2, 4, small_money),
    *(each for each in NUMBERS if each.a.kind not in {"decimal", "float"}),
)


def _fits_mysql(theme: Theme) -> bool:
    """Its BOOLEAN is a number, and it refuses to guess at another Unicode form."""
    kinds = theme.a.kind, theme.b.kind
    return "boolean" not in kinds and "nfc" not in theme.declared_a.get("normalise", ())


def _typed(side: Side) -> Side:
    """Return the side with its types declared: a CSV file has none."""
    columns = {column.name: column for column in side.table.columns}
    dimensions = {
        name: {"type": _type(columns[declared["column"]]), **declared}
        if len(declared) == 1
        else declared
        for name, declared in side.dimensions.items()
    }
    casts = {
        name: {**declared, "expression": _cast(columns[declared["column"]])}
        for name, declared in side.measures.items()
        if columns[declared["column"]].kind != "float"
    }
    return replace(side, dimensions=dimensions, measures={**side.measures, **casts}, is_typed=False)


def _type(column: Column) -> str:
    return f"decimal(24,{column.scale})" if column.kind == "decimal" else column.kind


def _cast(column: Column) -> str:
    types: dict[str, Any] = {"text": "VARCHAR", "integer": "BIGINT"}
    quoted = column.name.replace('"', '""')
    return f'CAST("{quoted}" AS {types.get(column.kind, _type(column))})'


PROFILES = {
    "sqlite": Profile(numbers=_SMALL),
    "csv": Profile(
        numbers=(float_of(finite), *NUMBERS[1:]),
        adapt=lambda question: replace(question, a=_typed(question.a)),
    ),
    "mysql": Profile(themes=tuple(filter(_fits_mysql, AGREEING)), numbers=NUMBERS[1:]),
}
