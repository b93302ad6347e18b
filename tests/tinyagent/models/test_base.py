from __future__ import annotations

import pytest

from tinyagent import ConfigurationError, Model, OpenAIModel, ScriptedModel
from tinyagent.models.base import get_model


def test_a_model_is_itself() -> None:
    model = ScriptedModel([])
    assert get_model(model) is model


@pytest.mark.parametrize(
    ("name", "model_name"),
    [
        ("openai:gpt-4.1", "gpt-4.1"),
        ("gpt-4.1", "gpt-4.1"),
        ("llama3.2:1b", "llama3.2:1b"),
        ("mistral", "mistral"),
        ("anthropic", "anthropic"),
        ("openai:llama3.2:1b", "llama3.2:1b"),
    ],
)
def test_a_name_is_served_by_the_address_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, name: str, model_name: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    model = get_model(name)
    assert type(model) is OpenAIModel
    assert model.name == model_name
    assert "http://localhost:1/v1" in repr(model)


@pytest.mark.parametrize("name", ["OpenAI:gpt-4.1", "OLLAMA:gpt-4.1", "LlamaCpp:gpt-4.1"])
def test_a_provider_is_known_in_any_case(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert get_model(name).name == "gpt-4.1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("opnai:gpt-5", "there is no provider 'opnai' .* did you mean openai:?"),
        ("antropic:claude-sonnet-5", "did you mean anthropic:?"),
        ("llama3.2:1b", "set OPENAI_BASE_URL to the server that has the model"),
        ("mixtral:8x7b", "set OPENAI_BASE_URL"),
        ("anthropic", "'anthropic' is a provider without a model; write anthropic:NAME"),
        ("Mistral", "write mistral:NAME"),
    ],
)
def test_a_name_that_openai_does_not_have_is_refused_only_there(
    monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(ConfigurationError, match=message):
        get_model(name)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    assert get_model(name).name == name


def test_names_of_fine_tuned_models_are_openais(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert get_model("ft:gpt-4.1:acme::id").name == "ft:gpt-4.1:acme::id"


@pytest.mark.parametrize("name", ["", "  ", "openai:", "openai: "])
def test_an_empty_name_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(ConfigurationError, match="the model's name is empty; pass one such as"):
        get_model(name)


def test_what_is_a_model_can_be_checked() -> None:
    assert isinstance(ScriptedModel([]), Model)
    assert not isinstance("gpt-4.1", Model)
