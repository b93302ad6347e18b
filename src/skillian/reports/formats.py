"""The formats of a report: how each is written, and how deep it looks."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

GROUPS = 1000
DRILLED = 20


@dataclass(frozen=True, slots=True)
class Depth:
    """How many differing groups a report wants, and of how many of them the rows behind."""

    groups: int = 0
    drilled: int = 0


class Format(StrEnum):
    """How a comparison is reported."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"

    @classmethod
    def of_file(cls, path: Path) -> "Format":
        """Return the format that a file's suffix names; a table where it has none.

        Raises:
            ValueError: no format has this suffix; the message names those that have one.
        """
        suffix = path.suffix.lower()
        if suffix and suffix not in _BY_SUFFIX:
            known = ", ".join(_BY_SUFFIX)
            raise ValueError(f"no report has the suffix {suffix!r}; there are: {known}")
        return _BY_SUFFIX.get(suffix, cls.TABLE)


_BY_SUFFIX = {
    ".txt": Format.TABLE,
    ".json": Format.JSON,
    ".md": Format.MARKDOWN,
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".xml": Format.JUNIT,
}


def depth_of(form: Format) -> Depth:
    """Return how deep a report of this format looks."""
    if form is Format.HTML:
        return Depth(GROUPS, DRILLED)
    return Depth(GROUPS) if form is Format.JSON else Depth()
