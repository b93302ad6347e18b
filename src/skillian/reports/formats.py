"""The formats of a report, how much detail each needs, and those of all rows that differ."""

from collections.abc import Collection
from enum import StrEnum
from pathlib import Path

from skillian.data.comparison import Depth

GROUPS = 1000
DRILLED = 20


class Format(StrEnum):
    """The format of a report."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"
    CSV = "csv"
    XLSX = "xlsx"
    PARQUET = "parquet"
    JSONL = "jsonl"

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
    ".csv": Format.CSV,
    ".xlsx": Format.XLSX,
    ".parquet": Format.PARQUET,
    ".jsonl": Format.JSONL,
}
ROWS = frozenset({Format.CSV, Format.XLSX, Format.PARQUET, Format.JSONL})
"""The formats that hold all rows that differ, and nothing else."""


def depth_of(forms: Collection[Format]) -> Depth:
    """How much detail reports of these formats need."""
    if Format.HTML in forms:
        return Depth(GROUPS, DRILLED)
    return Depth(GROUPS) if Format.JSON in forms else Depth()
