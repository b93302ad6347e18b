"""What all strict servers have in common."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from tests.tinyagent.testing.strict.support import Json, base64_of, data_uri, png, post

from tinyagent import OpenAIModel, ReactAgent, tool
from tinyagent.core import ModelRefused
from tinyagent.core.errors import ConfigurationError
from tinyagent.testing import (
    PROVIDERS,
    Attachment,
    Call,
    Output,
    Received,
    StrictServer,
    describe,
    json_reply,
)
from tinyagent.testing.strict.media import decode, decode_uri, sniff
from tinyagent.testing.strict.script import StrictAnswer
from tinyagent.testing.strict.session import Refused

CHAT = "/v1/chat/completions"
HI: Json = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "hi"}]}
KEYLESS = ("vllm", "ollama", "lmstudio", "llamacpp", "compatible")
PATHS = {
    "openai": CHAT,
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/gemini-3-flash:generateContent",
    "mistral": CHAT,
}


def test_an_unknown_provider_is_an_error_that_lists_the_others() -> None:
    with pytest.raises(ConfigurationError, match=r"use: openai, deepseek, .*anthropic"):
        StrictServer("acme", [])


@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize("body", [[], "hi", {}, {"messages": 5}, {"messages": [5]}, None])
async def test_a_body_of_another_form_is_refused(provider: str, body: Any) -> None:
    async with StrictServer(provider, ["never"]) as server:
        headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
        status, reply = await post(server, PATHS[provider], body, headers=headers)
    assert status in (400, 422)
    assert "error" in str(reply)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_key_is_required_if_the_provider_needs_one(provider: str) -> None:
    path = PATHS.get(provider, "")
    async with StrictServer(provider, ["hi"]) as server:
        path = path or f"{server.base_url.removeprefix(server.url)}/chat/completions"
        status, _ = await post(server, path, HI, headers={})
    assert status == (200 if provider in KEYLESS else 401)


@pytest.mark.parametrize("provider", PATHS)
async def test_another_path_is_not_found(provider: str) -> None:
    async with StrictServer(provider, ["hi"]) as server:
        assert (await post(server, "/v2/chat", HI))[0] == 404
        assert server.refusals == ["Invalid URL (POST /v2/chat)"]


async def test_the_version_of_anthropic_is_needed() -> None:
    async with StrictServer("anthropic", ["hi"]) as server:
        _, reply = await post(server, "/v1/messages", HI, headers={"x-api-key": "k"})
    assert reply["error"]["message"] == "anthropic-version: header is required"


async def test_a_request_that_is_too_large_is_refused() -> None:
    text = "x" * (33 << 20)
    async with StrictServer("anthropic", ["hi"]) as server:
        status, reply = await post(server, "/v1/messages", {"messages": text})
    assert status == 413
    assert reply["error"]["type"] == "request_too_large"


async def test_requests_and_keys_are_recorded_even_if_refused() -> None:
    async with StrictServer("openai", ["hi"]) as server:
        await post(server, CHAT, HI)
        await post(server, CHAT, {**HI, "top_k": 1}, headers={"Authorization": "Bearer other"})
    assert [body.get("top_k") for body in server.requests] == [None, 1]
    assert server.keys == ["k", "other"]
    assert server.refusals == ["Unknown parameter: 'top_k'."]


async def test_a_script_is_a_list_or_a_function_and_refused_requests_use_up_nothing() -> None:
    def echo(received: Received) -> Output:
        return Output(f"{received.path} {received.body['messages'][0]['content']}")

    script: list[StrictAnswer] = ["one", json_reply({"own": 1}), "two"]
    async with StrictServer("openai", script) as server:
        said = []
        for body in (HI, {**HI, "top_k": 1}, HI, HI, HI):
            status, got = await post(server, CHAT, body)
            said.append(got["choices"][0]["message"]["content"] if "choices" in got else status)
    assert said == ["one", 400, 200, "two", "two"]
    async with StrictServer("openai", echo) as server:
        _, got = await post(server, CHAT, HI)
    assert got["choices"][0]["message"]["content"] == f"{CHAT} hi"


async def test_signatures_of_another_server_are_foreign() -> None:
    made: list[Any] = []
    for _ in range(2):
        async with StrictServer("gemini", [Output(calls=[Call("add", {})])]) as server:
            body = {**HI, "model": "gemini-3-flash"}
            _, reply = await post(server, "/v1beta/openai/chat/completions", body)
            made.append(reply["choices"][0]["message"]["tool_calls"][0]["extra_content"])
    assert made[0] != made[1]


def test_what_is_described() -> None:
    data = png(5, 7)
    digest = hashlib.sha256(data).hexdigest()
    seen = Attachment("image/png", data)
    assert seen.description == f"image/png 5x7, {len(data)} bytes, sha256 {digest}"
    gif = b"GIF89a\x02\x00\x03\x00;"
    assert Attachment("image/gif", gif).description.startswith("image/gif 2x3, 11 bytes")
    received = Received("/", {}, {}, (seen, Attachment("application/pdf", b"%PDF-1.7")))
    assert len(str(describe(received).text).splitlines()) == 2
    assert describe(Received("/", {}, {}, ())).text == "There is no image and no document."


WEBP = b"RIFF\x08\x00\x00\x00WEBPVP8 "


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (png(), "image/png"),
        (png()[:-4], None),
        (png().replace(b"IHDR", b"IHDX"), None),
        (b"\xff\xd8\xff\xe0 \xff\xd9", "image/jpeg"),
        (b"\xff\xd8\xff\xe0 ", None),
        (b"GIF89a\x02\x00\x03\x00;", "image/gif"),
        (b"GIF89a\x02\x00\x03\x00", None),
        (WEBP, "image/webp"),
        (WEBP[:-1], None),
        (b"%PDF-1.7", "application/pdf"),
        (b"", None),
        (b"hello", None),
    ],
)
def test_formats_are_known_by_their_bytes_and_must_be_whole(data: bytes, kind: str | None) -> None:
    assert sniff(data) == kind


def test_attachments_are_decoded_or_refused() -> None:
    assert decode_uri(data_uri(png()), limit=1 << 20) == Attachment("image/png", png())
    assert decode(base64_of(png()), "image/png", limit=1 << 20).data == png()
    for uri, wording in (
        ("https://example.com/a.png", "Expected a base64-encoded data URL"),
        ("data:image/png;base64,no base64!", "invalid base64 data"),
        (data_uri(png(), "image/webp"), "appears to be a image/png image"),
    ):
        with pytest.raises(Refused, match=wording):
            decode_uri(uri, limit=1 << 20)
    with pytest.raises(Refused, match="maximum"):
        decode_uri(data_uri(png()), limit=10)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_an_agent_runs_on_it_and_gets_its_refusals() -> None:
    script: list[StrictAnswer] = [Output(calls=[Call("add", {"a": 1, "b": 2})]), "It is 3."]
    async with StrictServer("openai", script) as server:
        agent = ReactAgent(OpenAIModel("gpt-4.1", base_url=server.base_url, api_key="k"), [add])
        assert str(await agent.run("What is 1 + 2?")) == "It is 3."
        strange = OpenAIModel("gpt-4.1", base_url=server.base_url + "/v2", api_key="k")
        with pytest.raises(ModelRefused):
            await ReactAgent(strange, [add]).run("What is 1 + 2?")
