"""Changes to the standard library for system calls that are refused here."""

from __future__ import annotations

import errno
import io
import os
import shutil
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, Self

from . import linux

_POOLS = frozenset({"concurrent.futures.thread", "multiprocessing.pool"})


def copy_without_modes() -> None:
    """Make `shutil.copy` and similar functions work where modes and times cannot be set."""
    shutil.copymode = _tolerant(shutil.copymode)
    shutil.copystat = _tolerant(shutil.copystat)


def _tolerant(copy: Callable[..., None]) -> Callable[..., None]:
    def tolerant(*args: Any, **kwargs: Any) -> None:
        with suppress(PermissionError):
            copy(*args, **kwargs)

    return tolerant


def rename_by_copy() -> None:
    """Make `os.rename` and `os.replace` move folders of a lower layer, which the kernel refuses."""
    os.rename = _copying(os.rename)
    os.replace = _copying(os.replace)


def _copying(rename: Callable[..., None]) -> Callable[..., None]:
    def move(src: Any, dst: Any, **options: Any) -> None:
        try:
            rename(src, dst, **options)
        except OSError as error:
            if error.errno != errno.EXDEV or options or not os.path.isdir(src):
                raise
            if os.path.lexists(dst):
                os.rmdir(dst)  # as `rename` does, it replaces only an empty folder
            shutil.copytree(src, dst, symlinks=True)
            shutil.rmtree(src)

    return move


def name_pools() -> None:
    """Give the threads of Python's pools a name, by which `forks.thread_pool` recognizes them."""
    bootstrap = threading.Thread._bootstrap  # type: ignore[attr-defined]  # noqa: SLF001

    def named(thread: threading.Thread) -> None:
        if getattr(thread._target, "__module__", "") in _POOLS:  # type: ignore[attr-defined]  # noqa: SLF001
            linux.set_name("thread pool")
        bootstrap(thread)

    threading.Thread._bootstrap = named  # type: ignore[attr-defined]  # noqa: SLF001


class PipeEnd:
    """One end of a pipe with the methods of a socket that asyncio's event loop uses.

    Sockets are refused: the kernel keeps what is written to one for as long as nobody reads it,
    200 KB each, and counts it to no process. Of pipes it keeps 64 MB in all.
    """

    def __init__(self, descriptor: int, mode: str) -> None:
        self._file = io.FileIO(descriptor, mode)

    def fileno(self) -> int:
        """The descriptor; -1 if it is closed."""
        return -1 if self._file.closed else self._file.fileno()

    def setblocking(self, flag: bool) -> None:  # noqa: FBT001 - as a socket has it
        """Whether reading and writing wait."""
        os.set_blocking(self.fileno(), flag)

    def recv(self, size: int) -> bytes:
        """Read what is there; only at the first end of a pair."""
        return os.read(self.fileno(), size) if self._file.readable() else _refuse()

    def send(self, data: bytes) -> int:
        """Write; only at the second end of a pair."""
        return os.write(self.fileno(), data) if self._file.writable() else _refuse()

    def sendall(self, data: bytes) -> None:
        """Write all of it."""
        with memoryview(data) as view:
            written = 0
            while written < len(view):
                written += self.send(view[written:])  # type: ignore[arg-type]

    def close(self) -> None:
        """Close it."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def pipes_for_sockets() -> None:
    """Make `socket.socketpair` return the ends of a pipe, with which asyncio wakes itself."""

    def socketpair(*_args: Any, **_options: Any) -> tuple[PipeEnd, PipeEnd]:
        read, write = os.pipe()
        return PipeEnd(read, "r"), PipeEnd(write, "w")

    socket.socketpair = socketpair  # type: ignore[assignment]


def _refuse() -> NoReturn:
    raise PermissionError(
        errno.EPERM,
        "sockets are refused here; socketpair() is a pipe, from the second to the first",
    )
