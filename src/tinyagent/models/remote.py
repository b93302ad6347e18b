"""RemoteModel: what all models behind a server share, whatever format the server speaks."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import aclosing, contextmanager
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from tinyagent.core.errors import (
    ConfigurationError,
    ModelConnectionError,
    ModelContextTooLong,
    ModelError,
)
from tinyagent.core.logs import logger
from tinyagent.core.messages import Message
from tinyagent.core.parts import Document, Image
from tinyagent.core.types import (
    ModelDelta,
    ModelRequest,
    ModelResponse,
    ReasoningWish,
    Usage,
)
from tinyagent.models.endpoint import DONE
from tinyagent.models.failures import GenerationRefused
from tinyagent.models.provider import Provider, check_reasoning
from tinyagent.options import require_least

if TYPE_CHECKING:
    from collections.abc import AsyncIterable
    from contextlib import AbstractContextManager

    from tinyagent.models.wire.shared import ReplyReader

MAX_WAIT_SECONDS = 60.0
MAX_ATTACHED_BYTES = 22 * 1024 * 1024  # as base64 just under the 32 MB that providers take
_MIN_SECRET = 8  # keyless servers get "x" or "none", and ordinary words contain such letters


class ModelEndpoint(Protocol):
    """Sends the body of a request and returns the JSON of the reply."""

    where: str
    """The address, without secrets."""
    key: str | None
    variables: str
    """The prefix of the environment variables that configure it."""

    async def post(self, body: dict[str, Any]) -> Any:
        """The JSON of the reply; raises `ModelError`."""
        ...

    def stream(self, body: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """The JSON of each event of a streamed reply, `DONE` if it is sent; raises `ModelError`."""
        ...


class Encode(Protocol):
    """Makes the body of a request for a model, as its provider wants it."""

    def __call__(
        self, model: str, request: ModelRequest, *, stream: bool, provider: Provider
    ) -> dict[str, Any]:
        """The body; raises `ModelRefused` for what the provider does not take."""
        ...


class Wire(NamedTuple):
    """The format of an API: what makes the body of a request, and what reads the reply."""

    encode: Encode
    reader: Callable[[Provider, str], ReplyReader]


class RemoteModel:
    """A model behind a server: retries failures that may pass, and restarts broken streams.

    A subclass names its `wire`, or overrides `body` and `reply`.

    Args:
        name: The model's name as the server knows it.
        profile: The provider as it is for this model.
        endpoint: Where requests are sent.
        retries: How often a request is repeated after a failure that may pass.
        reasoning: How much to reason if a request does not say.

    Raises:
        ConfigurationError: The name is empty, or `reasoning` is not valid.
    """

    wire: ClassVar[Wire]

    def __init__(
        self,
        name: str,
        profile: Provider,
        endpoint: ModelEndpoint,
        *,
        retries: int,
        reasoning: ReasoningWish | None,
    ) -> None:
        if not name.strip():
            raise ConfigurationError("the model's name is empty; pass one such as 'gpt-4.1'")
        check_reasoning(reasoning)
        require_least(0, retries=retries)
        self._name = name
        self._profile = profile
        self._endpoint = endpoint
        self._retries = retries
        self._reasoning = reasoning

    @property
    def name(self) -> str:
        """The model's name as the server knows it."""
        return self._name

    @property
    def provider(self) -> str:
        """The provider's name, the prefix of its models' names."""
        return self._profile.name

    @property
    def sees_images(self) -> bool | None:
        """Whether the model is known to see images, or not to; None if that is unknown."""
        return self._profile.images

    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        """The request in the server's format."""
        return self.wire.encode(self._name, request, stream=stream, provider=self._profile)

    def reply(self, body: dict[str, Any]) -> ReplyReader:
        """What reads the reply to the request `body`."""
        del body
        return self.wire.reader(self._profile, self._name)

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer; raises `ModelError`."""
        body = self.body(self._prepared(request), stream=False)
        async for attempt in attempts(self._retries):
            with attempt, without_key(self._endpoint.key, self._endpoint.variables):
                try:
                    data = await self._endpoint.post(body)
                    return self._signed(self.reply(body).read(data))
                except GenerationRefused as refused:
                    return self._signed(_written(refused))
        raise AssertionError("the last attempt returns or raises")

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The answer as it is written, then the whole `ModelResponse`; raises `ModelError`.

        When the connection breaks in the middle and is made again, a delta of kind `restart`
        means that everything streamed before it is void.
        """
        body = self.body(self._prepared(request), stream=True)
        started = False
        async for attempt in attempts(self._retries):
            with attempt, without_key(self._endpoint.key, self._endpoint.variables):
                if started:
                    yield ModelDelta("", "restart")
                    started = False
                try:
                    async with aclosing(self._stream_once(body)) as items:
                        async for item in items:
                            started = True
                            yield item
                except GenerationRefused as refused:
                    if started:
                        yield ModelDelta("", "restart")
                    yield self._signed(_written(refused))
                return

    def _prepared(self, request: ModelRequest) -> ModelRequest:
        """The request, with the model's own setting for reasoning if it has none.

        A temperature that the model does not accept is logged here, and left out of the body.

        Raises:
            ModelContextTooLong: Its images and documents are too large for one request.
        """
        _check_attachments(request.messages)
        if request.reasoning is None and self._reasoning is not None:
            request = replace(request, reasoning=self._reasoning)
        wanted = request.temperature
        sent = self._profile.temperature_for(wanted, request.reasoning)
        if sent != wanted:
            _note_temperature(self._name, wanted, sent)
        return request

    async def _stream_once(
        self, body: dict[str, Any]
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        reply = self.reply(body)
        done = False
        async with aclosing(self._endpoint.stream(body)) as events:
            async for event in events:
                if event == DONE:
                    done = True
                    break
                if reply.is_unstreamed(event):
                    response = self._signed(reply.read(event))
                    if response.reasoning:
                        yield ModelDelta(response.reasoning, "reasoning")
                    if response.content:
                        yield ModelDelta(response.content)
                    yield response
                    return
                for delta in reply.add(event):
                    yield delta
        if not reply.is_whole(done=done):
            raise ModelConnectionError(
                f"the stream from {self._endpoint.where} ended before the answer was complete"
            )
        yield self._signed(reply.response())

    def _signed(self, response: ModelResponse) -> ModelResponse:
        return replace(response, provider=self.provider, model=response.model or self._name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, {self._endpoint.where!r})"


def _written(refused: GenerationRefused) -> ModelResponse:
    """What the model wrote as its reply, so that it is read, or goes back with what is wrong.

    A call stands between the tags that models without function calling use.
    """
    content = refused.written.strip()
    if content and refused.code == "tool_use_failed":
        content = f"<tool_call>{content.removeprefix('<tool_call>').removesuffix('</tool_call>')}"
        content += "</tool_call>"
    usage = Usage(requests=1, uncounted=1)
    return ModelResponse(content or None, usage=usage, finish_reason=refused.code)


def attempts(retries: int) -> AsyncIterable[AbstractContextManager[object]]:
    """The attempts of one request, at most 1 + `retries`, each to be entered with `with`.

    Waits grow from 0.5 s, with jitter. A server's `Retry-After` is respected up to 60 s; a longer
    one ends the attempts. The last error is raised.
    """
    import stamina  # noqa: PLC0415 - loaded with the first request, not with tinyagent

    _silence_stamina()
    return stamina.retry_context(
        on=_retry_after, attempts=retries + 1, timeout=None, wait_initial=0.5, wait_max=8.0
    )


@lru_cache
def _note_temperature(model: str, wanted: float | None, sent: float | None) -> None:
    """Log, once, that a model is not sent the temperature that was requested."""
    said = "none is sent" if sent is None else f"{sent:g} is sent"
    logger.warning("%s does not accept the temperature %s: %s", model, wanted, said)


@cache
def _silence_stamina() -> None:
    """Keep stamina's log silent: `tinyagent` logs the same failures."""
    logging.getLogger("stamina").addHandler(logging.NullHandler())


def _retry_after(error: Exception) -> bool | float:
    if not isinstance(error, ModelError) or not error.retryable:
        return False
    logger.info("a request to the model failed: %s", error)
    if error.retry_after is None:
        return True
    # stamina reads 0 as False: do not retry.
    return max(error.retry_after, 0.001) if error.retry_after <= MAX_WAIT_SECONDS else False


@contextmanager
def without_key(key: str | None, variables: str) -> Generator[None]:
    """Remove the API key from the message of a `ModelError`: servers echo it in odd places.

    The message also names the provider's own environment variables, which begin with `variables`.
    """
    try:
        yield
    except ModelError as error:
        message = str(error).replace("OPENAI_", f"{variables}_")
        if key and len(key) >= _MIN_SECRET:
            message = message.replace(key, "***")
        error.args = (message,)
        raise


def _check_attachments(messages: Iterable[Message]) -> None:
    """Check that the images and documents of a request are not larger than any server takes.

    Raises:
        ModelContextTooLong: They are; the run prunes the conversation and retries.
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
            f" {MAX_ATTACHED_BYTES:,} are sent in one request; pass fewer or smaller ones"
        )
