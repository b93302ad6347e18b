"""The state of a folder: what is in it, and whether a place in it has changed since."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.workspace.names import MAX_PATH, HiddenNames, is_staging, is_utf8

MAX_ENTRIES = 200_000
_MAX_DEPTH = 100
_PIECE = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe that has taken the place of a file must not hold up whoever opens it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class PathState(NamedTuple):
    """A file or folder as `lstat` shows it. The time of status change shows every later change."""

    mode: int
    size: int
    mtime: int
    ctime: int
    inode: int
    device: int
    user: int
    group: int

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.mode)

    def is_same(self, other: PathState | None) -> bool:
        """Whether nothing has changed; of folders, whether it is the same folder."""
        if other is None or not self.is_folder:
            return self == other
        return (self.mode, self.inode, self.device) == (other.mode, other.inode, other.device)


@dataclass(slots=True)
class Manifest:
    """The entries of a folder, by paths relative to it.

    Args:
        entries: The files and folders that are shown.
        unshown: Paths of what is not shown: hidden names, links, special files, files that their
            owner may not read, other file systems.
    """

    entries: dict[bytes, PathState] = field(default_factory=dict[bytes, PathState])
    unshown: set[bytes] = field(default_factory=set[bytes])

    def owners(self) -> set[tuple[int, int]]:
        """The users and groups of all that is shown."""
        return {(entry.user, entry.group) for entry in self.entries.values()}

    def size(self) -> int:
        """Bytes of all files that are shown, each rounded up to a page of memory."""
        files = (each for each in self.entries.values() if not each.is_folder)
        return sum(-each.size // 4096 * -4096 for each in files)


def entry_of(status: os.stat_result) -> PathState:
    """The parts of a file's status that are compared."""
    return PathState(
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
        status.st_dev,
        status.st_uid,
        status.st_gid,
    )


def scan(root: int, hidden: HiddenNames) -> Manifest:
    """List the folder that `root` is a descriptor of; no file is opened.

    Raises:
        ConfigurationError: It holds too much.
        OSError: It cannot be read.
    """
    manifest = Manifest()
    _scan_folder(root, b"", 0, _Reader(manifest, hidden, os.fstat(root).st_dev))
    return manifest


class _Reader(NamedTuple):
    manifest: Manifest
    hidden: HiddenNames
    device: int

    def is_shown(self, path: bytes, entry: PathState) -> bool:
        if not (stat.S_ISREG(entry.mode) or entry.is_folder) or entry.device != self.device:
            return False
        needed = stat.S_IRUSR | stat.S_IXUSR if entry.is_folder else stat.S_IRUSR
        if entry.mode & needed != needed or not is_utf8(path) or len(path) > MAX_PATH:
            return False
        return not self.hidden.hide_last(path) and (b"/" in path or not is_staging(path))


def _scan_folder(folder: int, prefix: bytes, depth: int, reader: _Reader) -> None:
    manifest = reader.manifest
    for name in sorted(map(os.fsencode, os.listdir(folder))):
        path = prefix + name
        try:
            entry = entry_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except FileNotFoundError:  # removed meanwhile
            continue
        if len(manifest.entries) + len(manifest.unshown) >= MAX_ENTRIES:
            raise ConfigurationError(
                f"the workspace holds more than {MAX_ENTRIES:,} files and folders; use a folder"
                " within it, or hide a part of it with Workspace(folder, hidden=...)"
            )
        if not reader.is_shown(path, entry):
            manifest.unshown.add(path)
            continue
        if not entry.is_folder:
            manifest.entries[path] = entry
            continue
        if depth >= _MAX_DEPTH:
            raise ConfigurationError(
                f"the workspace has folders nested deeper than {_MAX_DEPTH} levels"
            )
        try:
            inner = os.open(name, _FOLDER, dir_fd=folder)
        except OSError:  # it may not be read, or is not a folder any more
            manifest.unshown.add(path)
            continue
        try:
            manifest.entries[path] = entry
            _scan_folder(inner, path + b"/", depth + 1, reader)
        finally:
            os.close(inner)


@contextmanager
def parent_of(root: int, path: bytes) -> Generator[tuple[int, bytes]]:
    """A descriptor of the folder that holds the path, and the last name; no link is followed.

    Raises:
        OSError: A folder on the way does not exist, or is not a folder.
    """
    *folders, name = path.split(b"/")
    descriptor = os.dup(root)
    try:
        for folder in folders:
            inner = os.open(folder, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor, name
    finally:
        os.close(descriptor)


def state(root: int, path: bytes) -> PathState | None:
    """The entry at the path now; None if there is nothing, or if a parent is not a folder."""
    with suppress(FileNotFoundError, NotADirectoryError, OSError), parent_of(root, path) as place:
        return entry_of(os.stat(place[1], dir_fd=place[0], follow_symlinks=False))
    return None


def read_pieces(root: int, path: bytes, expected: PathState) -> Generator[bytes]:
    """The content of a file, if it is still as expected; checked again after the last piece.

    Raises:
        OSError: It is not as expected, or cannot be read.
    """
    with parent_of(root, path) as (folder, name):
        descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        _check(descriptor, expected)
        left = expected.size
        while left > 0 and (piece := os.read(descriptor, min(left, _PIECE))):
            left -= len(piece)
            yield piece
        _check(descriptor, expected)
    finally:
        os.close(descriptor)


def digest_of(root: int, path: bytes, expected: PathState, check: Callable[[], None]) -> str:
    """SHA-256 of a file's content; "" if it is not as expected any more, or cannot be read.

    Args:
        root: A descriptor of the folder.
        path: Of the file.
        expected: What it was.
        check: Called for each piece; what it raises ends the work.
    """
    total = hashlib.sha256()

    def take(piece: bytes) -> None:
        check()
        total.update(piece)

    return total.hexdigest() if _consume(root, path, expected, take) else ""


def content_of(root: int, path: bytes, expected: PathState) -> bytes | None:
    """A file's content; None if it is not as expected any more, or cannot be read."""
    pieces: list[bytes] = []
    return b"".join(pieces) if _consume(root, path, expected, pieces.append) else None


def _consume(root: int, path: bytes, expected: PathState, take: Callable[[bytes], None]) -> bool:
    try:
        for piece in read_pieces(root, path, expected):
            take(piece)
    except OSError:
        return False
    return True


def _check(descriptor: int, expected: PathState) -> None:
    if not expected.is_same(entry_of(os.fstat(descriptor))):
        raise OSError("the file has changed meanwhile")
