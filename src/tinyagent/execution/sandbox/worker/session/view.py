"""The code's view of a workspace: how it is filled, and how it is reported to the host."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..codec.wire import Kind
from ..kernel.adapt import rename_by_copy
from ..kernel.overlay import WORKSPACE

_PIECE = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OPAQUE = "user.overlay.opaque"

Send = Callable[[Kind, dict[str, Any], bytes], None]


class Item(NamedTuple):
    """The file or folder at a path.

    Args:
        path: Relative to the view.
        kind: `"file"`, `"folder"`, `"opaque"` (a folder that covers the host's), `"gone"` (nothing
            is there any more), or `"other"`.
        executable: Whether it is an executable file.
    """

    path: bytes
    kind: str
    executable: bool = False


class View:
    """Reports what the code has changed.

    Args:
        top: A descriptor of the folder to report: the upper layer of an overlay, or a copy.
        is_layer: Whether it holds only what differs from the host's folder.
    """

    def __init__(self, top: int, *, is_layer: bool) -> None:
        self.top = top
        self._is_layer = is_layer
        self._first: dict[bytes, str] = {}
        """The copy as it was: digests of files; "" for folders."""
        self._sent: dict[bytes, str] = {}
        """The digests of the contents that the host has."""

    def seed(self, body: dict[str, Any], blob: bytes) -> None:
        """Put a folder or a piece of a file into the copy, or end that with `kind` `"end"`."""
        path, data = blob[: body["name"]], blob[body["name"] :]
        if body["kind"] == "folder":
            os.mkdir(path, 0o700, dir_fd=self.top)
        elif body["kind"] == "mode":
            os.chmod(path, body["mode"], dir_fd=self.top)
        elif body["kind"] == "end":
            self._first = {item.path: self._digest(item) for item in self._walk(b"")}
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(path, flags, 0o600, dir_fd=self.top), "wb") as file:
                file.write(data)

    def report(self, send: Send) -> None:
        """Send an entry for all that differs from the host's folder, and then that this was all."""
        left = set(self._first)
        for item in self._walk(b""):
            left.discard(item.path)
            if item.kind == "file":
                self._report_file(item, send)
            elif item.kind != "folder" or self._first.get(item.path) != "":
                _send_entry(send, item)
        for path in left:
            _send_entry(send, Item(path, "gone"))
        send(Kind.SCANNED, {}, b"")

    def close(self) -> None:
        """In a child that will run code: close the folder."""
        os.close(self.top)

    def _report_file(self, item: Item, send: Send) -> None:
        digest = self._digest(item)
        if not digest:
            _send_entry(send, item._replace(kind="other"))
        elif self._first.get(item.path) == digest:
            return
        elif self._sent.get(item.path) == digest:
            _send_entry(send, item, known=True)
        else:
            self._sent[item.path] = self._send_file(item, send)

    def _send_file(self, item: Item, send: Send) -> str:
        """Send the content in pieces; returns its digest."""
        total = hashlib.sha256()
        waiting = b""
        is_first = True
        for piece in self._pieces(item.path):
            if not is_first or waiting:
                _send_piece(send, item if is_first else None, waiting, is_last=False)
                is_first = False
            total.update(piece)
            waiting = piece
        _send_piece(send, item if is_first else None, waiting, is_last=True)
        return total.hexdigest()

    def _digest(self, item: Item) -> str:
        """SHA-256 of a file; "" if it cannot be read, and for what is not a file."""
        if item.kind != "file":
            return ""
        total = hashlib.sha256()
        try:
            for piece in self._pieces(item.path):
                total.update(piece)
        except OSError:
            return ""
        return total.hexdigest()

    def _pieces(self, path: bytes) -> Iterator[bytes]:
        descriptor = os.open(path, _FILE, dir_fd=self.top)
        try:
            while piece := os.read(descriptor, _PIECE):
                yield piece
        finally:
            os.close(descriptor)

    def _walk(self, start: bytes) -> Iterator[Item]:
        """Everything below the folder, each folder before what is in it."""
        waiting = [start]
        while waiting:
            folder = waiting.pop()
            descriptor = os.open(folder or b".", _FOLDER, dir_fd=self.top)
            try:
                items = [
                    self._item(descriptor, folder, os.fsencode(name))
                    for name in sorted(os.listdir(descriptor))
                ]
            finally:
                os.close(descriptor)
            for item in items:
                if item.kind in {"folder", "opaque"}:
                    waiting.append(item.path)
                yield item

    def _item(self, descriptor: int, folder: bytes, name: bytes) -> Item:
        path = folder + b"/" + name if folder else name
        try:
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        except OSError:  # removed meanwhile: at LOCAL, a process of an earlier step may go on
            return Item(path, "other")
        if stat.S_ISREG(status.st_mode):
            return Item(path, "file", bool(status.st_mode & 0o111))
        if stat.S_ISDIR(status.st_mode):
            return Item(path, self._kind_of_folder(path))
        if self._is_layer and stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            return Item(path, "gone")
        return Item(path, "other")

    def _kind_of_folder(self, path: bytes) -> str:
        try:
            descriptor = os.open(path, _FOLDER, dir_fd=self.top)
        except OSError:  # the code has made it unreadable, or nested it too deep
            return "other"
        try:
            is_opaque = self._is_layer and os.getxattr(descriptor, _OPAQUE) == b"y"
        except OSError:
            is_opaque = False
        finally:
            os.close(descriptor)
        return "opaque" if is_opaque else "folder"


def enter_view(folder: str, upper: int | None) -> View:
    """Go to the overlay within the session's folder, or make an empty copy there.

    Args:
        folder: The session's.
        upper: A descriptor of the overlay's upper layer; None for a copy.
    """
    place = os.path.join(folder, WORKSPACE)
    if upper is None:
        os.mkdir(place, 0o700)
    os.chdir(place)
    if upper is None:
        return View(os.open(".", _FOLDER), is_layer=False)
    rename_by_copy()
    return View(upper, is_layer=True)


def _send_entry(send: Send, item: Item, *, known: bool = False) -> None:
    body = {"name": len(item.path), "kind": item.kind, "executable": item.executable}
    send(Kind.ENTRY, {**body, "known": known, "last": True}, item.path)


def _send_piece(send: Send, item: Item | None, piece: bytes, *, is_last: bool) -> None:
    path = b"" if item is None else item.path
    body = {"name": len(path), "kind": "file", "known": False, "last": is_last}
    executable = item is not None and item.executable
    send(Kind.ENTRY, {**body, "executable": executable}, path + piece)
