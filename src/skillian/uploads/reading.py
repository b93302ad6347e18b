"""Has a child process read an uploaded file, so that no file can harm the server."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillian.uploads.limits import MEMORY_BYTES, READ_SECONDS, UploadError

logger = logging.getLogger("skillian")

_LOGGED = 2000
# The child needs no key and no secret.
_PASSED = ("PATH", "PYTHONPATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "VIRTUAL_ENV")


@dataclass(frozen=True, slots=True)
class UploadedTable:
    """The table of a file.

    Attributes:
        rows: How many rows it has.
        columns: The names and the types of its columns.
        sheets: The names of the sheets of a workbook.
        sheet: The one that is read; empty for another kind of file.
        written: The options with which it is read, such as `decimal=,`.
    """

    rows: int
    columns: tuple[tuple[str, str], ...]
    sheets: tuple[str, ...]
    sheet: str
    written: str


async def read_file(path: Path, target: Path, name: str, options: str = "") -> UploadedTable:
    """Write the table of a file as Parquet; a cancellation ends the child process.

    Args:
        path: The file.
        target: Where the Parquet file is written.
        name: What messages call the file.
        options: How it is written, such as `decimal=,&encoding=latin-1`.

    Raises:
        UploadError: The file cannot be read.
    """
    environment = {key: os.environ[key] for key in _PASSED if key in os.environ}
    # The process ends when this end of a pipe is closed, also if the server is killed.
    standard_input, held = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "skillian.uploads.worker"),
            *(str(path), str(target), options),
            stdin=standard_input,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**environment, "TMPDIR": str(path.parent)},
            start_new_session=True,
        )
    except BaseException:
        os.close(held)
        raise
    finally:
        os.close(standard_input)
    try:
        async with asyncio.timeout(READ_SECONDS):
            output, errors = await process.communicate()
    except TimeoutError:
        raise UploadError(f"{name}: reading it took longer than {READ_SECONDS} s") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        os.close(held)
    if errors:
        logger.warning("reading an upload: %s", errors.decode(errors="replace")[-_LOGGED:])
    return _table(output, path, name)


def _table(output: bytes, path: Path, name: str) -> UploadedTable:
    try:
        read: dict[str, Any] = json.loads(output)
    except ValueError:  # it was killed
        raise UploadError(
            f"{name}: reading it failed; it is damaged, or needs more than"
            f" {MEMORY_BYTES >> 30} GB of memory"
        ) from None
    if "refused" in read:
        reason = str(read["refused"]).removeprefix(f"connection {path.name!r}: ")
        reason = reason.removeprefix(f"{path.name}: ")
        if reason.startswith(f"{path.name}, "):  # a place in the file
            raise UploadError(reason.replace(path.name, name, 1))
        raise UploadError(f"{name}: {reason}")
    columns = tuple((str(column), str(kind)) for column, kind in read["columns"])
    sheets = tuple(str(sheet) for sheet in read["sheets"])
    sheet, written = str(read["sheet"]), str(read["written"])
    return UploadedTable(int(read["rows"]), columns, sheets, sheet, written)
