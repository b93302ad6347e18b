"""What the code has left in its view of a folder, as its session reports it."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tinyagent.execution.sandbox.worker.codec.wire import WireError

_PIECE = 1 << 20
MAX_NAMES = 32 << 20
"""Bytes of the names of all entries together."""
FILE, FOLDER, OPAQUE, GONE, OTHER = "file", "folder", "opaque", "gone", "other"


class Found(NamedTuple):
    """An entry that differs, or may differ, from the folder.

    Args:
        kind: A file; a folder; a folder that covers what the folder holds there (`OPAQUE`);
            nothing, although the folder has something there (`GONE`); or what is neither a file nor
            a folder (`OTHER`).
        executable: Whether it is an executable file.
        start: Where its content begins in the spool.
        size: Of its content.
        digest: SHA-256 of its content.
    """

    kind: str
    executable: bool = False
    start: int = 0
    size: int = 0
    digest: str = ""


class Spool:
    """Contents of files, in a temporary file that has no name."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="tinyagent-")  # noqa: SIM115 - closed by `close`
        self.end = 0

    def append(self, data: bytes) -> None:
        """Add to the end."""
        self._file.seek(self.end)
        self._file.write(data)
        self.end += len(data)

    def read(self, start: int, size: int) -> bytes:
        """A part of it."""
        self._file.seek(start)
        return self._file.read(size)

    def pieces(self, start: int, size: int) -> Iterator[bytes]:
        """A part of it, piece by piece."""
        for place in range(start, start + size, _PIECE):
            yield self.read(place, min(_PIECE, start + size - place))

    def close(self) -> None:
        """Discard it."""
        self._file.close()


class Report:
    """Collects what a session sends about its view; trusts none of it.

    Args:
        spool: Takes the contents of files.
        earlier: What the session reported last: a file with the same content is not sent again.
        max_bytes: Of all new contents.
        max_entries: Of all entries.
    """

    def __init__(
        self, spool: Spool, earlier: Mapping[bytes, Found], max_bytes: int, max_entries: int
    ) -> None:
        self._spool = spool
        self._earlier = earlier
        self._room = max_bytes
        self._most = max_entries
        self._room_of_names = MAX_NAMES
        self._open: bytes | None = None
        self._digest = hashlib.sha256()
        self.found: dict[bytes, Found] = {}

    def take(self, body: Mapping[str, object], blob: bytes) -> None:
        """Take in one frame: an entry, or the next piece of the last file.

        Raises:
            WireError: It cannot be part of a report.
        """
        size = body["name"]
        if not isinstance(size, int) or size > len(blob):
            raise WireError("ENTRY: the name is longer than the data")
        path, piece = blob[:size], blob[size:]
        if not path:
            self._continue(piece, is_last=body["last"] is True)
            return
        kind = str(body["kind"])
        if self._open is not None or path in self.found:
            raise WireError("ENTRY: an entry comes twice, or in the middle of a file")
        self._room_of_names -= size
        if len(self.found) >= self._most or self._room_of_names < 0:
            raise WireError(
                f"more than {self._most:,} files and folders differ, or their names have more than"
                f" {MAX_NAMES:,} bytes"
            )
        if piece and kind != FILE:
            raise WireError("ENTRY: only a file has content")
        if body["known"] is True:
            self._take_known(path, executable=body["executable"] is True)
            return
        self.found[path] = Found(kind, body["executable"] is True, self._spool.end)
        if kind == FILE:
            self._open, self._digest = path, hashlib.sha256()
            self._continue(piece, is_last=body["last"] is True)

    def end(self) -> None:
        """Take note that this was all.

        Raises:
            WireError: A file is incomplete.
        """
        if self._open is not None:
            raise WireError("SCANNED: in the middle of a file")

    def _take_known(self, path: bytes, *, executable: bool) -> None:
        known = self._earlier.get(path)
        if known is None or known.kind != FILE:
            raise WireError("ENTRY: no content of this file was sent before")
        self.found[path] = known._replace(executable=executable)

    def _continue(self, piece: bytes, *, is_last: bool) -> None:
        if self._open is None:
            raise WireError("ENTRY: content without a file")
        self._room -= len(piece)
        if self._room < 0:
            raise WireError("ENTRY: more content than the working folder can hold")
        self._spool.append(piece)
        self._digest.update(piece)
        if is_last:
            found = self.found[self._open]
            size = self._spool.end - found.start
            whole = found._replace(size=size, digest=self._digest.hexdigest())
            self.found[self._open] = whole
            self._open = None
