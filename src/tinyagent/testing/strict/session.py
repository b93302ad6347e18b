"""What a strict server knows of earlier requests, and how it refuses one."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from tinyagent.testing.http import Request
    from tinyagent.testing.strict.media import Attachment
    from tinyagent.testing.strict.script import Output

Json = dict[str, Any]


def as_dict(value: Any) -> Json:
    """The object, or an empty one where something else stands."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The list, or an empty one where something else stands."""
    return list(cast("Sequence[Any]", value)) if isinstance(value, list) else []


def as_dicts(value: Any) -> list[Json]:
    """The objects of a list."""
    return [as_dict(item) for item in as_list(value)]


def typed_list(body: Json, key: str) -> list[Json]:
    """A list of objects that a request must have.

    Raises:
        Refused: something else stands there.
    """
    found = body.get(key)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in as_list(found)):
        message = f"Invalid type for '{key}': expected an array of objects."
        raise Refused(message, code="invalid_type", param=key)
    return as_dicts(as_list(found))


def words(text: str) -> frozenset[str]:
    """The words of a text: a table's way to write names."""
    return frozenset(text.split())


def tokens(text: str) -> int:
    """About as many tokens as a text has: a quarter of its characters."""
    return -(-len(text) // 4)


class Refused(Exception):
    """A request that the provider refuses; the server writes it in the provider's form."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        code: str = "",
        param: str = "",
        detail: Any = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.param = param
        self.detail = detail

    def at(self, place: str) -> Refused:
        """The same refusal, which says where in the request."""
        message = f"{place}: {self.message}"
        return Refused(message, status=self.status, code=self.code, param=place)


@dataclass(frozen=True)
class Issued:
    """A turn that the server sent, as it wants it back.

    Attributes:
        output: what it says.
        model: who said it.
        ids: of its calls.
        opaque: what the provider must get back unchanged.
        order: of thoughts and calls, by what they are known by.
    """

    output: Output
    model: str
    ids: tuple[str, ...]
    opaque: Any
    order: tuple[str, ...] = ()


@dataclass
class Session:
    """What lasts from request to request.

    Attributes:
        turns: what the server sent.
        losses: what a request left out that the provider does not insist on, in words.
        prompts: earlier prompts, for the prompt cache.
        stored: the items of each response of OpenAI that was stored.
        chains: for each thought, those that stood before it.
        prefixes: for each thought, a hash of all else that did.
    """

    turns: list[Issued] = field(default_factory=list[Issued])
    losses: list[str] = field(default_factory=list[str])
    prompts: list[str] = field(default_factory=list[str])
    stored: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    chains: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    prefixes: dict[str, str] = field(default_factory=dict[str, str])
    _salt: str = field(default_factory=secrets.token_hex)
    _made: int = 0

    def new_id(self, prefix: str = "", length: int = 24) -> str:
        """An id of letters and digits that no other server makes."""
        self._made += 1
        digest = hashlib.sha512(f"{self._salt}{self._made}".encode()).hexdigest()
        return prefix + digest[:length]

    def new_blob(self) -> str:
        """An opaque text in base64: a signature, or encrypted content."""
        self._made += 1
        digest = hashlib.sha512(f"{self._salt}{self._made}".encode()).digest()
        return base64.b64encode(digest).decode()

    def turns_of(self, ids: Sequence[str], text: str | None = None) -> list[Issued]:
        """The turns that made one of these calls, or else said this text without a call."""
        return [
            turn
            for turn in reversed(self.turns)
            if set(turn.ids) & set(ids)
            or (text and not ids and not turn.ids and turn.output.text == text)
        ]

    def cached(self, prompt: str) -> int:
        """How many tokens of the prompt are the beginning of an earlier one; keeps the prompt."""
        shared = (_common(prompt, earlier) for earlier in self.prompts)
        longest = max(shared, default=0)
        self.prompts.append(prompt)
        return longest // 4


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


@dataclass
class Exchange:
    """One request on its way to a reply."""

    request: Request
    body: Json
    session: Session
    attachments: list[Attachment] = field(default_factory=list["Attachment"])
    dropped: list[str] = field(default_factory=list[str])
    model_in_path: str = ""
    stream_in_path: bool = False

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return self.model_in_path or str(self.body.get("model", ""))

    @property
    def streams(self) -> bool:
        """Whether a stream was asked for."""
        return self.stream_in_path or bool(self.body.get("stream"))

    def lose(self, what: str) -> None:
        """Note what the provider accepts and the model misses."""
        self.session.losses.append(what)


def render(*parts: Any) -> str:
    """A prompt as one text: JSON in the order of its keys, a line each part."""
    lines = [json.dumps(part, ensure_ascii=False) for group in parts for part in as_list(group)]
    return "\n".join(lines)


def sse(data: Any, event: str | None = None) -> bytes:
    """One event of a stream."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def pieces(text: str | None, count: int = 3) -> list[str]:
    """A text in some pieces, as streams bring it."""
    text = text or ""
    size = max(1, -(-len(text) // count))
    return [text[start : start + size] for start in range(0, len(text), size)]
