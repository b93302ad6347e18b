"""What a reader enters for limits and rules: as they state it, or why it is not valid."""

from __future__ import annotations

from decimal import Decimal

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from skillian.data.declare.definitions import reason_of
from skillian.data.declare.rules import Rule
from skillian.display import printable

_PERCENT = Decimal(100)


def why_invalid(details: ErrorDetails) -> str:
    """Why a value is not valid, as a sentence."""
    reason = reason_of(details)
    return printable(f"{reason[:1].upper()}{reason[1:]}.")


def rule_value(name: str, entered: str) -> object:
    """The value of a part of a `Rule`; a percentage is entered, and stated as a fraction.

    Raises:
        ValueError: It is not a value of this part; with the reason as a sentence.
    """
    if not entered.strip():
        raise ValueError("Enter a value.")
    try:
        value = getattr(Rule.model_validate({name: entered.strip()}), name)
        if name == "relative":
            value = Rule.model_validate({name: value / _PERCENT}).relative
    except ValidationError as invalid:
        raise ValueError(why_invalid(invalid.errors()[0])) from None
    return value
