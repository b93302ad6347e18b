"""What an uploaded file may be called, hold and take, and the errors that say so."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath
from typing import ClassVar

from skillian.errors import ErrorType, ToolError

MAX_NAME = 200
MAX_COLUMNS = 1000
MAX_ROWS = 200_000_000
MAX_CELLS = 10_000_000
"""The maximum number of cells that a worksheet spans; it is read as a whole."""
MAX_UNPACKED = 2 * 1024**3
"""The maximum number of bytes of a workbook or of a JSON file once it is unpacked."""
MEMORY_BYTES = 4 * 1024**3
"""The maximum amount of memory of the process that reads a file."""
READ_SECONDS = 900
"""How long reading a file may take."""

KINDS = {
    "CSV": (".csv", ".tsv"),
    "Excel": (".xlsx", ".xlsm", ".xlsb", ".xls"),
    "Parquet": (".parquet",),
    "JSON lines": (".jsonl", ".ndjson", ".json"),
}
"""The suffixes of each kind of file."""
SUFFIXES = tuple(suffix for suffixes in KINDS.values() for suffix in suffixes)


class UploadError(ToolError):
    """A file cannot be stored or read; the message says why, and what to do."""

    type: ClassVar[ErrorType] = "validation_error"


class UploadNotFound(UploadError):
    """The owner has no such file."""

    type: ClassVar[ErrorType] = "not_found"


class UploadTooLarge(UploadError):
    """The file has more bytes than a file may have."""


class UploadIncomplete(UploadError):
    """Fewer bytes arrived than were announced."""


class UploadQuota(UploadError):
    """The owner has stored, or is sending, as much as one may."""


class DiskFull(UploadError):
    """The disk has no room for the file."""

    type: ClassVar[ErrorType] = "runtime_error"


def suffix_of(name: str) -> str:
    """The suffix that tells the kind of a file.

    Raises:
        UploadError: The name is not that of a file of a supported kind.
    """
    if len(name) > MAX_NAME or not name.strip():
        raise UploadError(f"a file name has 1 to {MAX_NAME} characters; rename the file")
    is_plain = name.isprintable() and not any(unicodedata.category(c) == "Cf" for c in name)
    if "/" in name or "\\" in name or name.startswith(".") or not is_plain:
        raise UploadError(
            "a file name must not contain slashes, backslashes or invisible characters, or start"
            " with a dot; rename the file"
        )
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise UploadError(
            f"files of the kind {suffix or 'without a suffix'} are not read; upload one of"
            f" {', '.join(SUFFIXES)}, unpacked"
        )
    return suffix
