"""What a strict server is scripted with, and what it hands to a script that is a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tinyagent.testing.http import Reply
from tinyagent.testing.strict.media import Attachment


@dataclass(frozen=True)
class Call:
    """A function call of the model."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Output:
    """What the model says, whoever the provider is; the server writes it in its own wire form.

    Attributes:
        text: the answer, or the words before the calls.
        reasoning: what it thinks first; None means that it does not think.
        calls: the functions it calls.
        redacted: the reasoning is not shown, only its opaque form (Anthropic, OpenRouter).
        refusal: the model declines, with these words.
        cut: the reply ends at the token limit.
        error: the provider fails with these words; in the middle of a stream if there is one.
        then: what comes behind the calls in the same message, for providers that interleave
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
    def sections(self) -> tuple[Output, ...]:
        """This, and what comes behind it in the same message."""
        return (self, *(self.then.sections if self.then is not None else ()))

    def joined(self) -> Output:
        """The same without sections: the reasoning first, then the text, then the calls."""
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
        """The same by a model that does not think."""
        then = None if self.then is None else self.then.without_reasoning()
        return replace(self, reasoning=None, then=then)


def _joined(*texts: str | None) -> str | None:
    given = [text for text in texts if text is not None]
    return "".join(given) if given else None


@dataclass(frozen=True)
class Received:
    """A request that the server accepted.

    Attributes:
        path: the path of the URL.
        headers: by their names in lower case.
        body: the JSON.
        attachments: images and documents of the whole conversation, decoded, in their order.
    """

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    attachments: tuple[Attachment, ...]


Answer = Output | Reply | str
Script = Iterable[Answer] | Callable[[Received], Answer]


def describe(received: Received) -> Output:
    """A script: the model names each image and document it was sent.

    A line each: media type, size in pixels where the format shows it, bytes and SHA-256.
    """
    lines = [attachment.description for attachment in received.attachments]
    return Output("\n".join(lines) or "There is no image and no document.")
