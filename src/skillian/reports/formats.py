"""The formats of a report, and how much detail each needs."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

GROUPS = 1000
DRILLED = 20


@dataclass(frozen=True, slots=True)
class Depth:
    """How much of what differs is read.

    Attributes:
        groups: How many groups that differ a report lists.
        drilled: For how many of them it shows their rows.
        listed: How many rows of each class a history needs.
    """

    groups: int = 0
    drilled: int = 0
    listed: int = 0


class Format(StrEnum):
    """The format of a report."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"

    @classmethod
    def of_file(cls, path: Path) -> "Format":
        """The format for the suffix of a file; a table if it has no suffix.

        Raises:
            ValueError: No format has this suffix; the message names the suffixes.
        """
        suffix = path.suffix.lower()
        if suffix and suffix not in _BY_SUFFIX:
            known = ", ".join(_BY_SUFFIX)
            raise ValueError(
                f"no report format has the suffix {suffix!r}; supported suffixes: {known}"
            )
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
    """How much detail a report of this format needs."""
    if form is Format.HTML:
        return Depth(GROUPS, DRILLED)
    return Depth(GROUPS) if form is Format.JSON else Depth()
