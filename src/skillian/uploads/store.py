"""UploadStore: the files that each key has uploaded, in a folder of this server.

Each file has a folder of its own, `OWNER/ID/`, with its table as Parquet and a description; no part
of a path comes from a client.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import disk_usage, rmtree
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from skillian.connectors.files.options import check_taken, dict_of, read_options
from skillian.fair_slots import FairSlots
from skillian.uploads import folders
from skillian.uploads.folders import ABOUT, TABLE, Upload, held, uploads
from skillian.uploads.limits import (
    DiskFull,
    UploadError,
    UploadIncomplete,
    UploadNotFound,
    UploadQuota,
    UploadTooLarge,
    suffix_of,
)
from skillian.uploads.reading import read_file

MAX_FILES = 50
"""The maximum number of files of an owner."""
MAX_TOTAL = 5
"""The maximum size of an owner's files together, in files of the largest size."""
AT_ONCE = 4
"""The maximum number of files that an owner sends at the same time."""
RESERVE_BYTES = 256 * 1024 * 1024
"""What stays free on the disk."""

_READ_AT_ONCE, _READ_OF_OWNER = 2, 1
_BUFFER = 4 * 1024 * 1024
_MB = 1_000_000
_ID = re.compile(r"[0-9a-f]{32}")
_ANYBODY = "local"


class UploadStore:
    """Stores files, and finds them for their owners.

    Args:
        folder: Where they are; it is created with the first file.
        max_bytes: The maximum size of a file.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder.absolute()
        self.max_bytes = max_bytes
        self._sending: Counter[str] = Counter()
        self._reading = FairSlots(_READ_AT_ONCE, _READ_OF_OWNER)
        self._storing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def receive(
        self,
        owner: str,
        name: str,
        chunks: AsyncIterator[bytes],
        announced: int | None,
        options: str = "",
        *,
        replaces: str = "",
    ) -> Upload:
        """Store a file as it arrives, and read it; memory stays flat.

        Args:
            owner: The digest of a key; empty if there are no keys.
            name: The name of the file.
            chunks: Its content.
            announced: Its size as the client states it; None if unknown.
            options: How it is written, such as `decimal=,&encoding=latin-1`.
            replaces: The id of a file of the owner whose place it takes.

        Raises:
            UploadError: It is refused, or cannot be read; nothing of it stays, and the file that it
                would have replaced is as before.
            UploadNotFound: There is no file to replace.
        """
        if replaces and not await self.has(owner, replaces):
            raise _unknown()
        suffix = suffix_of(name)
        _check_options(suffix, options)
        with self._one_more(owner):
            await asyncio.to_thread(self._check_room, owner, announced or 0, replaces)
            created = datetime.now(UTC)
            folder = self._owned(owner) / uuid4().hex
            with held(folder):
                try:
                    file = folder / f"upload{suffix}"
                    size = await self._write(file, chunks)
                    _check_complete(name, size, announced)
                    async with self._reading.taken(owner):
                        table = await read_file(file, folder / TABLE, name, options)
                    about = {"name": name, "bytes": size, "created": created.isoformat()}
                    about |= asdict(table)
                    return await self._store(owner, folder, about, replaces)
                except BaseException:
                    rmtree(folder, ignore_errors=True)
                    raise

    async def list(self, owner: str) -> Sequence[Upload]:
        """The files of an owner, the oldest first."""
        return await asyncio.to_thread(lambda: [*uploads(self._owned(owner))])

    async def get(self, owner: str, upload_id: str) -> Upload:
        """A file of an owner, which counts as a use of it.

        Raises:
            UploadNotFound: The owner has no such file.
        """

        def read() -> Upload | None:
            folder = self._owned(owner) / upload_id
            with suppress(OSError):
                os.utime(folder / ABOUT)
            return folders.read(folder)

        upload = await asyncio.to_thread(read) if _ID.fullmatch(upload_id) else None
        if upload is None:
            raise _unknown()
        return upload

    async def has(self, owner: str, upload_id: str) -> bool:
        """Whether the owner has this file; that does not count as a use of it."""
        about = self._owned(owner) / upload_id / ABOUT
        return bool(_ID.fullmatch(upload_id)) and await asyncio.to_thread(about.exists)

    async def delete(self, owner: str, upload_id: str) -> None:
        """Delete a file of an owner, also a damaged one; raises as `get` does."""
        if not await self.has(owner, upload_id):
            raise _unknown()
        await asyncio.to_thread(folders.delete, self._owned(owner) / upload_id)

    async def purge(self, unused: timedelta | None) -> int:
        """Delete what interrupted uploads have left, and files that were not used for this long.

        Returns:
            The number of files that were deleted.
        """
        return await asyncio.to_thread(self._purge, unused)

    async def _store(
        self, owner: str, folder: Path, about: Mapping[str, Any], replaces: str
    ) -> Upload:
        storing = self._storing.setdefault(owner, asyncio.Lock())
        async with storing:  # others may have been stored in the meantime
            await asyncio.to_thread(self._check_quota, owner, about["bytes"], replaces)
            upload = await asyncio.to_thread(folders.describe, folder, about)
            if upload is not None and replaces:
                target = self._owned(owner) / replaces
                upload = await asyncio.to_thread(folders.move_into, folder, target)
        if upload is None:
            raise DiskFull("the file was deleted while it was stored; upload it again")
        return upload

    @contextmanager
    def _one_more(self, owner: str) -> Generator[None]:
        if self._sending[owner] >= AT_ONCE:
            raise UploadQuota(f"{AT_ONCE} files are being uploaded; wait until one is complete")
        self._sending[owner] += 1
        try:
            yield
        finally:
            self._sending[owner] -= 1
            if not self._sending[owner]:
                del self._sending[owner]

    def _check_room(self, owner: str, announced: int, replaces: str) -> None:
        self._check_size(announced)
        self._check_quota(owner, announced, replaces)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._check_disk(2 * announced)  # the file, and its table

    def _check_quota(self, owner: str, size: int, replaces: str) -> None:
        stored = [each for each in uploads(self._owned(owner)) if each.id != replaces]
        total = size + sum(upload.bytes for upload in stored)
        if len(stored) >= MAX_FILES or total > MAX_TOTAL * self.max_bytes:
            raise UploadQuota(
                f"{len(stored)} files are stored, and there is room for {MAX_FILES} files with"
                f" {MAX_TOTAL * self.max_bytes // _MB} MB in total; delete files first"
            )

    def _check_size(self, size: int) -> None:
        if size > self.max_bytes:
            raise UploadTooLarge(
                f"a file can have {self.max_bytes // _MB} MB; split it, or have skillian read it"
                " where it is, as a source"
            )

    def _check_disk(self, size: int) -> None:
        if disk_usage(self._folder).free < size + RESERVE_BYTES:
            raise DiskFull("the server's disk has no room for this file; delete files first")

    async def _write(self, path: Path, chunks: AsyncIterator[bytes]) -> int:
        size = 0
        buffer = bytearray()
        try:
            with path.open("xb") as file:
                async for chunk in chunks:
                    buffer += chunk
                    if len(buffer) >= _BUFFER:
                        size += len(buffer)
                        self._check_size(size)
                        await asyncio.to_thread(file.write, bytes(buffer))
                        await asyncio.to_thread(self._check_disk, 0)
                        buffer.clear()
                size += len(buffer)
                self._check_size(size)
                await asyncio.to_thread(file.write, bytes(buffer))
        except OSError as error:
            raise DiskFull(f"the server cannot store this file: {error.strerror}") from None
        return size

    def _owned(self, owner: str) -> Path:
        return self._folder / (owner or _ANYBODY)

    def _purge(self, unused: timedelta | None) -> int:
        deleted = 0
        for owned in folders.folders(self._folder):
            for folder in folders.folders(owned):
                if folders.is_over(folder, unused):
                    folders.delete(folder)
                    deleted += 1
        return deleted


def _check_options(suffix: str, options: str) -> None:
    try:
        check_taken(Path(f"upload{suffix}"), dict_of(options))
        read_options(dict_of(options))
    except ValueError as error:
        raise UploadError(str(error)) from None


def _check_complete(name: str, size: int, announced: int | None) -> None:
    if announced is not None and size != announced:
        raise UploadIncomplete(f"{name}: {size} of {announced} bytes arrived; send it again")


def _unknown() -> UploadNotFound:
    return UploadNotFound("there is no such file, or it was deleted; upload it again")
