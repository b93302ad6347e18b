"""From the settings to a model."""

from __future__ import annotations

from skillian.errors import UnavailableError
from skillian.llm.planner import OfflinePlanner
from skillian.llm.vocabulary import Vocabulary
from tinyagent import Model, OpenAIModel


def make_model(name: str | None, vocabulary: Vocabulary) -> Model:
    """The model that the setting names; without one, the offline planner.

    Args:
        name: `openai:gpt-4.1`, or a bare name served by `OPENAI_BASE_URL`.
        vocabulary: what the planner can speak about.

    Raises:
        UnavailableError: this version does not speak to that provider.
        tinyagent.ConfigurationError: the model's key is missing.
    """
    if name is None:
        return OfflinePlanner(vocabulary)
    if name.startswith(("anthropic:", "ollama:")):
        raise UnavailableError(
            f"the model {name!r} cannot be used yet; write openai:NAME, with OPENAI_BASE_URL for a"
            " server of your own (Ollama has one too)"
        )
    return OpenAIModel(name.removeprefix("openai:"))
