"""Functions in Python that a DuckDB of this process gets, for what its SQL cannot do exactly.

DuckDB needs NumPy for them, which takes a tenth of a second to load: they are created for the first
statement that calls one.
"""

import json
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any, NoReturn, cast

PREFIX = "skillian_"
"""With what their names begin."""

# Enough for the difference of any two numbers that a database can hold.
_EXACT = Context(prec=2000, Emax=999_999, Emin=-999_999)


def within(a: str | None, b: str | None, absolute: str, relative: str) -> bool:
    """Whether two numbers, written as text, differ by at most both limits.

    Args:
        a: The first number.
        b: The second number.
        absolute: The largest difference; empty for no limit.
        relative: The same as a fraction of `a`; empty for no limit.
    """
    if a is None or b is None:
        return a is b
    try:
        one, other = Decimal(a), Decimal(b)
    except InvalidOperation:
        return False
    if not one.is_finite() or not other.is_finite():
        return one == other or (one.is_nan() and other.is_nan())
    gap = _EXACT.abs(_EXACT.subtract(one, other))
    if absolute and gap > Decimal(absolute):
        return False
    return not relative or gap <= _EXACT.multiply(Decimal(relative), _EXACT.abs(one))


def canonical_json(text: str | None) -> str | None:
    """JSON without white space, its keys sorted and its numbers in one notation.

    A text that is not JSON is returned with a mark in front, so that it is equal to itself only.
    """
    if text is None:
        return None
    try:
        value = json.loads(text, parse_int=Decimal, parse_float=Decimal, parse_constant=_refuse)
        return _written(value)
    except (ValueError, InvalidOperation, RecursionError):
        return f"!{text}"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _written(value: Any) -> str:
    if isinstance(value, Decimal):
        sign, digits, exponent = value.normalize(_EXACT).as_tuple()
        written = f"{'-' if sign else ''}{''.join(map(str, digits))}e{exponent}"
        return written if value else "0"
    if isinstance(value, list):
        return f"[{','.join(map(_written, cast('Sequence[Any]', value)))}]"
    if isinstance(value, dict):
        members = sorted(cast("dict[str, Any]", value).items())
        return f"{{{','.join(f'{json.dumps(name)}:{_written(each)}' for name, each in members)}}}"
    return json.dumps(value)


def computed(text: str | None, factor: str, plus: str, places: int) -> str | None:
    """A number times a factor plus another number, rounded; without superfluous zeros.

    Args:
        text: The number; what is not one is returned as it is.
        factor: The factor.
        plus: What is added.
        places: To how many places the result is rounded, halves away from zero; -1 not to round.
    """
    try:
        number = Decimal(text or "")
    except InvalidOperation:
        return text
    if not number.is_finite():
        return str(number)
    number = _EXACT.add(_EXACT.multiply(number, Decimal(factor)), Decimal(plus))
    if places >= 0:
        number = number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _EXACT)
    written = f"{number:f}"
    shortest = written.rstrip("0").rstrip(".") if "." in written else written
    return "0" if not number else shortest


def register(connection: Any) -> None:
    """Create the functions in a DuckDB."""
    texts = ["VARCHAR"] * 4
    for name, function, kinds, kind in (
        ("within", within, texts, "BOOLEAN"),
        ("json", canonical_json, texts[:1], "VARCHAR"),
        ("computed", computed, [*texts[:3], "INTEGER"], "VARCHAR"),
    ):
        connection.create_function(PREFIX + name, function, kinds, kind, null_handling="special")
