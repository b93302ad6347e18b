"""RemoteModel: what all models behind a server share, whatever format the server speaks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Protocol

from tinyagent.core.errors import ModelConnectionError
from tinyagent.core.types import ModelDelta, ModelRequest, ModelResponse, ReasoningWish
from tinyagent.models.body import hiding
from tinyagent.models.providers import check_reasoning
from tinyagent.models.retry import attempts


class Endpoint(Protocol):
    """What takes the body of a request and gives the JSON of the reply."""

    where: str
    key: str | None
    variables: str
    """The beginning of the environment variables that it is told of by."""

    async def post(self, body: dict[str, Any]) -> Any:
        """The reply."""
        ...

    def stream(self, body: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """The events of a streamed reply."""
        ...


class Assembler(Protocol):
    """Puts the events of a streamed reply together."""

    @property
    def is_whole(self) -> bool:
        """Whether the server said how the answer ends."""
        ...

    def add(self, data: Any) -> Sequence[ModelDelta]:
        """Take one event; gives its pieces of text and reasoning, if it has any."""
        ...

    def response(self) -> ModelResponse:
        """The whole answer so far."""
        ...


class RemoteModel(ABC):
    """Tries again what may pass, and streams what may break."""

    provider: str
    sees_images: bool | None = None
    """Whether the model is known to see images, or not to; None: that is not known."""
    """Who serves it, by the name that begins its models' names."""

    def __init__(
        self, name: str, endpoint: Endpoint, retries: int, reasoning: ReasoningWish | None
    ) -> None:
        check_reasoning(reasoning)
        self._reasoning = reasoning
        self._name = name
        self._endpoint = endpoint
        self._retries = retries

    @property
    def name(self) -> str:
        """The model's name as the server knows it."""
        return self._name

    @abstractmethod
    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        """The request in the server's format."""

    @abstractmethod
    def decode(self, data: Any, body: dict[str, Any]) -> ModelResponse:
        """Read a whole reply to the request `body`."""

    @abstractmethod
    def is_whole_reply(self, data: Any) -> bool:
        """Whether an event of a stream is a reply in one piece: the server does not stream."""

    @abstractmethod
    def assembler(self, body: dict[str, Any]) -> Assembler:
        """What puts the events of a streamed reply to the request `body` together."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer; raises `ModelError`."""
        body = self.body(self._as_told(request), stream=False)
        async for attempt in attempts(self._retries):
            with attempt, hiding(self._endpoint.key, self._endpoint.variables):
                reply = await self._endpoint.post(body)
                return self._signed(self.decode(reply, body))
        raise AssertionError("the last attempt returns or raises")

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The answer as it is written, then whole; raises `ModelError`.

        When the connection breaks in the middle and is made again, a delta of kind `restart`
        says that what came before is void.
        """
        body = self.body(self._as_told(request), stream=True)
        begun = False
        async for attempt in attempts(self._retries):
            with attempt, hiding(self._endpoint.key, self._endpoint.variables):
                if begun:
                    yield ModelDelta("", "restart")
                    begun = False
                async with aclosing(self._stream_once(body)) as items:
                    async for item in items:
                        begun = True
                        yield item
                return

    def _as_told(self, request: ModelRequest) -> ModelRequest:
        """The request with the model's own wish for reasoning, where it has none itself."""
        if request.reasoning is not None or self._reasoning is None:
            return request
        return replace(request, reasoning=self._reasoning)

    async def _stream_once(
        self, body: dict[str, Any]
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        assembler = self.assembler(body)
        async with aclosing(self._endpoint.stream(body)) as events:
            async for event in events:
                if self.is_whole_reply(event):
                    response = self._signed(self.decode(event, body))
                    if response.reasoning:
                        yield ModelDelta(response.reasoning, "reasoning")
                    if response.content:
                        yield ModelDelta(response.content)
                    yield response
                    return
                for delta in assembler.add(event):
                    yield delta
        if not assembler.is_whole:
            raise ModelConnectionError(
                f"the stream from {self._endpoint.where} ended before the answer was whole"
            )
        yield self._signed(assembler.response())

    def _signed(self, response: ModelResponse) -> ModelResponse:
        return replace(response, provider=self.provider, model=response.model or self._name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, {self._endpoint.where!r})"
