"""A line under an error that says what may have been meant."""

from __future__ import annotations

import builtins
import difflib
from collections.abc import Iterable
from types import ModuleType


def hint(error: BaseException, variables: Iterable[str]) -> str:
    """Names near to the one that is not there, as `Did you mean ...?` and a line end; or nothing.

    Args:
        error: what the code raised.
        variables: the names that it could have used.
    """
    if isinstance(error, NameError) and isinstance(error.name, str):
        known = [name for name in variables if not name.startswith("__")]
        return _near(error.name, [*known, *dir(builtins)])
    if isinstance(error, AttributeError) and isinstance(error.name, str):
        public = [name for name in _attributes(error.obj) if not name.startswith("_")]
        return _near(error.name, public)
    return ""


def _attributes(value: object) -> list[str]:
    """Of its type, or of a module: found without asking the object, which may be anyone's."""
    names = vars(value) if type(value) is ModuleType else type.__dir__(type(value))
    return list(names)


def _near(name: str, known: list[str]) -> str:
    names = [item for item in known if type(item) is str]
    found = difflib.get_close_matches(name[:100], names[:5000], n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(dict.fromkeys(found))}?\n" if found else ""
