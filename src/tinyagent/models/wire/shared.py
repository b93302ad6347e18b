"""What the formats share: opaque data, attachments, ids of calls, and reading untrusted JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tinyagent.core.errors import ModelError, ModelReplyError
from tinyagent.core.parts import Document, Image, Opaque, to_base64
from tinyagent.core.types import ModelDelta, ModelResponse
from tinyagent.core.untrusted import as_array, as_object, describe
from tinyagent.models.failures import status_error

MAX_PARALLEL_CALLS = 128

_LONGEST_ID = 40


class ReplyReader(Protocol):
    """Reads one reply of a server: in one piece, or event by event."""

    @property
    def is_whole(self) -> bool:
        """Whether the server reported the end of the streamed answer."""
        ...

    def is_unstreamed(self, data: Any) -> bool:
        """Whether an event is a reply in one piece: the server does not stream."""
        ...

    def read(self, data: Any) -> ModelResponse:
        """Read a reply in one piece.

        Raises:
            ModelError: it reports a failure, or is not a reply of this API.
        """
        ...

    def add(self, data: Any) -> Sequence[ModelDelta]:
        """Take one event of a stream and return its pieces of text and reasoning.

        Raises:
            ModelError: it reports a failure, or is not an event of this API.
        """
        ...

    def response(self) -> ModelResponse:
        """The answer as streamed so far."""
        ...


@dataclass(frozen=True, slots=True)
class Origin:
    """Who makes opaque data: a provider and one of its models."""

    provider: str
    model: str

    def mark(self, data: Mapping[str, Any]) -> Opaque:
        """Mark the data as made by this origin."""
        return Opaque(self.provider, self.model, data)

    def own(self, opaque: Opaque | None) -> Mapping[str, Any] | None:
        """The data if this origin made it, otherwise None."""
        if opaque is None or (opaque.provider, opaque.model) != (self.provider, self.model):
            return None
        return opaque.data


def data_uri(part: Image | Document) -> str:
    """An attachment as a `data:` URI."""
    return f"data:{part.media_type};base64,{to_base64(part.data)}"


def short_id(call_id: str, allowed: re.Pattern[str] | None) -> str:
    """The id of a call if its form is allowed, otherwise a digest of nine letters and digits.

    Ids made by another model or by an adapter may have a form that a provider refuses.

    Args:
        call_id: the id in the conversation.
        allowed: the form that the provider takes; None allows any id of up to 40 characters.
    """
    if len(call_id) <= _LONGEST_ID if allowed is None else allowed.fullmatch(call_id):
        return call_id
    import hashlib  # noqa: PLC0415 - loads OpenSSL

    return hashlib.sha256(call_id.encode(errors="replace")).hexdigest()[:9]


def require_object(value: Any) -> dict[str, Any]:
    """The JSON object; raises `ModelReplyError` for anything else."""
    entry = as_object(value)
    if entry is None:
        raise ModelReplyError(f"the reply has {describe(value)} instead of an object")
    return entry


def require_list(value: Any) -> Sequence[Any]:
    """The JSON array, empty for null; raises `ModelReplyError` for anything else."""
    items = as_array(value)
    if items is None and value is not None:
        raise ModelReplyError(f"the reply has {describe(value)} instead of a list")
    return items or ()


def as_count(value: Any) -> int:
    """A count of tokens; 0 for anything that is not one."""
    return max(value, 0) if isinstance(value, int) else 0


def reported_error(status: int, body: Any) -> ModelError:
    """The error for a failure that a server reports inside a reply with status 200."""
    return status_error(status, {}, json.dumps(body), "the server")
