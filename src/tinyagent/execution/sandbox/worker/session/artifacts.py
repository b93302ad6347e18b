"""What the code leaves behind: files in its working folder and open figures."""

from __future__ import annotations

import io
import mimetypes
import os
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakSet

from ..codec.wire import Kind

# Python's own list of types only: the system's cannot be read where the code is.
mimetypes.init(files=())

MAX_FILES = 200
MAX_BYTES = 16 << 20
MAX_DEPTH = 8

_HOOK = f"{__name__}:watch_figure"  # a list of such is Matplotlib's setting `figure.hooks`
_saved = WeakSet[Any]()

Stamp = tuple[int, int]
Send = Callable[[Kind, dict[str, Any], bytes], None]
Deliver = Callable[[str, str, bytes], None]


def watch_figures() -> None:
    """Make Matplotlib, if it is loaded, call `watch_figure` for each figure."""
    settings = getattr(sys.modules.get("matplotlib"), "rcParams", None)
    if settings is not None and _HOOK not in settings["figure.hooks"]:
        settings["figure.hooks"] = [*settings["figure.hooks"], _HOOK]


def watch_figure(figure: Any) -> None:
    """Note whether the code saves the figure."""
    figure.canvas.mpl_connect("draw_event", _note_save)


def _note_save(event: Any) -> None:
    if event.canvas.is_saving():
        _saved.add(event.canvas.figure)


class WorkingFolder:
    """The code's working folder: its files, and which of them the host has."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._known: dict[str, Stamp] = {}

    def know_all(self) -> None:
        """Mark all present files as known: the host has put them there."""
        self._known = _scan(self._path)

    def deliver(self, step: int, send: Send) -> list[str]:
        """Hand over the open figures, and the files that are new or changed.

        Returns remarks on what could not be handed over.
        """

        def deliver(name: str, media_type: str, data: bytes) -> None:
            send(Kind.ARTIFACT, {"name": name, "media_type": media_type}, data)

        try:
            earlier = self._known
            remarks = self._deliver_files(deliver)
            _deliver_figures(deliver, step, has_files=self._known != earlier)
        except Exception as error:  # noqa: BLE001 - a figure is drawn by code of any kind
            return [f"an artifact could not be handed over ({type(error).__name__}: {error})"]
        return remarks

    def _deliver_files(self, deliver: Deliver) -> list[str]:
        remarks: list[str] = []
        room = MAX_BYTES
        earlier, self._known = self._known, _scan(self._path)
        for name, stamp in self._known.items():
            if earlier.get(name) == stamp:
                continue
            if stamp[1] > room:
                size = f"{stamp[1]:,} bytes"
                remarks.append(f"{_printable(name)} ({size}) is too large to be handed over")
                continue
            data = _content(f"{self._path}/{name}", room)
            if data is None:
                continue
            room -= len(data)
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            deliver(_printable(name), kind, data)
        return remarks


def _content(path: str, most: int) -> bytes | None:
    """The content of the file; None if it was removed meanwhile."""
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except FileNotFoundError:
        return None


def _scan(folder: str) -> dict[str, Stamp]:
    """Each regular file below `folder` by its relative path: time of change (ns) and size.

    Hidden ones, and folders nested deeper than `MAX_DEPTH`, are left out.
    """
    stamps: dict[str, Stamp] = {}
    for path, status in _files(folder, ""):
        stamps[path] = (status.st_mtime_ns, status.st_size)
        if len(stamps) >= MAX_FILES:
            break
    return stamps


def _deliver_figures(deliver: Deliver, step: int, *, has_files: bool) -> None:
    """Hand over the open figures, except those that the code has saved as files."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    try:
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if has_files and figure in _saved:
                continue
            image = io.BytesIO()
            figure.savefig(image, format="png")
            deliver(f"step-{step}-figure-{number}.png", "image/png", image.getvalue())
    finally:
        pyplot.close("all")


def _files(folder: str, prefix: str, depth: int = 0) -> Iterator[tuple[str, os.stat_result]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:  # the code made it unreadable
        return
    for entry in entries:
        if entry.name.startswith("."):  # caches of libraries and other hidden files
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth < MAX_DEPTH:
                yield from _files(entry.path, f"{prefix}{entry.name}/", depth + 1)
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # removed meanwhile: a thread of the code may still run
            continue
        if stat.S_ISREG(status.st_mode):
            yield prefix + entry.name, status


def _printable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()
