"""How cells are compared: exactly, within limits, or after their text is normalised."""

from __future__ import annotations

from collections.abc import Iterator
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

_LIMITED = frozenset({"number", "float"})
_WORDS = {
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

    def within(self, family: Family) -> Rule:
        """The part of the rule that applies to a family of types."""
        if family in _LIMITED:
            kept: tuple[str, ...] = ("absolute", "relative")
        elif family == "timestamp":
            kept = ("seconds", "precision", "zone")
        elif family == "date":
            kept = ("seconds",)
        else:
            kept = tuple(_WORDS) if family == "text" else ()
        return Rule(**{name: getattr(self, name) for name in kept})

    def words(self) -> str:
        """The rule in words, such as `within 0.01` or `trimmed, case ignored`."""
        return ", ".join(self._parts()) or "exact"

    def _parts(self) -> Iterator[str]:
        if self.absolute is not None:
            yield f"within {self.absolute:f}"
        if self.relative is not None:
            yield f"within {self.relative:f} of the number in a"
        if self.seconds is not None:
            yield f"within {self.seconds:f} s"
        if self.precision is not None:
            zone = "" if self.zone is None else f" in {self.zone}"
            yield f"cut to the {self.precision}{zone}"
        if self.zone is not None:
            yield f"times without a zone are in {self.zone}"
        yield from (words for name, words in _WORDS.items() if getattr(self, name))


EXACT = Rule()


class Rules(Definition):
    """The rules of a comparison; that of a column precedes that of its type and that of all."""

    all: Rule = EXACT
    types: dict[Family, Rule] = Field(default_factory=dict[Family, Rule])
    columns: dict[Name, Rule] = Field(default_factory=dict[Name, Rule])

    def of(self, family: Family, own: Rule | None = None) -> Rule:
        """The rule for a type; `own` is that of the column."""
        rule = self.types.get(family, EXACT).over(self.all)
        return (rule if own is None else own.over(rule)).within(family)
