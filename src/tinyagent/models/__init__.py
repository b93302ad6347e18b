"""Models: what answers a request, remote or local."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinyagent.models.anthropic import AnthropicModel
    from tinyagent.models.base import Model, get_model
    from tinyagent.models.fallback import FallbackModel
    from tinyagent.models.openai import OpenAIModel, OpenAIResponsesModel
    from tinyagent.models.recorded import RecordedModel
    from tinyagent.models.scripted import ScriptedModel, scripted_call
else:
    from tinyagent.core.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "anthropic": "AnthropicModel",
            "base": "Model get_model",
            "fallback": "FallbackModel",
            "openai": "OpenAIModel OpenAIResponsesModel",
            "recorded": "RecordedModel",
            "scripted": "ScriptedModel scripted_call",
        },
    )

__all__ = [
    "AnthropicModel",
    "FallbackModel",
    "Model",
    "OpenAIModel",
    "OpenAIResponsesModel",
    "RecordedModel",
    "ScriptedModel",
    "get_model",
    "scripted_call",
]
