"""The script of a strict server, and the request that it passes to a script function."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tinyagent.testing.http import Reply
from tinyagent.testing.strict.media import Attachment
from tinyagent.testing.strict.session import tokens


@dataclass(frozen=True)
class Call:
    """A function call of the model."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Output:
    """The model's answer, for any provider; the server writes it in the provider's format.

    Attributes:
        text: The answer, or the text before the calls.
        reasoning: The reasoning before the answer; None if there is none.
        calls: The function calls.
        redacted: The reasoning is not shown, only its opaque form (Anthropic, OpenRouter).
        refusal: The model declines with this text.
        cut: The reply ends at the token limit.
        error: The provider fails with this message, in the middle of a stream if there is one.
        then: Another output after the calls in the same message, for providers that interleave
            reasoning and calls (Anthropic, OpenAI's Responses); others send it joined.
    """

    text: str | None = None
    reasoning: str | None = None
    calls: Sequence[Call] = ()
    redacted: bool = False
    refusal: str | None = None
    cut: bool = False
    error: str | None = None
    then: Output | None = None

    @property
    def tokens(self) -> tuple[int, int]:
        """The tokens of the answer with its calls, and those of the reasoning."""
        calls = "".join(json.dumps(dict(call.arguments)) for call in self.calls)
        return tokens((self.text or "") + calls), tokens(self.reasoning or "")

    @property
    def sections(self) -> tuple[Output, ...]:
        """This output, and those after it in the same message."""
        return (self, *(self.then.sections if self.then is not None else ()))

    def joined(self) -> Output:
        """The output without sections: the reasoning first, then the text, then the calls."""
        if self.then is None:
            return self
        rest = self.then.joined()
        return replace(
            rest,
            text=_joined(self.text, rest.text),
            reasoning=_joined(self.reasoning, rest.reasoning),
            calls=(*self.calls, *rest.calls),
            redacted=self.redacted or rest.redacted,
        )

    def without_reasoning(self) -> Output:
        """The output of a model that does not reason."""
        then = None if self.then is None else self.then.without_reasoning()
        return replace(self, reasoning=None, then=then)


def _joined(*texts: str | None) -> str | None:
    present = [text for text in texts if text is not None]
    return "".join(present) if present else None


@dataclass(frozen=True)
class Received:
    """A request that the server accepted.

    Attributes:
        path: The path of the URL.
        headers: By their names in lower case.
        body: The JSON.
        attachments: Images and documents of the whole conversation, decoded, in order.
    """

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    attachments: tuple[Attachment, ...]


StrictAnswer = Output | Reply | str
StrictScript = Iterable[StrictAnswer] | Callable[[Received], StrictAnswer]


def describe(received: Received) -> Output:
    """A script: the model lists the images and documents that it was sent.

    Each line holds the media type, the size in pixels if the format shows it, bytes and SHA-256.
    """
    lines = [attachment.description for attachment in received.attachments]
    return Output("\n".join(lines) or "There is no image and no document.")
