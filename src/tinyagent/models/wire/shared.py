"""What the formats share: opaque data, attachments, ids of calls, and reading untrusted JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tinyagent.core.errors import ModelError, ModelReplyError
from tinyagent.core.parts import Document, Image, Opaque, to_base64
from tinyagent.core.types import ModelDelta, ModelRequest, ModelResponse
from tinyagent.core.untrusted import as_array, as_object, describe
from tinyagent.models.failures import status_error
from tinyagent.models.provider import Provider

MAX_PARALLEL_CALLS = 128

_LONGEST_ID = 40
_LONGEST_REASON = 100
_FINISH_REASONS = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "sensitive": "content_filter",
    "refusal": "refusal",
}


class ReplyReader(Protocol):
    """Reads one reply of a server: in one piece, or event by event."""

    def is_whole(self, *, done: bool) -> bool:
        """Whether the streamed answer is complete; `done` if the stream ended with `[DONE]`."""
        ...

    def is_unstreamed(self, data: Any) -> bool:
        """Whether an event is a reply in one piece: the server does not stream."""
        ...

    def read(self, data: Any) -> ModelResponse:
        """Read a reply in one piece.

        Raises:
            ModelError: It reports a failure, or is not a reply of this API.
        """
        ...

    def add(self, data: Any) -> Sequence[ModelDelta]:
        """Take one event of a stream and return its pieces of text and reasoning.

        Raises:
            ModelError: It reports a failure, or is not an event of this API.
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
        call_id: The id in the conversation.
        allowed: The form that the provider takes; None allows any id of up to 40 characters.
    """
    if len(call_id) <= _LONGEST_ID if allowed is None else allowed.fullmatch(call_id):
        return call_id
    import hashlib  # noqa: PLC0415 - loads OpenSSL

    return hashlib.sha256(call_id.encode(errors="replace")).hexdigest()[:9]


def caching(request: ModelRequest, provider: Provider) -> dict[str, Any]:
    """What asks the provider to cache the prefix of the request.

    A key is a digest of the system prompt and the tools: requests that begin alike have the same.
    """
    if not provider.cache_key:
        return dict(provider.prompt_cache)
    import hashlib  # noqa: PLC0415 - loads OpenSSL

    system = [message.text for message in request.messages if message.role == "system"]
    prefix = json.dumps([system, request.format.tools], default=dict)
    digest = hashlib.sha256(prefix.encode()).hexdigest()
    return {**provider.prompt_cache, "prompt_cache_key": f"tinyagent-{digest[:32]}"}


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


def finish_reason(written: str, *, has_calls: bool) -> str:
    """Why an answer ended, in the words of `ModelResponse.finish_reason`.

    Args:
        written: The provider's word, which Gemini may follow by a colon and details.
        has_calls: Whether the answer has calls; many servers then report `stop` all the same.
    """
    word = written.partition(":")[0].strip().lower()
    reason = _FINISH_REASONS.get(word, written[:_LONGEST_REASON]) or "stop"
    return ("tool_calls" if has_calls else "stop") if reason in {"stop", "tool_calls"} else reason


def json_text(value: Any) -> str:
    """The arguments of a call as text: some servers send the object itself."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def as_count(value: Any) -> int:
    """A count of tokens; 0 for anything that is not one."""
    return max(value, 0) if isinstance(value, int) else 0


def uncounted(*counts: Any) -> int:
    """`Usage.uncounted` of one reply: 1 if a count that its cost depends on is missing."""
    return 0 if all(isinstance(count, int) for count in counts) else 1


def reported_error(status: int, body: Any) -> ModelError:
    """The error for a failure that a server reports inside a reply with status 200."""
    return status_error(status, {}, json.dumps(body), "the server")
