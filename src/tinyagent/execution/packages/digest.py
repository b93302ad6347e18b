"""Whether an unpacked set is still what was checked."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_CHUNK = 1 << 20


def tree_digest(folder: Path) -> str:
    """SHA-256 of the names and contents of all files."""
    total = hashlib.sha256()
    for path, status in _entries(folder):
        total.update(f"{path}\0{status.st_size}\0{stat.S_IFMT(status.st_mode)}\n".encode())
        if stat.S_ISREG(status.st_mode):
            with (folder / path).open("rb") as file:
                while piece := file.read(_CHUNK):
                    total.update(piece)
    return total.hexdigest()


def tree_state(folder: Path) -> str:
    """SHA-256 of what the file system shows of all files; no file changes without a change of it.

    It is also another one where the folder was copied to.
    """
    total = hashlib.sha256()
    for path, status in _entries(folder):
        shown = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        total.update(f"{path}\0{shown}\0{status.st_ino}\0{status.st_dev}\n".encode())
    return total.hexdigest()


def _entries(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """All that is not a folder, each time in the same order."""
    for place, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(f"{place}/{name}")]  # noqa: PTH114
        folders.sort()
        for name in sorted(names + links):
            path = f"{place}/{name}"
            yield os.path.relpath(path, folder), os.lstat(path)
