"""The formats of a report: how each is written, and how deep it looks."""

from enum import StrEnum
from pathlib import Path

from skillian.reports.running import Depth

GROUPS = 1000
DRILLED = 20


class Format(StrEnum):
    """How a comparison is reported."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"

    @classmethod
    def of_file(cls, path: Path) -> "Format":
        """Return the format that a file's name speaks of; a table for all others."""
        return _BY_SUFFIX.get(path.suffix.lower(), cls.TABLE)


_BY_SUFFIX = {
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
