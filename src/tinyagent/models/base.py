"""The `Model` protocol, and how a name becomes a model."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from typing import Protocol, runtime_checkable

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.types import ModelDelta, ModelRequest, ModelResponse


@runtime_checkable
class Model(Protocol):
    """Answers requests. One object serves many runs, on one event loop after another."""

    @property
    def name(self) -> str:
        """What it is called in logs, traces and results."""
        ...

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer.

        Raises:
            ModelError: the server failed; which kind says who can act.
        """
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The answer as it is written; the last item is the whole `ModelResponse`.

        Raises:
            ModelError: as `complete`.
        """
        ...


def sees_images(model: Model) -> bool | None:
    """Whether the model is known to see images, or not to; None where that is not known."""
    known = getattr(model, "sees_images", None)
    return known if isinstance(known, bool) else None


def get_model(model: Model | str) -> Model:
    """A model, from itself or from its name.

    `"openai:gpt-4.1"` and a bare name are served by `OPENAI_BASE_URL` (OpenAI's own by default),
    there over the Responses API where the model needs it; `"openai-responses:…"` always is;
    `"anthropic:claude-sonnet-5"` by Anthropic, `"deepseek:deepseek-chat"` and the like by the
    provider of that name. A prefix that is no provider is part of a bare name.

    Raises:
        ConfigurationError: the key is missing, or the package that the provider needs.
    """
    if not isinstance(model, str):
        if not hasattr(model, "complete"):
            raise ConfigurationError(
                f"{model!r} is no model; give a name such as 'openai:gpt-4.1', or an object with"
                " name, complete and stream"
            )
        return model
    from tinyagent.models.anthropic import AnthropicModel  # noqa: PLC0415 - see the next line
    from tinyagent.models.openai import OpenAIModel  # noqa: PLC0415 - loads no provider unasked
    from tinyagent.models.openai_responses import OpenAIResponsesModel  # noqa: PLC0415 - as above
    from tinyagent.models.providers import PROVIDERS  # noqa: PLC0415 - as above

    provider, colon, name = model.partition(":")
    if colon and provider == "openai":
        return _openai_model(name)
    if colon and provider == "anthropic":
        return AnthropicModel(name)
    if colon and provider == "openai-responses":
        return OpenAIResponsesModel(name)
    if colon and provider in PROVIDERS:
        return OpenAIModel(name, provider=provider)
    if not model.strip():
        raise ConfigurationError("the model's name is empty; give one such as 'openai:gpt-4.1'")
    # Ollama's names hold a colon of their own ("llama3.2:1b"): an unknown prefix is no provider.
    return _openai_model(model)


def _openai_model(name: str) -> Model:
    """A model of OpenAI over the API that it needs; of any other server over chat completions."""
    from tinyagent.models.openai import OPENAI_URL, OpenAIModel  # noqa: PLC0415 - as above
    from tinyagent.models.openai_responses import OpenAIResponsesModel  # noqa: PLC0415 - as above
    from tinyagent.models.providers import find_provider  # noqa: PLC0415 - as above

    provider = find_provider(os.environ.get("OPENAI_BASE_URL") or OPENAI_URL)
    is_needed = provider.name == "openai" and provider.for_model(name).api == "responses"
    return OpenAIResponsesModel(name) if is_needed else OpenAIModel(name)
