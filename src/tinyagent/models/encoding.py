"""What all request formats share: who may be sent opaque data, and how much may be attached."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tinyagent.core.errors import ModelContextTooLong
from tinyagent.core.messages import Message
from tinyagent.core.parts import Document, Image, Opaque, to_base64

MAX_ATTACHED_BYTES = 22 * 1024 * 1024  # as base64 just under the 32 MB that providers take

_LONGEST_ID = 40


@dataclass(frozen=True, slots=True)
class Origin:
    """Who makes opaque data: a provider and one of its models."""

    provider: str
    model: str

    def mark(self, data: Mapping[str, Any]) -> Opaque:
        """The data as this origin's own."""
        return Opaque(self.provider, self.model, data)

    def own(self, opaque: Opaque | None) -> Mapping[str, Any] | None:
        """The data, where this origin made it; None where another one did, or there is none."""
        if opaque is None or (opaque.provider, opaque.model) != (self.provider, self.model):
            return None
        return opaque.data


def data_uri(part: Image | Document) -> str:
    """An attachment as a `data:` address."""
    return f"data:{part.media_type};base64,{to_base64(part.data)}"


def check_attachments(messages: Iterable[Message]) -> None:
    """See to it that the images and documents of a request are not larger than any server takes.

    Raises:
        ModelContextTooLong: they are; the run prunes the conversation and asks again.
    """
    size = sum(
        len(part.data)
        for message in messages
        if not isinstance(message.content, str)
        for part in message.content
        if isinstance(part, Image | Document)
    )
    if size > MAX_ATTACHED_BYTES:
        raise ModelContextTooLong(
            f"the images and documents of the conversation have {size:,} bytes, and at most"
            f" {MAX_ATTACHED_BYTES:,} are sent in one request; give fewer or smaller ones"
        )


def short_id(call_id: str, allowed: re.Pattern[str] | None) -> str:
    """The id of a call where its form is allowed, else nine letters and digits that stand for it.

    Calls of another model, or made up by an adapter, may have ids that a provider refuses. Where
    no form is named, up to 40 characters are allowed.
    """
    if len(call_id) <= _LONGEST_ID if allowed is None else allowed.fullmatch(call_id):
        return call_id
    import hashlib  # noqa: PLC0415 - loads OpenSSL

    return hashlib.sha256(call_id.encode(errors="replace")).hexdigest()[:9]
