"""The files of the branches of a session: each has its own, and one at a time sees them.

The branches take turns. The files of the one whose turn it is are in the working folder; those of
the others are in a folder that no path of the code leads to.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress

from .folders import remove_folder

_MOST_LEVELS = 100
_PIECE = 1 << 20
_PROCESSES = ("anon_inode:[pidfd]", "pidfd:")
_DEVICE_FIELD, _INODE_FIELD = 3, 4
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class BranchFolders:
    """Moves the files of branches in and out of the working folder.

    Args:
        path: Of the working folder, for those who go there.
        shown: A descriptor of it.
        hidden: A descriptor of the folder for the files of the others, in the same mount.
        proc: A descriptor of a /proc with the processes; -1 where there is none.
        sockets: How many each of the processes has of its own.
    """

    def __init__(
        self, path: str, shown: int, hidden: int, proc: int = -1, sockets: int = 1
    ) -> None:
        self._path = path
        self._shown, self._hidden = shown, hidden
        self._proc = proc
        self._sockets = sockets
        self._turn = "0"

    def close(self) -> None:
        """Close the descriptors, in a process that will run code."""
        for descriptor in (self._shown, self._hidden, self._proc):
            if descriptor >= 0:
                os.close(descriptor)

    def enter(self, branch: str, living: Collection[str]) -> None:
        """Let the working folder hold the files of a branch, and remove those of closed ones.

        Raises:
            OSError: A file cannot be moved.
        """
        if branch != self._turn:
            os.mkdir(self._turn, 0o700, dir_fd=self._hidden)
            with _Opened(self._turn, self._hidden) as place:
                _move_all(self._shown, place)
            with _Opened(branch, self._hidden) as place:
                _move_all(place, self._shown)
            os.rmdir(branch, dir_fd=self._hidden)
            self._turn = branch
        self._remove_all_but(living)

    def copy(self, pids: Iterable[int], branches: Collection[str], living: Collection[str]) -> None:
        """Give each new branch a copy of the files that are in the working folder.

        Args:
            pids: The processes that hold the variables of the new branches; they are stopped. None
                may have a file open: it would be the same file in all.
            branches: The new ones.
            living: The branches that there are besides.

        Raises:
            OSError: What cannot be copied, or what two branches would share.
        """
        self._remove_all_but(living)
        for pid in pids if self._proc >= 0 else ():
            self._check(pid)
        try:
            for branch in branches:
                self._copy_to(branch)
        except OSError:
            self._remove_all_but(living)
            raise

    def _copy_to(self, name: str) -> None:
        os.mkdir(name, 0o700, dir_fd=self._hidden)
        try:
            with _Opened(name, self._hidden) as target:
                folders = ["."]
                for _ in range(_MOST_LEVELS):
                    folders = [
                        inner
                        for folder in folders
                        for inner in _copy_entries(folder, self._shown, target)
                    ]
        except OSError as error:
            place = f" {os.fsdecode(error.filename)!r}" if error.filename else ""
            raise OSError(f"the files cannot be copied:{place} {error.strerror}") from None
        if folders:
            raise OSError(f"folders are nested in more than {_MOST_LEVELS} levels")

    def _remove_all_but(self, living: Collection[str]) -> None:
        gone = [name for name in os.listdir(self._hidden) if name not in living]
        if not gone:
            return
        os.fchdir(self._hidden)
        try:
            for name in gone:
                with suppress(OSError):
                    remove_folder(name)
        finally:
            os.chdir(self._path)  # by its path: from the descriptor's mount, `..` leads further

    def _check(self, pid: int) -> None:
        """Refuse what forks of a process share besides memory.

        Raises:
            OSError: It has changed its working directory, or has a file open.
        """
        folder = os.fstat(self._shown)
        place = os.stat(f"{pid}/cwd", dir_fd=self._proc)
        if (place.st_dev, place.st_ino) != (folder.st_dev, folder.st_ino):
            raise OSError("the code has changed its working directory: go back with os.chdir")
        sockets = 0
        with _Opened(f"{pid}/fd", self._proc) as descriptors:
            for name in os.listdir(descriptors):
                mode = os.stat(name, dir_fd=descriptors).st_mode
                what = os.readlink(name, dir_fd=descriptors)
                sockets += stat.S_ISSOCK(mode)
                is_own = stat.S_ISCHR(mode) or what.startswith(_PROCESSES)
                if not is_own and not (stat.S_ISSOCK(mode) and sockets <= self._sockets):
                    raise OSError(f"the code has {what[:200]!r} open: close it first")
        device = f"{os.major(folder.st_dev):02x}:{os.minor(folder.st_dev):02x}"
        opened = os.open(f"{pid}/maps", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        with open(opened, encoding="utf-8", errors="replace") as maps:
            for line in maps:
                fields = line.split(maxsplit=5)
                is_own = len(fields) > _INODE_FIELD and fields[_DEVICE_FIELD] == device
                if is_own and fields[_INODE_FIELD] != "0" and self._is_file(fields[5:]):
                    raise OSError(f"the code has mapped {fields[5].strip()[:200]!r}: close it")

    def _is_file(self, path: list[str]) -> bool:
        """Whether a mapping is of a file of the code: without locks, others are on its device."""
        return bool(path) and path[0].startswith(f"{self._path}/")


class _Opened:
    """A folder, open for a while."""

    def __init__(self, name: str, place: int) -> None:
        self._descriptor = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=place)

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def _move_all(source: int, target: int) -> None:
    for name in os.listdir(source):
        mode = os.stat(name, dir_fd=source, follow_symlinks=False).st_mode
        # Only who may write to a folder may move it.
        is_closed = stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU
        if is_closed:
            os.chmod(name, 0o700, dir_fd=source)
        os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)
        if is_closed:
            os.chmod(name, stat.S_IMODE(mode), dir_fd=target)


def _copy_entries(folder: str, source: int, target: int) -> list[str]:
    """Copy what is in a folder of the source, which the target has already; its folders."""
    inner: list[str] = []
    with _Opened(folder, source) as opened:
        for name in os.listdir(opened):
            path = f"{folder}/{name}"
            status = os.stat(path, dir_fd=source, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                os.mkdir(path, 0o700, dir_fd=target)
                inner.append(path)
            elif stat.S_ISLNK(status.st_mode):
                os.symlink(os.readlink(path, dir_fd=source), path, dir_fd=target)
            elif stat.S_ISREG(status.st_mode):
                _copy_file(path, source, target, status)
            else:
                raise OSError(errno.EINVAL, "is not a plain file", path)
    return inner


def _copy_file(path: str, source: int, target: int, status: os.stat_result) -> None:
    """Copy a file with its holes, its mode and its times."""
    reader = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=source)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        writer = os.open(path, flags, stat.S_IMODE(status.st_mode), dir_fd=target)
        try:
            place = 0
            while (piece := _data_from(reader, place)) is not None:
                start, end = piece
                for place in range(start, end, _PIECE):
                    data = os.pread(reader, min(_PIECE, end - place), place)
                    while data:
                        written = os.pwrite(writer, data, place)
                        data, place = data[written:], place + written  # noqa: PLW2901
                place = end
            os.ftruncate(writer, status.st_size)
            os.utime(writer, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(writer)
    finally:
        os.close(reader)


def _data_from(reader: int, place: int) -> tuple[int, int] | None:
    """Where the next data of a file begins and ends; None if there is only a hole."""
    try:
        start = os.lseek(reader, place, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return None
    return start, os.lseek(reader, start, os.SEEK_HOLE)
