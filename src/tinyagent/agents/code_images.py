"""Which images a code agent shows its model after a block, and what it tells of the others."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

from tinyagent.core.execution import Artifact
from tinyagent.core.parts import Document, Image
from tinyagent.memory.steps import ActionStep, Step

MAX_IMAGES = 4
MAX_BYTES = 1_000_000
MAX_SIDE = 2_000
"""Pixels: providers refuse larger images where a conversation holds many."""
_PNG = b"\x89PNG\r\n\x1a\n"
_HEADER, _END = b"IHDR", b"IEND"
_FRAME = 12  # bytes of a chunk around its data
_LARGE = f"at most {MAX_BYTES:,} bytes and {MAX_SIDE:,} pixels a side are shown"

Attachments = tuple[Image | Document, ...]


def shown_to_model(
    returned: Sequence[Image | Document],
    artifacts: Iterable[Artifact],
    earlier: Iterable[Step],
    *,
    plots: bool,
) -> tuple[Attachments, str]:
    """What the model is shown after a block, and a note on the images for it to read.

    Args:
        returned: what the tools that the code called returned; it comes first.
        artifacts: what the code made. Of these only PNG files are shown.
        earlier: the steps that the model is sent anyway: no image is shown a second time.
        plots: whether the model sees images; if not, it is told that it does not.
    """
    pictures = [made for made in artifacts if made.media_type == "image/png"]
    known = {part for step in earlier if isinstance(step, ActionStep) for part in step.attachments}
    chosen: dict[Image | Document, None] = dict.fromkeys(
        [part for part in returned if part not in known][:MAX_IMAGES]
    )
    if not plots:
        names = ", ".join(made.name for made in pictures)
        note = f"[You cannot see images ({names}). Print the numbers that you need.]"
        return tuple(chosen), note if pictures else ""
    shown: list[str] = []
    notes: list[str] = []
    for made in pictures:
        fault = _fault(made.data)
        if not fault and Image(made.data) in known | chosen.keys():
            fault = "the same image was shown before"
        if not fault and len(chosen) >= MAX_IMAGES:
            fault = f"at most {MAX_IMAGES} images are shown after a block"
        if fault:
            notes.append(f"[{made.name} is not shown: {fault}]")
        else:
            chosen[Image(made.data)] = None
            shown.append(made.name)
    told = [f"[images shown to you: {', '.join(shown)}]"] if shown else []
    return tuple(chosen), "\n".join([*told, *notes])


def _fault(data: bytes) -> str:
    """Why the file is not shown; empty: it is."""
    if len(data) > MAX_BYTES:
        return f"it has {len(data):,} bytes; {_LARGE}"
    size = png_size(data)
    if size is None:
        return "it is no complete PNG"
    width, height = size
    if max(size) > MAX_SIDE:
        return f"it has {width:,} x {height:,} pixels; {_LARGE}"
    return ""


def png_size(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG; None where it is none, or not whole: servers refuse such."""
    if not data.startswith(_PNG):
        return None
    at, size = len(_PNG), None
    while at + _FRAME <= len(data):
        length = int.from_bytes(data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        checksum = data[at + 8 + length : at + _FRAME + length]
        if zlib.crc32(kind + body).to_bytes(4) != checksum:
            return None
        if size is None:
            if kind != _HEADER:
                return None
            size = int.from_bytes(body[:4]), int.from_bytes(body[4:8])
        if kind == _END:
            return size
        at += _FRAME + length
    return None
