"""One request on its way to a reply, the memory of earlier ones, and refusals."""

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
    """The object, or an empty one for anything else."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The list, or an empty one for anything else."""
    return list(cast("Sequence[Any]", value)) if isinstance(value, list) else []


def as_dicts(value: Any) -> list[Json]:
    """The objects of a list."""
    return [as_dict(item) for item in as_list(value)]


def at(value: Any, path: str) -> Any:
    """The value at a path such as `thinking.type`; None if there is none."""
    for key in path.split("."):
        value = as_dict(value).get(key)
    return value


def of_type(kind: str, items: Any) -> list[Json]:
    """The objects of a list that have this type."""
    return [item for item in as_dicts(items) if item.get("type") == kind]


def words(text: str) -> frozenset[str]:
    """The words of a text, to write tables of names."""
    return frozenset(text.split())


def tokens(text: str) -> int:
    """The approximate number of tokens of a text: a quarter of its characters."""
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


@dataclass(frozen=True)
class Issued:
    """A turn that the server sent and expects back.

    Attributes:
        output: The answer.
        model: The model's name.
        ids: The ids of its calls.
        opaque: The data that must come back unchanged.
        order: The identities of its thoughts and calls, in order.
    """

    output: Output
    model: str
    ids: tuple[str, ...]
    opaque: Any
    order: tuple[str, ...] = ()


@dataclass
class Session:
    """What a server remembers between requests.

    Attributes:
        turns: The turns that the server sent.
        losses: What requests omitted although the model needs it, where the provider accepts that.
        prompts: Earlier prompts, for the prompt cache.
        stored: The items of each stored response of OpenAI.
        chains: For each thought, the thoughts before it.
        prefixes: For each thought, a hash of everything else before it.
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
        """The turns that made one of these calls, or consist of this text without a call."""
        return [
            turn
            for turn in reversed(self.turns)
            if set(turn.ids) & set(ids)
            or (text and not ids and not turn.ids and turn.output.text == text)
        ]

    def cached(self, prompt: str) -> int:
        """How many tokens of the prompt are a prefix of an earlier one; records the prompt."""
        shared = (_common(prompt, earlier) for earlier in self.prompts)
        longest = max(shared, default=0)
        self.prompts.append(prompt)
        return longest // 4


def _common(one: str, other: str) -> int:
    """The length of the common prefix of two texts, by bisection."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


@dataclass
class ProviderExchange:
    """A request on its way to a reply."""

    request: Request
    body: Json
    session: Session
    attachments: list[Attachment] = field(default_factory=list["Attachment"])
    dropped: list[str] = field(default_factory=list[str])
    model_in_path: str = ""
    stream_in_path: bool = False

    @property
    def model(self) -> str:
        """The requested model."""
        return self.model_in_path or str(self.body.get("model", ""))

    @property
    def streams(self) -> bool:
        """Whether a stream was requested."""
        return self.stream_in_path or bool(self.body.get("stream"))

    def lose(self, what: str) -> None:
        """Record something that the model needs and the provider accepts without."""
        self.session.losses.append(what)


def render(*parts: Any) -> str:
    """A prompt as one text: one line of JSON for each part."""
    lines = [json.dumps(part, ensure_ascii=False) for group in parts for part in as_list(group)]
    return "\n".join(lines)


def sse(data: Any, event: str | None = None) -> bytes:
    """An event of a stream."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def pieces(text: str | None, count: int = 3) -> list[str]:
    """A text in pieces, as in a stream."""
    text = text or ""
    size = max(1, -(-len(text) // count))
    return [text[start : start + size] for start in range(0, len(text), size)]
