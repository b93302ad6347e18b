"""Numbers, dates and times that JSON has no word for, as tagged text and back.

The scalars of NumPy and pandas cross as those of Python.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from .budget import MAX_DIGITS
from .wire import WireError

Reader = Callable[[Any], Any]

_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_HEX = re.compile(r"-?0x[0-9a-f]+")
_MAX_ISO = 64
# Python reads such an offset as UTC.
_SHORT_OFFSET = re.compile(r"([+-])00:00:00\.([0-9]{6})")
_LEAST_INT, _MOST_INT = -(2**63), 2**64
_MAX_BITS = int(MAX_DIGITS * math.log2(10))
_MAX_HEX = _MAX_BITS // 4 + 4
_MAX_DECIMAL = MAX_DIGITS + 20  # its digits, a sign, a point and the exponent
# Separate, so that the settings of the running thread change neither text nor refusals.
_DECIMALS = Context(traps=[InvalidOperation], capitals=1)


def write_int(value: int) -> Any:
    """A number of 64 bits as it is, a larger one in hex: decimal digits cost quadratic time.

    Raises:
        WireError: It has more digits than Python would write out.
    """
    exact = int.__int__(value)
    if _LEAST_INT <= exact < _MOST_INT:
        return exact
    if exact.bit_length() > _MAX_BITS:
        raise WireError(f"too large to cross: an integer of more than {MAX_DIGITS:,} digits")
    return {"$": "int", "v": hex(exact)}


def write_float(value: float) -> Any:
    """JSON has finite numbers only."""
    exact = float.__float__(value)
    return exact if math.isfinite(exact) else {"$": "float", "v": float.__repr__(exact)}


def write_decimal(value: Decimal) -> Any:
    """All its digits.

    Raises:
        WireError: It would have more digits than Python writes of an integer.
    """
    text = _DECIMALS.to_sci_string(value)
    if not _is_written_out(value, text):
        raise WireError(f"too large to cross: a Decimal of more than {MAX_DIGITS:,} digits")
    return {"$": "decimal", "v": text}


def _is_written_out(value: Decimal, text: str) -> bool:
    """Whether it has a bounded number of digits without an exponent, too: `int` writes them all."""
    if len(text) > _MAX_DECIMAL:
        return False
    return not Decimal.is_finite(value) or -MAX_DIGITS <= Decimal.adjusted(value) < MAX_DIGITS


def write_datetime(value: datetime) -> Any:
    """To the microsecond; a time zone becomes the offset it has at that moment, `fold` is lost."""
    return {"$": "datetime", "v": datetime.isoformat(value)}


def write_date(value: date) -> Any:
    """ISO 8601."""
    return {"$": "date", "v": date.isoformat(value)}


def write_time(value: time) -> Any:
    """ISO 8601; a time zone without a fixed offset is left out."""
    return {"$": "time", "v": time.isoformat(value)}


def write_timedelta(value: timedelta) -> Any:
    """Days, seconds and microseconds, as Python keeps them."""
    return {"$": "timedelta", "v": [value.days, value.seconds, value.microseconds]}


def read_scalar(tag: str, read: Reader, data: Any) -> Any:
    """The value that a tag's `v` encodes.

    Raises:
        WireError: It stands for nothing, or is not text as the other side writes it.
    """
    try:
        return read(data)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        raise WireError(f"a value tagged {tag!r} cannot be read") from None


def _read_int(text: Any) -> int:
    if len(text) > _MAX_HEX or not _HEX.fullmatch(text):
        raise ValueError
    value = int(text, 16)
    if value.bit_length() > _MAX_BITS:
        raise ValueError
    return value


def _read_float(text: Any) -> float:
    return _FLOATS[text]


def _read_decimal(text: Any) -> Any:
    if type(text) is not str or len(text) > _MAX_DECIMAL:
        raise TypeError
    value = Decimal(text, _DECIMALS)
    if not _is_written_out(value, text):
        raise ValueError
    return _canonical(value, _DECIMALS.to_sci_string(value), text)


def _iso_reader(kind: type[date | time]) -> Reader:
    def read(text: Any) -> Any:
        if len(text) > _MAX_ISO:
            raise ValueError
        value = kind.fromisoformat(text)
        offset = _SHORT_OFFSET.fullmatch(text, len(text) - len("+00:00:00.000001"))
        if offset is not None and isinstance(value, datetime | time):
            sign, microseconds = offset.groups()
            shift = timedelta(microseconds=int(f"{sign}{microseconds}"))
            value = value.replace(tzinfo=timezone(shift))
        return _canonical(value, value.isoformat(), text)

    return read


def _read_timedelta(parts: Any) -> Any:
    days, seconds, microseconds = parts
    if {type(days), type(seconds), type(microseconds)} != {int}:
        raise TypeError
    value = timedelta(days, seconds, microseconds)
    return _canonical(value, [value.days, value.seconds, value.microseconds], parts)


def _canonical(value: Any, text: Any, data: Any) -> Any:
    """The value, if `text` is its only spelling and equals `data`."""
    if type(text) is not type(data) or text != data:
        raise ValueError
    return value


READERS: dict[str, Reader] = {
    "int": _read_int,
    "float": _read_float,
    "decimal": _read_decimal,
    "datetime": _iso_reader(datetime),
    "date": _iso_reader(date),
    "time": _iso_reader(time),
    "timedelta": _read_timedelta,
}


def as_python(value: Any) -> Any:
    """Python's own for a scalar of numpy, None for pandas' NaT and NA, anything else as it is.

    Neither library is imported for it: what is not loaded has made no values.
    """
    if value is not None and any(value is loaded("pandas", name) for name in ("NaT", "NA")):
        return None
    generic = loaded("numpy", "generic")
    if isinstance(generic, type) and issubclass(type(value), generic):
        return _number(value)
    return value


def loaded(module: str, name: str) -> Any:
    """An attribute of a module, if the module is imported; otherwise None."""
    return getattr(sys.modules.get(module), name, None)


def _number(value: Any) -> Any:
    kind = value.dtype.kind
    if kind == "f":
        return float(value)  # item() of a long double is a long double
    if kind in "mM":
        return _moment(value, kind)
    return value.item() if kind in "biuSU" else value


def _moment(value: Any, kind: str) -> Any:
    """A date, time or timedelta; the value itself where Python has none that far away."""
    plain = value.item()
    if type(plain) is int:  # item() counts units that are no date, or below a microsecond
        plain = value.astype(f"{kind}8[us]").item()
    return value if type(plain) is int else plain
