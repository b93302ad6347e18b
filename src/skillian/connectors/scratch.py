"""A temporary folder that is removed after the end of its process, also if it was killed."""

import atexit
import fcntl
import os
import tempfile
from pathlib import Path
from shutil import rmtree
from stat import S_ISDIR
from threading import Lock
from weakref import finalize

from skillian.errors import UnavailableError

_PREFIX, _HELD = "skillian-", "held"
_starting = Lock()
_owned: dict[tuple[str, int], Path] = {}


def scratch() -> Path:
    """The folder of this process for temporary files and folders.

    It is locked as long as the process lives. The next process that needs one removes it, unless
    this one has. A fork has its own, and if something else removed it, it is made again.

    Raises:
        UnavailableError: It cannot be made.
    """
    with _starting:
        try:
            parent = tempfile.gettempdir()
        except FileNotFoundError:
            raise UnavailableError(
                "there is no folder for temporary files; name one in the variable TMPDIR"
            ) from None
        place = parent, os.getpid()
        if place not in _owned or not _owned[place].is_dir():
            _owned[place] = _made(parent)
        return _owned[place]


def folder_of(owner: object) -> Path:
    """A new folder in `scratch`, which is removed with an object, but not with a fork's copy.

    Raises:
        UnavailableError: It cannot be made.
    """
    folder = Path(tempfile.mkdtemp(dir=scratch()))
    finalize(owner, _remove, folder, os.getpid())
    return folder


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:
        rmtree(folder, ignore_errors=True)


def _made(parent: str) -> Path:
    for folder in Path(parent).glob(f"{_PREFIX}*"):
        if _is_dead(folder):
            rmtree(folder, ignore_errors=True)
    try:
        own = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    except OSError as error:
        raise UnavailableError(
            f"temporary files cannot be written to {parent}: {error.strerror}; name another folder"
            " in the variable TMPDIR"
        ) from None
    # It gets its name only when it is locked; its descriptor is closed by the end of the process.
    new = own / "new"
    fcntl.flock(os.open(new, os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX)
    new.rename(own / _HELD)
    atexit.register(_remove, own, os.getpid())
    return own


def _is_dead(folder: Path) -> bool:
    """Whether it is a folder of this user whose process has ended."""
    try:
        status = folder.lstat()
        if not S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return False
        held = os.open(folder / _HELD, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:  # not one of these
        return False
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(held)
    return True
