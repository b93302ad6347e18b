"""Random filters; thresholds at all levels, and values that are off by just what these allow."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from tests.skillian.oracle.oracle import Limits
from tests.skillian.oracle.questions import Side
from tests.skillian.oracle.themes import Theme
from tests.skillian.oracle.values import kind_of, meant

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
        if value is None or isinstance(value, str):
            return value
        moved = Fraction(value) * (1 + self.share) + self.step
        if isinstance(value, int):
            return int(moved) if moved.denominator == 1 and abs(moved) < 2**63 else value
        cents = moved * 100
        fits = cents.denominator == 1 and abs(cents) < 10**23
        return Decimal(f"{cents.numerator}e-2") if fits else value


KEEP = Nudge()


def lost(_: Any) -> None:
    """Return NULL for any value."""


def moves(limits: Limits) -> tuple[Move, ...]:
    """Ways to be off: just what a limit allows, a cent less or more; wrong sign; twice; NULL."""
    exact, cent = Fraction(0), Fraction(1, 100)
    found: list[Move] = [Nudge(Fraction(-2)), Nudge(Fraction(1)), lost]
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
    plain = st.one_of(values.map(_as_json), values)
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


def _as_json(value: Any) -> Any:
    return value if isinstance(value, bool | int) else str(value)
