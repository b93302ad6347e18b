"""The model that the settings name."""

from __future__ import annotations

import os

from skillian.local_models import ollama_url
from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.planner import OfflinePlanner
from tinyagent import ConfigurationError, Model, OpenAIModel
from tinyagent.models import get_model

OFFLINE = "offline"
"""The setting for the offline planner; the same as no setting."""

LOCAL_TOKENS = 4096
_LOCAL = {"ollama", "llamacpp", "lmstudio"}


def make_model(name: str | None, vocabulary: Vocabulary) -> Model:
    """The model that the setting names; without one, the offline planner.

    Args:
        name: `offline`, or a name as tinyagent reads it, such as `openai:NAME` or `ollama:NAME`;
            a bare name is served by `OPENAI_BASE_URL`.
        vocabulary: The names that questions to the planner can use.

    Raises:
        tinyagent.ConfigurationError: A key or package is missing, an address is invalid, or
            nobody serves a model of that name.
    """
    wanted = (name or "").strip()
    if wanted.lower() in {"", OFFLINE}:
        return OfflinePlanner(vocabulary)
    prefix, colon, rest = wanted.partition(":")
    if colon and not rest.strip():
        raise ConfigurationError(
            f"SKILLIAN_MODEL is {wanted!r}, a provider without a model; write {prefix.lower()}:NAME"
        )
    if colon and prefix.lower() == "ollama":
        return _ollama(rest)
    return get_model(wanted)


def context_of(name: str | None, stated: int | None) -> int | None:
    """The tokens that a model can read and write at once; None if that is plenty.

    Args:
        name: The setting of the model.
        stated: The setting of its context; without one, a model of a server on this machine is
            taken to have what these servers give by default.
    """
    prefix = (name or "").partition(":")[0].strip().lower()
    return LOCAL_TOKENS if stated is None and prefix in _LOCAL else stated


def _ollama(name: str) -> Model:
    """A model of Ollama, whose own variable for its address counts too."""
    if os.environ.get("OLLAMA_BASE_URL"):
        return get_model(f"ollama:{name}")
    url = ollama_url(os.environ.get("OLLAMA_HOST", ""))
    try:
        return OpenAIModel(name, base_url=url, provider="ollama")
    except ConfigurationError:
        raise ConfigurationError(
            "OLLAMA_HOST or OLLAMA_API_KEY cannot be used; OLLAMA_HOST must look like host:port or"
            " https://host, the key is sent in a header"
        ) from None
