"""What numpy and pandas call a number, a moment or a missing value, as Python calls it."""

from __future__ import annotations

import sys
from typing import Any


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
    """An attribute of a module, if somebody has imported it; else None."""
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
