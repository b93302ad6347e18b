from __future__ import annotations

import asyncio
import gzip
import json
import os
import ssl
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
import trustme

from tinyagent import ConfigurationError, Message, OpenAIModel
from tinyagent.core import ModelConnectionError, ModelReplyError, ModelRequest, ModelResponse
from tinyagent.models import endpoint
from tinyagent.models.endpoint import HttpEndpoint, sessions
from tinyagent.testing import MockServer, Reply
from tinyagent.testing.apis import completion_json

REQUEST = ModelRequest((Message("user", "hi"),))


@pytest.mark.parametrize(
    ("base_url", "got"),
    [
        ("localhost:8080/v1", "localhost://(no host)"),
        ("//host/v1", "(no scheme)://host"),
        ("host/v1", "(no scheme)://(no host)"),
        ("ftp://host/v1", "ftp://host"),
        ("http:///v1", "http://(no host)"),
        ("http://host:99999/v1", "a host or port that cannot be read"),
        ("http://host:port/v1", "a host or port that cannot be read"),
        ("http://user:se/cret@host/v1", "a host or port that cannot be read"),
        ("http://[::1/v1", "a host or port that cannot be read"),
        (f"http://{'a' * 64}.com/v1", "a host or port that cannot be read"),
        ("http://a..b/v1", "a host or port that cannot be read"),
        ("http://host name/v1", "http://host name"),
        ("http://host/v1?key=secret", "http://host?..."),
    ],
)
def test_an_address_that_is_none_is_refused_at_once(base_url: str, got: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpenAIModel("mock", base_url=base_url, api_key="k")
    assert str(caught.value) == (
        f"the base URL (OPENAI_BASE_URL or base_url=) must look like https://host/v1, got {got}"
    )


@pytest.mark.parametrize(
    ("base_url", "where"),
    [
        ("https://host/v1", "https://host/v1/chat/completions"),
        ("https://host/v1/", "https://host/v1/chat/completions"),
        ("https://host:8443", "https://host:8443/chat/completions"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
        ("https://user:secret@host/v1", "https://host/v1/chat/completions"),
    ],
)
def test_an_address_is_shown_without_secrets(base_url: str, where: str) -> None:
    assert HttpEndpoint(base_url, None, 1).where == where


@pytest.mark.parametrize("key", ["k\nX-Evil: 1", "schlüssel", "k\x00"])
def test_a_key_that_no_header_can_hold_is_refused(key: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be sent in a header; copy it again"):
        OpenAIModel("mock", base_url="http://host/v1", api_key=key)


@pytest.mark.parametrize("key", [" k ", "k\n"])
async def test_space_around_a_key_is_ignored(key: str) -> None:
    async with MockServer(["hi"]) as server:
        await OpenAIModel("mock", base_url=server.base_url, api_key=key).complete(REQUEST)
    assert server.keys == ["k"]


async def test_the_key_takes_precedence_over_a_user_and_password_in_the_address() -> None:
    async with MockServer(["hi"]) as server:
        address = server.base_url.replace("//", "//user:secret@")
        await OpenAIModel("mock", base_url=address, api_key="k").complete(REQUEST)
    assert server.keys == ["k"]


async def test_text_that_cannot_be_encoded_is_sent_as_a_question_mark() -> None:
    async with MockServer(["hi"]) as server:
        model = OpenAIModel("mock", base_url=server.base_url)
        await model.complete(ModelRequest((Message("user", "a\ud800b ü"),)))
    assert server.requests[0]["messages"][0]["content"] == "a?b ü"


async def test_a_compressed_reply_is_read() -> None:
    packed = gzip.compress(json.dumps(completion_json(ModelResponse("hi"))).encode())
    async with MockServer([Reply(packed, headers={"Content-Encoding": "gzip"})]) as server:
        model = OpenAIModel("mock", base_url=server.base_url)
        assert (await model.complete(REQUEST)).content == "hi"


async def test_a_reply_that_contradicts_its_header_is_a_broken_connection() -> None:
    async with MockServer([Reply(b"no gzip", headers={"Content-Encoding": "gzip"})]) as server:
        model = OpenAIModel("mock", base_url=server.base_url)
        with pytest.raises(ModelConnectionError, match="broke before the answer was complete"):
            await model.complete(REQUEST)


async def test_a_small_reply_that_unpacks_into_a_huge_one_is_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endpoint, "MAX_REPLY_BYTES", 100_000)
    packed = gzip.compress(b" " * 50_000_000)
    async with MockServer([Reply(packed, headers={"Content-Encoding": "gzip"})]) as server:
        model = OpenAIModel("mock", base_url=server.base_url, retries=0)
        with pytest.raises(ModelReplyError, match="sent over 100,000 bytes"):
            await model.complete(REQUEST)


@pytest.fixture
def tls(tmp_path: Path) -> tuple[str, ssl.SSLContext]:
    """A certificate authority's file, and a server's settings with a certificate from it."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    path = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path), context


ASK = """
import asyncio, sys
from tinyagent import Message, OpenAIModel
from tinyagent.core import ModelRequest
model = OpenAIModel("mock", base_url=sys.argv[1], retries=0)
print(asyncio.run(model.complete(ModelRequest((Message("user", "hi"),)))).content)
"""


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_certificate_is_checked_against_the_authorities_of_the_environment(
    tls: tuple[str, ssl.SSLContext], *, trusted: bool
) -> None:
    path, context = tls
    plain = MockServer(["hi"])
    server = await asyncio.start_server(plain._serve, "127.0.0.1", 0, ssl=context)
    address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    environment = os.environ | ({"SSL_CERT_FILE": path} if trusted else {})
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ASK, address, env=environment, stdout=PIPE, stderr=PIPE
    )
    output, errors = await process.communicate()
    server.close()
    await server.wait_closed()
    if trusted:
        assert (output, errors) == (b"hi\n", b"")
    else:
        assert b"ModelConnectionError: no connection to https://127.0.0.1" in errors
        assert b"certificate verify failed" in errors


@pytest.mark.parametrize(
    ("no_proxy", "asked"), [("", "proxy"), ("127.0.0.1", "server"), ("*", "server")]
)
async def test_the_environment_sets_the_proxy(
    monkeypatch: pytest.MonkeyPatch, no_proxy: str, asked: str
) -> None:
    async with MockServer(["server"]) as server, MockServer(["proxy"]) as proxy:
        monkeypatch.setenv("http_proxy", proxy.base_url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", no_proxy)
        model = OpenAIModel("mock", base_url=server.base_url)
        assert (await model.complete(REQUEST)).content == asked


async def test_a_password_file_of_the_user_is_not_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("default login user password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    async with MockServer(["hi"]) as server:
        await OpenAIModel("mock", base_url=server.base_url, api_key="k").complete(REQUEST)
    assert server.keys == ["k"]


async def test_one_loop_has_one_session() -> None:
    first, second = await asyncio.gather(sessions.get(), sessions.get())
    assert first is second


def test_a_session_is_closed_and_forgotten_with_its_loop() -> None:
    known = set(sessions._clients)
    first = asyncio.run(sessions.get())
    second = asyncio.run(sessions.get())
    assert first is not second
    assert first.closed
    assert second.closed
    assert set(sessions._clients) == known


async def test_connections_are_used_again() -> None:
    async with MockServer(["hi"]) as server:
        model = OpenAIModel("mock", base_url=server.base_url)
        for _ in range(5):
            await model.complete(REQUEST)
            async for _item in model.stream(REQUEST):
                pass
        assert len(server._connections) == 1


async def test_no_cookie_of_one_run_reaches_another() -> None:
    session = await sessions.get()
    assert len(session.cookie_jar) == 0
    session.cookie_jar.update_cookies({"a": "b"})
    assert len(session.cookie_jar) == 0
