"""Parts: what a message contains in addition to plain text.

A part has a JSON form that loses nothing; bytes are base64 in it. Data that only one provider can
read (a signature, encrypted reasoning) is an `Opaque`, which names the provider and the model that
created it and is never shown.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.untrusted import as_object, describe

MAX_IMAGE_BYTES = 10 * 1024 * 1024
MAX_DOCUMENT_BYTES = 20 * 1024 * 1024
_IMAGE_CHARS = 6_000  # about 1,500 tokens, whatever its size: providers scale large images down
_DOCUMENT_CHARS = 8_000  # about 2,000 tokens a page
_PAGE_BYTES = 50_000
_HEAD = 1_024  # PDF readers accept up to this much before the header
_PDF = "application/pdf"


@dataclass(frozen=True, slots=True)
class Opaque:
    """Data that only the provider and model that created it can read. Its repr hides the data.

    Args:
        provider: The name of the provider, such as `anthropic`.
        model: The model's name, as it was requested.
        data: What the provider sent, as JSON.
    """

    provider: str
    model: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"provider": self.provider, "model": self.model, "data": dict(self.data)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Opaque:
        """Read the JSON form back; raises KeyError or ValueError for a missing or wrong part."""
        return cls(_text(data, "provider"), _text(data, "model"), _mapping(data["data"]))


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text."""

    text: str
    opaque: Opaque | None = None

    @property
    def size(self) -> int:
        """How many characters of it are sent to the model."""
        return len(self.text)

    def describe(self) -> str:
        """The text itself."""
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return _with_opaque({"type": "text", "text": self.text}, self.opaque)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Text:
        """Read the JSON form back; raises KeyError or ValueError for a missing or wrong part."""
        return cls(_text(data, "text"), read_opaque(data))


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What a model thought before it answered: text or a summary, if the provider shows any.

    `opaque` is data that the provider wants back unchanged; it is sent to no other provider or
    model.
    """

    text: str = ""
    opaque: Opaque | None = None

    @property
    def size(self) -> int:
        """How many characters of it are sent to the model."""
        if self.text or self.opaque is None:
            return len(self.text)
        return len(json.dumps(dict(self.opaque.data)))

    def describe(self) -> str:
        """The text in brackets; reasoning that is not shown is only mentioned."""
        return f"[reasoning: {self.text}]" if self.text else "[reasoning]"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return _with_opaque({"type": "reasoning", "text": self.text}, self.opaque)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reasoning:
        """Read the JSON form back; raises KeyError or ValueError for a missing or wrong part."""
        return cls(_text(data, "text"), read_opaque(data))


@dataclass(frozen=True, slots=True, init=False)
class Image:
    """A PNG, JPEG, GIF or WebP image. The format is read from the bytes, not from the file name.

    Args:
        data: Its bytes, or the path of a file.

    Raises:
        ConfigurationError: The file cannot be read, has another format, or is larger than 10 MiB.
    """

    data: bytes = field(repr=False)
    media_type: str = field(init=False)

    def __init__(self, data: bytes | str | PathLike[str]) -> None:
        what, content = _load(data, MAX_IMAGE_BYTES)
        kind = _image_type(content)
        if kind is None:
            raise ConfigurationError(
                f"{what} not an image of a known format; pass a PNG, JPEG, GIF or WebP"
            )
        _check_size(content, MAX_IMAGE_BYTES, "the image")
        object.__setattr__(self, "data", content)
        object.__setattr__(self, "media_type", kind)

    @property
    def size(self) -> int:
        """The number of characters that cost about as much; images cost a fixed price."""
        return _IMAGE_CHARS

    def describe(self) -> str:
        """Type, size and checksum in brackets."""
        return f"[image {self.media_type}, {_describe_bytes(self.data)}]"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"type": "image", "media_type": self.media_type, "data": to_base64(self.data)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Image:
        """Read the JSON form back; raises KeyError or ValueError for a missing or wrong part."""
        try:
            return cls(_from_base64(data["data"]))
        except ConfigurationError as error:
            raise ValueError(str(error)) from None


@dataclass(frozen=True, slots=True, init=False)
class Document:
    """A PDF document.

    Args:
        data: Its bytes, or the path of a file.
        name: A file name that the model is shown; by default that of the file.

    Raises:
        ConfigurationError: The file cannot be read, is not a PDF, or is larger than 20 MiB.
    """

    data: bytes = field(repr=False)
    name: str

    def __init__(self, data: bytes | str | PathLike[str], name: str = "") -> None:
        what, content = _load(data, MAX_DOCUMENT_BYTES)
        if not _is_pdf(content):
            raise ConfigurationError(f"{what} not a PDF; pass other documents as text")
        _check_size(content, MAX_DOCUMENT_BYTES, "the document")
        default = "document.pdf" if isinstance(data, bytes) else Path(data).name
        object.__setattr__(self, "data", content)
        object.__setattr__(self, "name", name or default)

    @property
    def media_type(self) -> str:
        """Its media type."""
        return _PDF

    @property
    def size(self) -> int:
        """The number of characters that cost about as much, estimated from the number of bytes."""
        return _DOCUMENT_CHARS * -(-len(self.data) // _PAGE_BYTES)

    def describe(self) -> str:
        """Name, size and checksum in brackets."""
        return f"[document {self.name}, {_describe_bytes(self.data)}]"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"type": "document", "name": self.name, "data": to_base64(self.data)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Document:
        """Read the JSON form back; raises KeyError or ValueError for a missing or wrong part."""
        try:
            return cls(_from_base64(data["data"]), _text(data, "name"))
        except ConfigurationError as error:
            raise ValueError(str(error)) from None


ContentPart = Text | Image | Document
"""What a user or a tool can provide in addition to a plain string."""


def attachment(path: str | PathLike[str]) -> Image | Document:
    """The image or PDF in a file.

    Raises:
        ConfigurationError: The file cannot be read, is neither, or is too large.
    """
    return Document(path) if _is_pdf(_read(path, _HEAD)) else Image(path)


READERS: Mapping[str, Callable[[Mapping[str, Any]], ContentPart | Reasoning]] = {
    "text": Text.from_dict,
    "reasoning": Reasoning.from_dict,
    "image": Image.from_dict,
    "document": Document.from_dict,
}
"""The functions that read the JSON form of each type of part."""


def to_base64(data: bytes) -> str:
    """The bytes as base64 text."""
    return binascii.b2a_base64(data, newline=False).decode()


def read_opaque(data: Mapping[str, Any]) -> Opaque | None:
    """The `opaque` of a part's JSON form, if any; raises KeyError or ValueError."""
    entry = data.get("opaque")
    return None if entry is None else Opaque.from_dict(_mapping(entry))


def _with_opaque(out: dict[str, Any], opaque: Opaque | None) -> dict[str, Any]:
    return out if opaque is None else out | {"opaque": opaque.to_dict()}


def _image_type(data: bytes) -> str | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def _is_pdf(data: bytes) -> bool:
    return b"%PDF-" in data[:_HEAD]


def _load(data: bytes | str | PathLike[str], limit: int) -> tuple[str, bytes]:
    """How an error names it, and its bytes."""
    if isinstance(data, str | PathLike):
        return f"{Path(data)} is", _read(data, limit)
    return f"these {len(data):,} bytes are", bytes(data)


def _read(path: str | PathLike[str], limit: int) -> bytes:
    """The bytes of a file; of a large one, just enough to show that it is too large."""
    try:
        with Path(path).open("rb") as file:
            return file.read(limit + 1)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror or error}") from None


def _check_size(data: bytes, limit: int, what: str) -> None:
    if len(data) > limit:
        raise ConfigurationError(
            f"{what} has more than {limit // 1024 // 1024} MiB, the largest size that is sent;"
            " make it smaller"
        )


def _describe_bytes(data: bytes) -> str:
    return f"{len(data):,} bytes, CRC {binascii.crc32(data):08x}"


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data[key]
    if not isinstance(value, str):
        raise ValueError(f"{key!r} is {describe(value)}, not a string")  # noqa: TRY004
    return value


def _from_base64(value: object) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"'data' is {describe(value)}, not base64 text")  # noqa: TRY004
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except (binascii.Error, ValueError):
        raise ValueError("'data' is not base64 text") from None


def _mapping(value: object) -> dict[str, Any]:
    entry = as_object(value)
    if entry is None:
        raise ValueError("'opaque' is not an object with provider, model and data")
    return entry
