"""RecordedModel: records a real model once, then replays it without a network."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Literal, get_args

from tinyagent.core.errors import ConfigurationError, ModelError, RecordingMismatch
from tinyagent.core.types import ModelDelta, ModelRequest, ModelResponse
from tinyagent.models.base import Model, get_model
from tinyagent.models.drift import difference, digest, nearest
from tinyagent.models.recording import RecordedExchange, read_recording, write_recording
from tinyagent.options import checks_options

RecordingMode = Literal["auto", "record", "replay"]


@checks_options()
class RecordedModel:
    """Records what a model answers, then gives the same answers to the same requests.

    A replay needs no network, no key and no model. It returns answers, deltas, call ids and
    `ModelError`s as they were recorded, streamed or not. A request is matched by its whole
    content: messages, tools and their order, temperature, `max_tokens`. Only call ids are compared
    by their position in the conversation, because adapters make up random ones. Concurrent runs
    therefore find their answers in any order. A request that is repeated gets its recorded answers
    in order, each one once. A request that is not in the recording raises `RecordingMismatch` with
    the difference to the nearest remaining one.

    Args:
        path: The JSON file. It is written after each answer, completely or not at all. It holds
            every request and answer, and no key: read it before you publish it.
        model: The model to record, or its name; it is created only for a recording.
        mode: `"replay"`; `"record"`, which replaces the file; or `"auto"`, which replays the file
            if it exists and records it otherwise.

    Raises:
        ConfigurationError: The file is missing or faulty, or there is no model to record.
    """

    def __init__(
        self,
        path: str | Path,
        model: Model | str | None = None,
        *,
        mode: RecordingMode = "auto",
    ) -> None:
        if mode not in get_args(RecordingMode):
            modes = ", ".join(get_args(RecordingMode))
            raise ConfigurationError(f"unknown mode {mode!r}; use one of: {modes}")
        self._path = Path(path)
        replays = mode == "replay" or (mode == "auto" and self._path.exists())
        self._source: _Replay | _Recorder = (
            _Replay(self._path) if replays else _recorder(self._path, model)
        )

    @property
    def name(self) -> str:
        """The name of the model that is or was recorded."""
        return self._source.name

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer.

        Raises:
            ModelError: As the model raised it.
            RecordingMismatch: The request is not in the recording, or all its answers are used.
        """
        return await self._source.complete(request)

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The answer in its recorded pieces, then whole; raises as `complete`.

        An answer that was recorded without streaming comes in one piece.
        """
        return self._source.stream(request)

    def __repr__(self) -> str:
        return f"RecordedModel({str(self._path)!r}, {self.name!r})"


def _recorder(path: Path, model: Model | str | None) -> _Recorder:
    if model is None:
        raise ConfigurationError(
            f"there is no model to record into {path}; pass one: RecordedModel(path, model)"
        )
    return _Recorder(path, get_model(model))


class _Recorder:
    """Asks the model and records the result."""

    def __init__(self, path: Path, model: Model) -> None:
        self.name = model.name
        self._path = path
        self._model = model
        self._exchanges: list[RecordedExchange] = []
        self._lock = threading.Lock()  # one model may serve loops in several threads

    async def complete(self, request: ModelRequest) -> ModelResponse:
        try:
            response = await self._model.complete(request)
        except ModelError as error:
            self._record(RecordedExchange(request, error))
            raise
        self._record(RecordedExchange(request, response))
        return response

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        deltas: list[ModelDelta] = []
        try:
            async with aclosing(self._model.stream(request)) as items:
                async for item in items:
                    if isinstance(item, ModelDelta):
                        deltas.append(item)
                    else:  # before the yield: the caller may not resume
                        self._record(RecordedExchange(request, item, tuple(deltas)))
                    yield item
        except ModelError as error:
            self._record(RecordedExchange(request, error, tuple(deltas)))
            raise

    def _record(self, exchange: RecordedExchange) -> None:
        with self._lock:
            self._exchanges.append(exchange)
            write_recording(self._path, self.name, self._exchanges)


class _Replay:
    """Gives each recorded answer once, to the request that it was recorded for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name, self._exchanges = read_recording(path)
        self._waiting: dict[str, deque[RecordedExchange]] = {}
        for exchange in self._exchanges:
            self._waiting.setdefault(digest(exchange.request), deque()).append(exchange)

    async def complete(self, request: ModelRequest) -> ModelResponse:
        return self._answer(self._match(request))

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        exchange = self._match(request)
        for delta in _in_one_piece(exchange) if exchange.deltas is None else exchange.deltas:
            yield delta
        yield self._answer(exchange)

    def _answer(self, exchange: RecordedExchange) -> ModelResponse:
        if isinstance(exchange.outcome, ModelError):
            raise exchange.outcome
        return exchange.outcome

    def _match(self, request: ModelRequest) -> RecordedExchange:
        key = digest(request)
        if self._waiting.get(key):
            return self._waiting[key].popleft()
        raise RecordingMismatch(f"{self._path}: {self._mismatch(request, key)}")

    def _mismatch(self, request: ModelRequest, key: str) -> str:
        if key in self._waiting:
            count = sum(digest(each.request) == key for each in self._exchanges)
            return f"this request was recorded {_times(count)}, and is made once more"
        remaining = [exchange.request for queue in self._waiting.values() for exchange in queue]
        if not remaining:
            count = len(self._exchanges)
            return f"all {count} answers of the recording are used; this request is one more"
        return (
            "the request differs from the recorded one; undo the change, or record it again (delete"
            " the file, or use mode='record'):\n"
            + difference(remaining[nearest(request, remaining)], request)
        )


def _in_one_piece(exchange: RecordedExchange) -> tuple[ModelDelta, ...]:
    if isinstance(exchange.outcome, ModelResponse) and exchange.outcome.content:
        return (ModelDelta(exchange.outcome.content),)
    return ()


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
