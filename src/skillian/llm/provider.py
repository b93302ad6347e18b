"""From the settings to a model."""

from __future__ import annotations

from skillian.llm.planner import OfflinePlanner
from skillian.llm.vocabulary import Vocabulary
from tinyagent import Model, OpenAIModel


def make_model(name: str | None, vocabulary: Vocabulary) -> Model:
    """The model that the setting names; without one, the offline planner.

    Args:
        name: `openai:gpt-4.1`, or a bare name served by `OPENAI_BASE_URL`.
        vocabulary: what the planner can speak about.

    Raises:
        tinyagent.ConfigurationError: the model's key is missing.
    """
    if name is None:
        return OfflinePlanner(vocabulary)
    return OpenAIModel(name.removeprefix("openai:"))
