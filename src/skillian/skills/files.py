"""The files of a skill: those within its folder, and no way out of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from skillian.errors import ConfigurationError, Fault, InvalidInputError, UnknownNameError

READABLE = ("scripts", "references", "assets")
"""The folders of a skill whose files a model may read, one by one."""
KNOWLEDGE = "knowledge"
MAX_FILE_BYTES = 1_000_000


def check_folder(folder: Path) -> None:
    """Refuse links: what they lead to may lie anywhere, and change.

    Raises:
        ConfigurationError: names each.
    """
    links = [path for path in _walk(folder) if path.is_symlink()]
    if links:
        raise ConfigurationError(
            Fault(str(path), 1, "it is a link", "a skill's folder holds files only: copy it")
            for path in links
        )


def readable_files(folder: Path) -> tuple[str, ...]:
    """The files that a model may read, relative to the skill's folder, sorted."""
    return tuple(
        path.relative_to(folder).as_posix()
        for name in READABLE
        for path in sorted(_walk(folder / name))
        if path.is_file() and not path.is_symlink()
    )


def knowledge_files(folder: Path) -> tuple[Path, ...]:
    """The Markdown files below `knowledge`, sorted."""
    found = _walk(folder / KNOWLEDGE)
    return tuple(sorted(path for path in found if path.suffix == ".md" and path.is_file()))


def read_text(folder: Path, name: str) -> str:
    """The text of one of `readable_files`.

    Raises:
        UnknownNameError: it is none of them; the nearest are named.
        InvalidInputError: it is no text, or too large.
    """
    known = readable_files(folder)
    if name not in known:
        raise UnknownNameError("file", name, known, f"skill {folder.name!r}")
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):  # a link since it was listed
        raise UnknownNameError("file", name, known, f"skill {folder.name!r}")
    if path.stat().st_size > MAX_FILE_BYTES:
        raise InvalidInputError(f"{name} has more than {MAX_FILE_BYTES:,} bytes")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidInputError(f"{name} is no text") from None


def _walk(folder: Path) -> Iterator[Path]:
    """All that is below a folder; links are not followed."""
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(root) / name for name in (*folders, *files))
