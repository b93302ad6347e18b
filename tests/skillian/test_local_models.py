"""Models on this machine, listed by servers that answer as each program documents."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.support.local_servers import LM_STUDIO, OLLAMA, listing, openai_list
from tests.support.ports import own_port

from skillian import local_models
from skillian.local_models import (
    MAX_REPLY_BYTES,
    LocalOffer,
    LocalServer,
    chosen_model,
    find_offers,
    local_servers,
)
from skillian.models import make_model
from skillian.offline.language.vocabulary import Vocabulary
from skillian.settings import Settings, write_setting


def _server(prefix: str, origin: str) -> LocalServer:
    return replace(_server_of(prefix), origin=origin)


def _server_of(prefix: str) -> LocalServer:
    [server] = [each for each in local_servers() if each.prefix == prefix]
    return server


async def _offer(prefix: str, reply: Any) -> LocalOffer:
    async with listing({_server(prefix, "").path: reply}) as server:
        [offer] = await find_offers([_server(prefix, server.url)])
    return offer


def test_each_server_has_its_documented_port_and_list() -> None:
    places = {each.prefix: each.origin + each.path for each in local_servers()}
    assert places == {
        "ollama": "http://127.0.0.1:11434/api/tags",
        "lmstudio": "http://127.0.0.1:1234/api/v0/models",
        "llamacpp": "http://127.0.0.1:8080/v1/models",
        "vllm": "http://127.0.0.1:8000/v1/models",
    }


@pytest.mark.parametrize("prefix", ["ollama", "lmstudio", "llamacpp", "vllm"])
def test_a_server_is_asked_where_its_models_are_used(
    prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{prefix.upper()}_BASE_URL", "http://127.0.0.1:99/v1/")
    assert _server_of(prefix).origin == "http://127.0.0.1:99"
    assert "http://127.0.0.1:99/v1/" in repr(make_model(f"{prefix}:m", Vocabulary({})))


@pytest.mark.parametrize(
    ("prefix", "reply", "models"),
    [
        ("ollama", OLLAMA, ["ollama:llama3.1:8b"]),
        (
            "lmstudio",
            LM_STUDIO,
            ["lmstudio:meta-llama-3.1-8b-instruct", "lmstudio:qwen2-vl-7b-instruct"],
        ),
        ("llamacpp", openai_list("llamacpp", "gemma-4-E4B"), ["llamacpp:gemma-4-E4B"]),
        ("vllm", openai_list("vllm", "Qwen/Qwen3-8B"), ["vllm:Qwen/Qwen3-8B"]),
    ],
)
async def test_models_that_answer_questions_on_this_machine(
    prefix: str, reply: Any, models: list[str]
) -> None:
    assert list((await _offer(prefix, reply)).models) == models


async def test_a_request_is_a_plain_get_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-openai")
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{own_port()}")
    async with listing({"/v1/models": openai_list("vllm", "m")}) as server:
        [offer] = await find_offers([_server("vllm", server.url)])
    assert offer.models == ("vllm:m",)
    [(method, path, headers)] = server.requests
    assert (method, path) == ("GET", "/v1/models")
    assert "Authorization" not in headers
    assert "secret" not in str(headers)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (openai_list("skillian", "skillian"), "another program answers there"),
        (b"<html>", "another program answers there"),
        (b"[" * 200_000, "another program answers there"),
        (b'{"data": [1]}', "another program answers there"),
        (b" " * (MAX_REPLY_BYTES + 1), "another program answers there"),
        ({"data": []}, "running, without a model"),
        (openai_list("vllm", "", "x" * 201, "a\x1b[2Jb", "c\nd"), "running, without a model"),
    ],
)
async def test_what_is_not_a_list_of_its_models(reply: Any, problem: str) -> None:
    offer = await _offer("vllm", reply)
    assert offer.models == ()
    assert problem in offer.problem


async def test_a_compressed_reply_is_not_expanded() -> None:
    large = gzip.compress(b" " * 20 * MAX_REPLY_BYTES)
    reply = web.Response(body=large, headers={"Content-Encoding": "gzip"})
    assert "another program" in (await _offer("vllm", reply)).problem


async def test_a_redirect_is_not_followed() -> None:
    async with listing({"/v1/models": openai_list("vllm", "m")}) as other:
        reply = web.Response(status=302, headers={"Location": f"{other.url}/v1/models"})
        offer = await _offer("vllm", reply)
    assert offer.models == ()
    assert other.requests == []


async def test_a_server_with_a_key_says_what_to_set() -> None:
    offer = await _offer("vllm", web.Response(status=401))
    assert "OPENAI_BASE_URL" in offer.problem


async def test_a_server_that_does_not_answer_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_models, "SECONDS", 0.05)
    assert (await _offer("vllm", b"hang")).problem == "no answer in 0.05 s"


async def test_a_port_without_a_server() -> None:
    [offer] = await find_offers([_server("vllm", f"http://127.0.0.1:{own_port()}")])
    assert offer.problem == "not running"


@pytest.mark.parametrize("host", ["models.example:11434", "192.0.2.1", "169.254.1.1"])
async def test_an_address_of_another_machine_is_not_asked(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    [offer] = await find_offers(local_servers()[:1])
    assert offer.problem == "not asked, because it is not on this machine"


async def test_nothing_is_asked_without_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listing({"/api/tags": OLLAMA}) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        for name in (None, "", "offline", "openai:gpt-4.1", "ollama:x"):
            assert await chosen_model(name) == name
        assert server.requests == []
        assert await chosen_model("local") == "ollama:llama3.1:8b"


def test_a_setting_is_replaced_and_the_rest_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(".env")
    path.write_text("# keys\nSKILLIAN_API_KEYS='a # b'\nexport skillian_model = x\nB=1")
    path.chmod(0o640)
    write_setting(path, "SKILLIAN_MODEL", "ollama:llama3.1:8b")
    assert path.read_text() == (
        "# keys\nSKILLIAN_API_KEYS='a # b'\nB=1\nSKILLIAN_MODEL=ollama:llama3.1:8b\n"
    )
    assert path.stat().st_mode & 0o777 == 0o640
    write_setting(path, "SKILLIAN_MODEL", "local")
    path.write_text(path.read_text().replace("SKILLIAN_API_KEYS", "OTHER"))
    assert Settings().model == "local"
    assert [each.name for each in tmp_path.iterdir()] == [".env"]


@pytest.mark.parametrize("value", ["a b", "a#b", "a'b", "a\nB=1", ""])
def test_a_value_that_needs_quotes_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(ValueError, match="quoted"):
        write_setting(tmp_path / ".env", "SKILLIAN_MODEL", value)
    assert not (tmp_path / ".env").exists()


def test_a_new_file_is_readable_for_its_owner_only(tmp_path: Path) -> None:
    write_setting(tmp_path / ".env", "SKILLIAN_MODEL", "local")
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600


@pytest.mark.llm
@pytest.mark.timeout(180)
async def test_the_real_server_of_llama_cpp_is_recognised(small_model: str) -> None:
    [offer] = await find_offers([_server("llamacpp", small_model.removesuffix("/v1"))])
    assert (offer.problem, len(offer.models)) == ("", 1), json.dumps(offer.to_dict())
