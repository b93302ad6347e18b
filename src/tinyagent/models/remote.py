"""RemoteModel: what all models behind a server share, whatever format the server speaks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from tinyagent.core.errors import ModelConnectionError
from tinyagent.core.types import ModelDelta, ModelRequest, ModelResponse
from tinyagent.models.body import hiding
from tinyagent.models.retry import attempts


class Endpoint(Protocol):
    """What takes the body of a request and gives the JSON of the reply."""

    where: str
    key: str | None

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

    def add(self, data: Any) -> ModelDelta | None:
        """Take one event; gives its piece of text, if it has one."""
        ...

    def response(self) -> ModelResponse:
        """The whole answer so far."""
        ...


@dataclass(frozen=True, slots=True)
class ReplyFormat:
    """How a server's replies are read: whole ones, and the events of streamed ones."""

    decode: Callable[[Any], ModelResponse]
    is_whole_reply: Callable[[Any], bool]
    assembler: Callable[[], Assembler]


class RemoteModel(ABC):
    """Tries again what may pass, and streams what may break."""

    def __init__(self, name: str, endpoint: Endpoint, replies: ReplyFormat, retries: int) -> None:
        self._name = name
        self._endpoint = endpoint
        self._replies = replies
        self._retries = retries

    @property
    def name(self) -> str:
        """The model's name as the server knows it."""
        return self._name

    @abstractmethod
    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        """The request in the server's format."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer; raises `ModelError`."""
        body = self.body(request, stream=False)
        async for attempt in attempts(self._retries):
            with attempt, hiding(self._endpoint.key):
                return self._replies.decode(await self._endpoint.post(body))
        raise AssertionError("the last attempt returns or raises")

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The answer as it is written, then whole; raises `ModelError`.

        When the connection breaks in the middle and is made again, a delta of kind `restart`
        says that what came before is void.
        """
        body = self.body(request, stream=True)
        begun = False
        async for attempt in attempts(self._retries):
            with attempt, hiding(self._endpoint.key):
                if begun:
                    yield ModelDelta("", "restart")
                    begun = False
                async with aclosing(self._stream_once(body)) as items:
                    async for item in items:
                        begun = True
                        yield item
                return

    async def _stream_once(
        self, body: dict[str, Any]
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        assembler = self._replies.assembler()
        async with aclosing(self._endpoint.stream(body)) as events:
            async for event in events:
                if self._replies.is_whole_reply(event):  # the server does not stream
                    response = self._replies.decode(event)
                    if response.content:
                        yield ModelDelta(response.content)
                    yield response
                    return
                delta = assembler.add(event)
                if delta is not None:
                    yield delta
        if not assembler.is_whole:
            raise ModelConnectionError(
                f"the stream from {self._endpoint.where} ended before the answer was whole"
            )
        yield assembler.response()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, {self._endpoint.where!r})"
