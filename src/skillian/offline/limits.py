"""Limits of a comparison: numbers with their units, from tokens to the `thresholds` argument."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from skillian.offline.conditions import NotReadError
from skillian.offline.tokens import Token, as_number, of_kinds, text_of
from skillian.offline.vocabulary import Vocabulary

NUMBERS = {"number"}
_UNITS = {
    **dict.fromkeys(("euro", "eur", "€", "cent"), "eur"),
    **dict.fromkeys(("dollar", "usd", "$"), "usd"),
    **dict.fromkeys(("pound", "gbp", "£"), "gbp"),
}


class StatedLimits:
    """The limits that a question states.

    Args:
        thresholds: The limits of each class, which `add` fills.

    Attributes:
        units: Units that the answer must have: "in EUR".
    """

    def __init__(self, thresholds: dict[str, dict[str, Any]]) -> None:
        self._thresholds = thresholds
        self._stated: list[Token] = []
        self.units: list[Token] = []

    def add(self, part: Sequence[Token]) -> None:
        """Add one limit, or an absolute and a relative one that must both be met."""
        text, kinds = text_of(part), {token.kind for token in part}
        numbers = [at for at, token in enumerate(part) if token.kind in NUMBERS]
        is_either = any(token.name == "or" for token in part)
        if is_either or (kinds & {"over"} and kinds & {"under"}):
            raise NotReadError(text)
        status = "minor_diff" if "minor" in kinds and "ignore" not in kinds else "match"
        limits = self._thresholds.setdefault(status, {})
        for at, end in zip(numbers, [*numbers[1:], len(part)], strict=True):
            amount = part[max(at - 1, 0) : end]
            number, units = as_number(part[at].text), {token.kind for token in amount}
            kind = "percentage" if "percent" in units else "absolute"
            if number is None or kind in limits:
                raise NotReadError(text)
            self._stated += of_kinds(amount, {"currency", "cents", "unit"})
            limits[kind] = _as_json(number.scaleb(-2) if "cents" in units else number)

    def other_units(
        self, measures: Sequence[str], vocabulary: Vocabulary, *, is_of_all: bool
    ) -> Iterator[str]:
        """Yield the units of the question that the measures do not have.

        Without any declared unit, a limit may have one.
        """
        names = measures or list(dict.fromkeys(vocabulary.measures.values()))
        units = [vocabulary.units_of([name]) or {""} for name in names]
        declared = {_UNITS.get(unit, unit) for each in units for unit in each}
        for token in self.units:
            if declared != {_UNITS.get(token.name, token.name)}:
                yield token.text
        for token in self._stated:
            unit = _UNITS.get(token.name, token.name)
            if (
                declared != {unit}
                and vocabulary.units
                and (measures or is_of_all or unit not in declared)
            ):
                yield token.text


def _as_json(number: Decimal) -> int | float | str:
    """A number for JSON, with all of its digits."""
    if number == int(number):
        return int(number)
    text = format(number.normalize(), "f")
    return float(text) if str(float(text)) == text else text
