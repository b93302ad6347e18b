"""Which modules a session's template has loaded already."""

from __future__ import annotations

import re
from collections.abc import Iterable

ALWAYS = (
    "ast", "base64", "bisect", "calendar", "collections.abc", "copy", "csv", "dataclasses",
    "datetime", "decimal", "enum", "fractions", "functools", "hashlib", "heapq", "io", "itertools",
    "json", "math", "operator", "os.path", "pathlib", "pprint", "random", "re", "statistics",
    "string", "struct", "tempfile", "textwrap", "threading", "time", "traceback", "typing",
    "unicodedata", "uuid", "zoneinfo",
)  # fmt: skip
_DATA = ("numpy", "pandas")
_WANTS_DATA = re.compile(r"^\s*(?:import|from)\s+(?:numpy|pandas|matplotlib)\b", re.MULTILINE)


def modules_for(extra_imports: Iterable[str], first_code: str) -> tuple[str, ...]:
    """What is worth loading before the fork: NumPy and pandas only where they will be used.

    Args:
        extra_imports: what the caller allowed by name.
        first_code: of the session; what only a later step imports is loaded then.
    """
    extra = tuple(sorted({name for name in extra_imports if name != "*"}))
    data = _DATA if _WANTS_DATA.search(first_code) or set(_DATA) & set(extra) else ()
    return (*ALWAYS, *data, *(name for name in extra if name not in data))
