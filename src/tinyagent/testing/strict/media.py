"""Images and documents of requests: decoded, and checked to be complete."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import struct
import zlib
from dataclasses import dataclass

from tinyagent.testing.strict.session import Refused

IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.*)", re.DOTALL)


@dataclass(frozen=True)
class Attachment:
    """An image or a document that came with a request."""

    media_type: str
    data: bytes

    @property
    def description(self) -> str:
        """Media type, size in pixels if known, bytes and SHA-256."""
        size = pixels(self.data)
        shape = f" {size[0]}x{size[1]}," if size else ""
        digest = hashlib.sha256(self.data).hexdigest()
        return f"{self.media_type}{shape} {len(self.data)} bytes, sha256 {digest}"


def decode(text: str, media_type: str, *, limit: int, param: str = "") -> Attachment:
    """An attachment from base64.

    Raises:
        Refused: It is not base64, not of the declared type, too large, or incomplete.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _unreadable("invalid base64 data", param) from None
    actual = sniff(data)
    if actual is None:
        raise _unreadable("Could not process image", param)
    if actual != media_type.replace("image/jpg", "image/jpeg"):
        message = (
            f"The image was specified using the {media_type} media type, "
            f"but the image appears to be a {actual} image"
        )
        raise _unreadable(message, param)
    if len(data) > limit:
        message = f"image exceeds {limit >> 20} MB maximum: {len(data)} bytes > {limit} bytes"
        raise Refused(message, code="image_too_large", param=param)
    return Attachment(actual, data)


def _unreadable(message: str, param: str) -> Refused:
    return Refused(message, code="invalid_image_format", param=param)


def decode_uri(uri: str, *, limit: int, param: str = "") -> Attachment:
    """An attachment from a `data:` URI.

    Raises:
        Refused: As `decode`, with the place of the URI as its parameter.
    """
    match = _DATA_URI.fullmatch(uri)
    if match is None:
        raise Refused(
            "Expected a base64-encoded data URL with an image MIME type "
            "(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got an invalid value.",
            code="invalid_image_url",
            param=param,
        )
    return decode(match[2], match[1], limit=limit, param=param)


def sniff(data: bytes) -> str | None:
    """The media type of the bytes; None if it is unknown or they are truncated."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png" if _is_whole_png(data) else None
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg" if data.endswith(b"\xff\xd9") else None
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif" if data.endswith(b";") else None
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        whole = struct.unpack("<I", data[4:8])[0] + 8 <= len(data)
        return "image/webp" if whole else None
    if data.startswith(b"%PDF-"):
        return "application/pdf"
    return None


def pixels(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG or a GIF."""
    if data.startswith(b"\x89PNG"):
        width, height = struct.unpack(">II", data[16:24])
        return width, height
    if data.startswith(b"GIF8"):
        width, height = struct.unpack("<HH", data[6:10])
        return width, height
    return None


def _is_whole_png(data: bytes) -> bool:
    """Whether each chunk has its checksum and the last one is the end."""
    place, kind = 8, b""
    while kind != b"IEND" and place + 12 <= len(data):
        length = struct.unpack(">I", data[place : place + 4])[0]
        kind = data[place + 4 : place + 8]
        chunk = data[place + 4 : place + 8 + length]
        checksum = data[place + 8 + length : place + 12 + length]
        if struct.pack(">I", zlib.crc32(chunk)) != checksum:
            return False
        place += 12 + length
    return kind == b"IEND"
