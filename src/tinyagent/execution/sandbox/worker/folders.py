"""Working folders on the host: making them, and removing what code has left in them."""

from __future__ import annotations

import itertools
import os
import tempfile
from contextlib import suppress

MAX_BRANCHES = 32
"""Of one session, the one that it began as included."""
BRANCHES = "-branches"
"""What the name of a working folder is followed by in that of the one for branches' files."""
_MOST_LEVELS = 1_000_000


def enter_folder(base: str, number: int) -> str:
    """Make the working folder of a session, and go there; gives its path."""
    folder = os.path.join(base, str(number))
    os.mkdir(folder, 0o700)
    make_home(folder)
    os.chdir(folder)
    return folder


def make_home(folder: str) -> None:
    """Make this the folder in which programs look for a place to write."""
    os.environ.update({"HOME": folder, "TMPDIR": folder, "MPLCONFIGDIR": f"{folder}/.config"})
    tempfile.tempdir = folder


def remove_folder(path: str) -> None:
    """Remove the folder with its content, however deeply nested.

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
