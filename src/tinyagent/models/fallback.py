"""FallbackModel: the next model when one fails."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from tinyagent.core.errors import (
    ConfigurationError,
    ModelContextTooLong,
    ModelError,
    ModelFormatRefused,
    ModelReplyError,
)
from tinyagent.core.logs import logger
from tinyagent.core.types import ModelDelta, ModelRequest, ModelResponse
from tinyagent.models.base import Model, get_model, sees_images

# The run itself fixes these: it prunes, or offers its tools in another form. With another model,
# the first one would never be used again, or its error would hide the fix.
_FOR_THE_RUN = (ModelContextTooLong, ModelFormatRefused)


class FallbackModel:
    """Asks the first of several models, and the next one when one fails with a `ModelError`.

    Each request starts with the first model again: nothing is remembered between requests. A
    model makes its own retries first; set few for all but the last (`retries=0`) to switch
    quickly.

    Two errors are raised at once, because the run fixes them with a different request:
    `ModelContextTooLong` and `ModelFormatRefused`. After any other error (a wrong key, an exhausted
    quota, an unknown model, a refused request) the next model is asked. When all have failed, the
    last error is raised with the earlier ones as its notes.

    Args:
        models: Models or their names, in order of preference.

    Raises:
        ConfigurationError: There are none, or one cannot be made.
    """

    def __init__(self, models: Iterable[Model | str]) -> None:
        self._models = tuple(get_model(model) for model in models)
        if not self._models:
            raise ConfigurationError("a FallbackModel needs at least one model")

    @property
    def name(self) -> str:
        """The names of the models in order; `ModelResponse.model` is the one that answered."""
        return f"fallback({', '.join(model.name for model in self._models)})"

    @property
    def sees_images(self) -> bool | None:
        """Whether all of the models are known to see images; None if that is unknown."""
        visions = [sees_images(model) for model in self._models]
        return True if all(visions) else False if False in visions else None

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer of the first model that gives one.

        Raises:
            ModelError: All have failed, or the run has to change its request.
        """
        failures = _Failures()
        for model in self._models:
            try:
                return await model.complete(request)
            except ModelError as error:
                failures.add(model, error)
        raise failures.last()

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The answer as it is written, then whole; raises as `complete`.

        When a model fails in the middle, a delta of kind `restart` means that everything streamed
        before it is void.
        """
        failures = _Failures()
        started = False
        for model in self._models:
            if started:
                yield ModelDelta("", "restart")
                started = False
            try:
                async with aclosing(model.stream(request)) as items:
                    async for item in items:
                        started = True
                        yield item
                        if isinstance(item, ModelResponse):
                            return
                raise ModelReplyError(f"{model.name} ended its stream without a complete answer")
            except ModelError as error:
                failures.add(model, error)
        raise failures.last()

    def __repr__(self) -> str:
        return f"FallbackModel([{', '.join(repr(model) for model in self._models)}])"


class _Failures:
    """The failures of one request, in order."""

    def __init__(self) -> None:
        self._errors: list[tuple[str, ModelError]] = []

    def add(self, model: Model, error: ModelError) -> None:
        """Add one; raise it if no other model is to be asked."""
        self._errors.append((model.name, error))
        if isinstance(error, _FOR_THE_RUN):
            raise self.last()
        logger.info("%s failed (%s), asking the next model", model.name, error)

    def last(self) -> ModelError:
        """The last error, with the earlier ones as notes."""
        error = self._errors[-1][1]
        for name, earlier in self._errors[:-1]:
            error.add_note(f"before that, {name} failed: {type(earlier).__name__}: {earlier}")
        return error
