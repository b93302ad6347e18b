"""Random thresholds at all levels, and values that are off by just what these allow."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

LIMITS = ("0", "0.01", "0.05", 1, 1.5, 5, "14.285714285", 100, Decimal(9999999))

Limits = dict[str, list[Fraction]]
Move = Callable[[Any], Any]


def limits_of(one_more: Any) -> st.SearchStrategy[Any]:
    """The limits of one class: both, one or none."""
    known = st.sampled_from((*LIMITS, one_more))
    partial = st.fixed_dictionaries({}, optional={"absolute": known, "percentage": known})
    return st.one_of(st.fixed_dictionaries({"absolute": known, "percentage": known}), partial)


thresholds = st.one_of(
    st.fixed_dictionaries({"match": limits_of(0), "minor_diff": limits_of(Decimal(9999999))}),
    st.fixed_dictionaries({}, optional={"match": limits_of(0), "minor_diff": limits_of(5)}),
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


def mentioned(request: Mapping[str, Any], settings: Mapping[str, Any]) -> Limits:
    """Return all limits of a request and of the file, by their kind."""
    narrow = [*settings.get("pairs", ()), *settings.get("measures", {}).values()]
    levels = [request, settings.get("thresholds", {}), *(each["thresholds"] for each in narrow)]
    found: Limits = {"absolute": [Fraction(0)], "percentage": [Fraction(0)]}
    for level in levels:
        for given in level.values():
            for kind, limit in given.items():
                found[kind].append(Fraction(str(limit)))
    return found


@dataclass(frozen=True)
class Nudge:
    """value + share * value + step, where the value stays one of whole cents."""

    share: Fraction = Fraction(0)
    step: Fraction = Fraction(0)

    def __call__(self, value: Any) -> Any:
        """Return the value, moved."""
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
    """Ways to be off: exactly a limit, a cent less or more; wrong sign; twice as much; NULL."""
    return *_nudges(limits), Nudge(Fraction(-2)), Nudge(Fraction(1)), lost


def _nudges(limits: Limits) -> Iterable[Nudge]:
    for cent in (Fraction(0), Fraction(1, 100), Fraction(-1, 100)):
        for limit in limits["absolute"]:
            yield Nudge(step=limit + cent)
            yield Nudge(step=-limit - cent)
        for limit in limits["percentage"]:
            yield Nudge(limit / 100, cent)
