"""How cells are compared: exactly, within limits, or after their text is normalised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, Field

from skillian.data.declare.definitions import Definition, Name

Family = Literal[
    "number",
    "float",
    "text",
    "boolean",
    "date",
    "timestamp",
    "time",
    "binary",
    "uuid",
    "json",
    "nested",
    "other",
]
Precision = Literal["day", "hour", "minute", "second", "millisecond", "microsecond"]
Amount = Annotated[Decimal, Field(max_digits=30, decimal_places=20, allow_inf_nan=False)]
# 12 digits before the point: a year 24 and a year 2024 are 6e10 seconds apart.
Span = Annotated[Decimal, Field(max_digits=32, decimal_places=20, allow_inf_nan=False)]
Limit = Annotated[Decimal, Field(ge=0, max_digits=30, decimal_places=20, allow_inf_nan=False)]


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        if available_timezones():  # otherwise this machine knows none, but the database may
            raise ValueError(
                f"there is no time zone {name[:60]!r}; name one such as Europe/Berlin"
            ) from None
    return name


Zone = Annotated[Name, AfterValidator(_known_zone)]


def _not_zero(number: Decimal) -> Decimal:
    if not number:
        raise ValueError("a number multiplied by 0 equals every other one; name another factor")
    return number


Factor = Annotated[Amount, AfterValidator(_not_zero)]
Places = Annotated[int, Field(ge=0, le=20)]
Length = Annotated[int, Field(ge=1, le=1_000_000)]

_ARITHMETIC = ("factor", "divisor", "plus", "round")
_CLOCKS = ("shift", "zone_a", "zone_b")
_COMPUTED = (*_ARITHMETIC, "shift", "precision", "length")
_OF_FAMILY: Mapping[Family, tuple[str, ...]] = {
    "number": ("absolute", "relative", *_ARITHMETIC),
    "float": ("absolute", "relative", *_ARITHMETIC),
    "timestamp": ("seconds", "precision", "zone", *_CLOCKS),
    "date": ("seconds", "shift"),
    "text": ("trim", "ignore_case", "nfc", "collapse_whitespace", "empty_is_null", "length"),
}
# By what a rule states, in the order of its words.
_WORDS = {
    "absolute": "within {0:f}",
    "relative": "within {0:f} of the number in a",
    "seconds": "within {0:f} s",
    "precision": "cut to the {0}{clock}",
    "zone": "times without a zone are in {0}",
    "factor": "a multiplied by {0:f}",
    "divisor": "a divided by {0:f}",
    "plus": "a plus {0:f}",
    "round": "rounded to {0} {places}",
    "shift": "a shifted by {span}",
    "zone_a": "times in a without a zone are in {0}",
    "zone_b": "times in b without a zone are in {0}",
    "length": "the first {0} characters",
    "trim": "trimmed",
    "ignore_case": "case ignored",
    "nfc": "in Unicode form NFC",
    "collapse_whitespace": "white space collapsed",
    "empty_is_null": "empty text is NULL",
}


class Rule(Definition):
    """The rule for a cell; what it does not state is exact.

    Attributes:
        absolute: The largest difference of two numbers.
        relative: The same as a fraction of the number in a. If both are set, both must be met.
        seconds: The largest difference of two times.
        precision: Times are cut to this unit before they are compared.
        zone: The time zone of timestamps without one, if the other side has one, and of the clocks
            by which instants are cut; UTC by default.
        trim: Leading and trailing white space of a text is ignored.
        ignore_case: Upper and lower case are equal.
        nfc: Texts are compared in Unicode form NFC.
        collapse_whitespace: Each run of white space counts as one space.
        empty_is_null: An empty text is NULL, after the other steps.
        factor: What the number in a is multiplied by, before all limits.
        divisor: What the number in a is divided by; exactly, because that in b is multiplied by it.
        plus: What is then added to the number in a.
        round: To how many places both numbers are then rounded, halves away from zero.
        shift: How many seconds are added to the time in a.
        zone_a: The time zone of times without one in a, if it is not that of those in b.
        zone_b: The same of times in b.
        length: Only so many characters of both texts are compared.
    """

    absolute: Limit | None = None
    relative: Limit | None = None
    seconds: Limit | None = None
    precision: Precision | None = None
    zone: Zone | None = None
    trim: bool | None = None
    ignore_case: bool | None = None
    nfc: bool | None = None
    collapse_whitespace: bool | None = None
    empty_is_null: bool | None = None
    factor: Factor | None = None
    divisor: Factor | None = None
    plus: Amount | None = None
    round: Places | None = None
    shift: Span | None = None
    zone_a: Zone | None = None
    zone_b: Zone | None = None
    length: Length | None = None

    def over(self, wider: Rule) -> Rule:
        """This rule, completed by a wider one; the two limits of numbers are one part."""
        limits = self if self.has_limits else wider
        update = {
            name: value
            for name in type(self).model_fields
            if (value := getattr(self, name)) is not None
        }
        update |= {"absolute": limits.absolute, "relative": limits.relative}
        return wider.model_copy(update=update)

    @property
    def has_limits(self) -> bool:
        """Whether it states a limit for numbers."""
        return self.absolute is not None or self.relative is not None

    @property
    def has_tolerance(self) -> bool:
        """Whether values that differ may be equal by it, so that it cannot match rows."""
        return self.has_limits or self.seconds is not None

    @property
    def changes_numbers(self) -> bool:
        """Whether numbers are computed before they are compared."""
        return any(getattr(self, name) is not None for name in _ARITHMETIC)

    @property
    def changes_clocks(self) -> bool:
        """Whether times are moved before they are compared."""
        return any(getattr(self, name) is not None for name in _CLOCKS)

    @property
    def is_one_sided(self) -> bool:
        """Whether the same value on both sides may be unequal by it."""
        return self.changes_clocks or any(
            each is not None for each in (self.factor, self.divisor, self.plus)
        )

    def of_key(self, own: Rule) -> Rule:
        """The rule for a column of the key, of which only that of the column, `own`, computes."""
        return self.model_copy(update={name: getattr(own, name) for name in _COMPUTED})

    def within(self, family: Family) -> Rule:
        """The part of the rule that applies to a family of types."""
        kept = _OF_FAMILY.get(family, ())
        return Rule(**{name: getattr(self, name) for name in kept})

    def words(self) -> str:
        """The rule in words, such as `within 0.01` or `trimmed, case ignored`."""
        return ", ".join(self._parts()) or "exact"

    def _parts(self) -> Iterator[str]:
        more = {
            "clock": "" if self.zone is None else f" in {self.zone}",
            "places": "place" if self.round == 1 else "places",
            "span": _span(self.shift or Decimal(0)),
        }
        for name, words in _WORDS.items():
            value = getattr(self, name)
            if value is not None and value is not False:
                yield words.format(value, **more)


def _span(seconds: Decimal) -> str:
    """A time in words, in the largest unit that divides it."""
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds % length == 0:
            count = seconds / length
            return f"{count.normalize():f} {unit}{'' if abs(count) == 1 else 's'}"
    return f"{seconds:f} s"


EXACT = Rule.model_construct()


class Rules(Definition):
    """The rules of a comparison; that of a column precedes that of its type and that of all."""

    all: Rule = EXACT
    types: dict[Family, Rule] = Field(default_factory=dict[Family, Rule])
    columns: dict[Name, Rule] = Field(default_factory=dict[Name, Rule])

    def of(self, family: Family, own: Rule | None = None) -> Rule:
        """The rule for a type; `own` is that of the column."""
        rule = self.types.get(family, EXACT).over(self.all)
        return (rule if own is None else own.over(rule)).within(family)
