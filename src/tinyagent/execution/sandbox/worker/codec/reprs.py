"""The repr of a value that cannot cross: bounded and safe."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any

REPR_ONLY = "<not data, repr only> "
MAX_REPR = 2_000

_SHORT = reprlib.Repr()
_SHORT.maxlevel = 3


def bounded_repr(value: Any) -> str:
    """Its repr in UTF-8, cut at 2,000 characters; if it fails, a text that says so."""
    # The repr of a container grows without bounds if it is very deep or shared by many.
    is_container = issubclass(type(value), list | tuple | dict | set | frozenset)
    text = attempt(_SHORT.repr if is_container else repr, value)
    if text is None:
        text = f"{object.__repr__(value)}, whose repr fails"
    exact = str.__str__(text)
    cut = exact if len(exact) <= MAX_REPR else f"{exact[: MAX_REPR - 3]}..."
    return cut.encode("utf-8", "backslashreplace").decode()


def attempt(write: Callable[[Any], Any], value: Any) -> Any:
    """The result of `write`; None if it fails: a repr or a time zone may be the code's own."""
    try:
        return write(value)
    except Exception:  # noqa: BLE001 - whatever it raises, the value is then only described
        return None
