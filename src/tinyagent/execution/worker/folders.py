"""Removing what code may have left in a folder of the host."""

from __future__ import annotations

import itertools
import os
from contextlib import suppress

_MOST_LEVELS = 1_000_000


def remove_folder(path: str) -> None:
    """Remove the folder with all that is in it, however deep that is nested.

    `shutil.rmtree` calls itself for each level, and code may have made more levels than Python can
    go down: here, what lies in a sub-folder is moved up, level by level.
    """
    names = (f"{path}/{os.urandom(8).hex()}" for _ in itertools.count())
    with suppress(OSError):
        for _ in range(_MOST_LEVELS):
            folders = _unlink_files(path)
            if not folders:
                break
            for folder in folders:
                for deeper in _unlink_files(folder):
                    os.rename(deeper, next(names))
                os.rmdir(folder)
        os.rmdir(path)


def _unlink_files(folder: str) -> list[str]:
    """Remove the files in it; gives the folders in it."""
    entries = list(os.scandir(folder))
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.path)
    return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
