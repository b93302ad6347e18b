"""The folder of an uploaded file: its table as Parquet, and a description that makes it known."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from shutil import rmtree
from time import time
from typing import Any

from skillian.connectors.files.options import dict_of
from skillian.uploads.written import in_words

logger = logging.getLogger("skillian")

ABOUT, TABLE = "about.json", "table.parquet"
_TABLE = re.compile(r"table(-[0-9a-f]{32})?\.parquet")
_HELD = "held"
_UNHELD_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that somebody uploaded.

    Attributes:
        id: Its name in the service.
        name: The name that it had on the owner's machine.
        bytes: Its size.
        created: When its upload began, in ISO 8601.
        rows: How many rows its table has.
        columns: The names and the types of its columns.
        sheets: The names of the sheets of a workbook.
        sheet: The one that is read; empty for another kind of file.
        written: The options with which it is read, such as `decimal=,`.
        path: The Parquet file with its table.
    """

    id: str
    name: str
    bytes: int
    created: str
    rows: int
    columns: tuple[tuple[str, str], ...]
    sheets: tuple[str, ...]
    sheet: str
    written: str
    path: Path = field(repr=False)

    @property
    def note(self) -> str:
        """How the table was read, and what was left out of it; empty for nothing."""
        number = len(self.sheets)
        left_out = f"Only 1 of {number} sheets is read: {self.sheet}." if number > 1 else ""
        options = {name: values[-1] for name, values in dict_of(self.written).items()}
        return " ".join(filter(None, (in_words(options), left_out)))


@contextmanager
def held(folder: Path) -> Generator[None]:
    """Make the folder of a file, and lock it during the block: its process lives."""
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700)
    lock = folder / _HELD
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def describe(folder: Path, about: Mapping[str, Any]) -> Upload | None:
    """Keep only the table and its description, which survive a loss of power from then on.

    Returns:
        The file; None if its folder was deleted in the meantime.
    """
    for path in folder.iterdir():
        if path.name not in {TABLE, _HELD}:
            rmtree(path) if path.is_dir() else path.unlink()
    written = folder / f"{ABOUT}.new"
    written.write_text(json.dumps(about), encoding="utf-8")
    for path in (folder / TABLE, written):
        _sync(path)
    written.rename(folder / ABOUT)
    for path in (folder, folder.parent):
        _sync(path)
    return read(folder)


def move_into(folder: Path, target: Path) -> Upload | None:
    """Make the file in a folder the content of the file in another folder, in one step.

    Returns:
        The file; None if the other one was deleted in the meantime.
    """
    about: dict[str, Any] = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    about["table"] = f"table-{folder.name}.parquet"
    try:
        (folder / TABLE).rename(target / about["table"])
        written = target / f"{ABOUT}.new"
        written.write_text(json.dumps(about), encoding="utf-8")
        _sync(written)
        _sync(target)
        if not (target / ABOUT).exists():
            return None
        written.rename(target / ABOUT)
        _sync(target)
        for path in target.glob("table*.parquet"):
            if path.name != about["table"]:
                path.unlink()
        return read(target)
    except FileNotFoundError:
        return None
    finally:
        delete(folder)


def read(folder: Path) -> Upload | None:
    """The file in this folder; None if there is none, or its description is damaged."""
    try:
        about: dict[str, Any] = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        columns = tuple((str(column), str(kind)) for column, kind in about.pop("columns"))
        sheets = tuple(str(sheet) for sheet in about.pop("sheets"))
        return Upload(
            id=folder.name,
            name=str(about["name"]),
            bytes=int(about["bytes"]),
            created=str(about["created"]),
            rows=int(about["rows"]),
            columns=columns,
            sheets=sheets,
            sheet=str(about["sheet"]),
            written=str(about.get("written", "")),
            path=folder / _table(about),
        )
    except OSError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        logger.warning(
            "the description of the upload %s is damaged; delete it with DELETE /uploads/%s",
            folder.name,
            folder.name,
        )
        return None


def _table(about: Mapping[str, Any]) -> str:
    """The name of the file with the table; raises `ValueError` for one that no table has."""
    name = str(about.get("table", TABLE))
    if not _TABLE.fullmatch(name):
        raise ValueError("not the name of a table")
    return name


def delete(folder: Path) -> None:
    """Delete a file; from the beginning on, nobody finds it."""
    with suppress(OSError):
        (folder / ABOUT).unlink()
    rmtree(folder, ignore_errors=True)


def is_over(folder: Path, unused: timedelta | None) -> bool:
    """Whether a file was not used for too long, or its upload was abandoned."""
    about = folder / ABOUT
    try:
        if not about.exists():
            return _is_abandoned(folder)
        return unused is not None and time() - about.stat().st_mtime > unused.total_seconds()
    except OSError:  # just deleted
        return False


def folders(folder: Path) -> Sequence[Path]:
    """The folders in a folder; none if it does not exist."""
    try:
        return [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError:
        return []


def uploads(owned: Path) -> Iterator[Upload]:
    """The files in the folder of an owner, the oldest first."""
    files = [file for folder in folders(owned) if (file := read(folder)) is not None]
    yield from sorted(files, key=lambda file: (file.created, file.id))


def _is_abandoned(folder: Path) -> bool:
    """Whether the process that received the file has ended."""
    try:
        descriptor = os.open(folder / _HELD, os.O_RDWR)
    except FileNotFoundError:  # it is being made, or was being deleted
        return time() - folder.stat().st_mtime > _UNHELD_SECONDS
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return not (folder / ABOUT).exists()  # it was stored in the meantime
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
