"""The `Model` protocol, and how a name becomes a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol, runtime_checkable

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.types import ModelDelta, ModelRequest, ModelResponse


@runtime_checkable
class Model(Protocol):
    """Answers requests. One object serves many runs, on any number of event loops."""

    @property
    def name(self) -> str:
        """The name in logs, traces and results."""
        ...

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer.

        Raises:
            ModelError: The server failed; its class says who can act.
        """
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The answer as it is written; the last item is the whole `ModelResponse`.

        Raises:
            ModelError: As `complete`.
        """
        ...


def sees_images(model: Model) -> bool | None:
    """Whether the model is known to see images, or not to; None if that is unknown."""
    known = getattr(model, "sees_images", None)
    return known if isinstance(known, bool) else None


def get_model(model: Model | str) -> Model:
    """A model, from itself or from its name.

    `"openai:gpt-4.1"` and a bare name are served by `OPENAI_BASE_URL` (by default OpenAI's own,
    over the Responses API for models that need it); `"openai-responses:…"` always uses that API;
    `"anthropic:claude-sonnet-5"` is served by Anthropic, `"deepseek:deepseek-chat"` and the like
    by the provider of that name. A prefix that is not a provider is part of a bare name, which
    OpenAI itself does not serve.

    Raises:
        ConfigurationError: The key is missing, or the package that the provider needs; or nobody
            serves a model of that name.
    """
    if not isinstance(model, str):
        if not hasattr(model, "complete"):
            raise ConfigurationError(
                f"{model!r} is not a model; pass a name such as 'openai:gpt-4.1', or an object"
                " with name, complete and stream"
            )
        return model
    from tinyagent.models.openai import (  # noqa: PLC0415 - loads a provider only when needed
        OpenAIModel,
        OpenAIResponsesModel,
        bare_model,
        openai_model,
    )
    from tinyagent.models.providers import PROVIDERS  # noqa: PLC0415 - as above

    prefix, colon, name = model.partition(":")
    match prefix.strip().lower() if colon else "":
        case "openai":
            return openai_model(name)
        case "openai-responses":
            return OpenAIResponsesModel(name)
        case "anthropic":
            from tinyagent.models.anthropic import AnthropicModel  # noqa: PLC0415 - as above

            return AnthropicModel(name)
        case provider if provider in PROVIDERS:
            return OpenAIModel(name, provider=provider)
        case _:
            return bare_model(model)
