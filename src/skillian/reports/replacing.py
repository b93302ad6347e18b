"""Files that are complete, or not there."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO


@contextmanager
def replacing(path: Path) -> Generator[IO[bytes]]:
    """Open a file next to one, which it replaces when the context ends without an error.

    A device or a pipe is opened itself. A link stays one.

    Raises:
        OSError: The file cannot be written; one that was there is unchanged.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    target = path.resolve()
    part = target.with_name(f".{token_hex(8)}.part")
    try:
        opened = part.open("wb")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with opened as file:
            yield file
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text to a file, which replaces one of its name; raises as `replacing`."""
    with replacing(path) as file:
        file.write(text.encode())
