"""Providers, each asked over HTTP by a server that speaks as it does."""

from __future__ import annotations

import pytest
from tests.support.messages_server import MessagesServer

from skillian.local_models import ollama_url
from skillian.models import make_model
from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.planner import OfflinePlanner
from tinyagent import ConfigurationError, Message
from tinyagent.core import ModelRequest, ModelResponse
from tinyagent.testing import MockServer

REQUEST = ModelRequest([Message("user", "hello")])
NOTHING = Vocabulary({})


@pytest.mark.parametrize("name", [None, "", " ", "offline", "Offline"])
def test_without_a_name_the_planner_answers(name: str | None) -> None:
    assert isinstance(make_model(name, NOTHING), OfflinePlanner)


@pytest.mark.parametrize("name", ["openai:gpt-4.1", "OpenAI:gpt-4.1", "gpt-4.1"])
async def test_openai_and_any_server_that_speaks_like_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with MockServer(["Hi."]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        answer = await make_model(name, NOTHING).complete(REQUEST)
    assert answer.content == "Hi."
    assert server.requests[0]["model"] == "gpt-4.1"


async def test_a_bare_name_may_hold_a_colon(monkeypatch: pytest.MonkeyPatch) -> None:
    async with MockServer(["Hi."]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        await make_model("llama3.2:1b", NOTHING).complete(REQUEST)
    assert server.requests[0]["model"] == "llama3.2:1b"


async def test_anthropic(monkeypatch: pytest.MonkeyPatch) -> None:
    async with MessagesServer([ModelResponse("Hi.", id="m", model="claude")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-anthropic")
        answer = await make_model("anthropic:claude-sonnet-5", NOTHING).complete(REQUEST)
    assert answer.content == "Hi."
    assert server.requests[0]["model"] == "claude-sonnet-5"
    assert server.keys == ["key-of-anthropic"]


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("lmstudio:qwen/qwen3-4b", "http://localhost:1234/v1/"),
        ("llamacpp:gemma", "http://localhost:8080/v1/"),
        ("vLLM:Qwen/Qwen3-8B", "http://localhost:8000/v1/"),
    ],
)
def test_servers_of_this_machine_need_no_key(name: str, address: str) -> None:
    model = make_model(name, NOTHING)
    assert model.name == name.partition(":")[2]
    assert address in repr(model)


async def test_ollama_is_not_sent_the_key_of_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    async with MockServer(["Hi."]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.base_url.removesuffix("/v1"))
        monkeypatch.setenv("OPENAI_API_KEY", "secret-of-openai")
        answer = await make_model("ollama:llama3.2:1b", NOTHING).complete(REQUEST)
    assert answer.content == "Hi."
    assert server.requests[0]["model"] == "llama3.2:1b"
    assert server.keys == [""]


@pytest.mark.parametrize(
    ("name", "variable", "path"),
    [
        ("openai:gpt-5.5", "OPENAI", "https://api.openai.com/v1/responses"),
        ("openai:o3", "OPENAI", "https://api.openai.com/v1/responses"),
        ("openai:gpt-4.1", "OPENAI", "https://api.openai.com/v1/chat/completions"),
        ("openai-responses:gpt-4.1", "OPENAI", "https://api.openai.com/v1/responses"),
        ("gemini:gemini-3-pro", "GEMINI", "https://generativelanguage.googleapis.com/"),
        ("DeepSeek:deepseek-chat", "DEEPSEEK", "https://api.deepseek.com/"),
        ("openrouter:openai/gpt-5", "OPENROUTER", "https://openrouter.ai/"),
        ("kimi:kimi-k2.5", "MOONSHOT", "https://api.moonshot.ai/"),
    ],
)
def test_each_provider_of_tinyagent_serves_its_own_models(
    name: str, variable: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{variable}_API_KEY", "k")
    model = make_model(name, NOTHING)
    assert model.name == name.partition(":")[2]
    assert path in repr(model)


@pytest.mark.parametrize(
    ("variable", "value", "where"),
    [
        ("OLLAMA_BASE_URL", "http://box:1/v1", "http://box:1/v1/"),
        ("OLLAMA_HOST", "box:2", "http://box:2/v1/"),
    ],
)
def test_ollama_is_where_either_variable_says(
    variable: str, value: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    assert where in repr(make_model("ollama:llama3.2:1b", NOTHING))


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),  # noqa: S104 - read, not bound
        (":8080", "http://127.0.0.1:8080/v1"),
        ("box", "http://box:11434/v1"),
        ("box:8080", "http://box:8080/v1"),
        ("http://box", "http://box:80/v1"),
        ("https://box/ollama/", "https://box:443/ollama/v1"),
        ("[::1]:8080", "http://[::1]:8080/v1"),
        ("::1", "http://[::1]:11434/v1"),
        ("[::]", "http://[::1]:11434/v1"),
    ],
)
def test_ollama_host_is_read_as_ollama_reads_it(host: str, url: str) -> None:
    assert ollama_url(host) == url


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai:gpt-4.1", "OPENAI_API_KEY"),
        ("gpt-4.1", "OPENAI_BASE_URL"),
        ("anthropic:claude-sonnet-5", "ANTHROPIC_API_KEY"),
        ("ollama:", "SKILLIAN_MODEL"),
        ("nobody:", "SKILLIAN_MODEL"),
        ("gemini:gemini-3-pro", "GEMINI_API_KEY"),
        ("opnai:gpt-5", "did you mean openai:"),
        ("anthropic", "write anthropic:NAME"),
    ],
)
def test_what_is_missing_is_named_with_its_variable(name: str, variable: str) -> None:
    with pytest.raises(ConfigurationError, match=variable):
        make_model(name, NOTHING)


def test_an_address_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://bad host")
    with pytest.raises(ConfigurationError, match="OLLAMA_HOST"):
        make_model("ollama:llama3.2", NOTHING)
