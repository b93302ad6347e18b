from __future__ import annotations

import pytest
from pydantic import ValidationError
from starlette.types import Message, Receive, Scope, Send
from tests.skillian.api.conftest import KEYS, Client, Serve

from skillian.api.auth import Access, check_address, is_loopback
from skillian.api.limits import MAX_BUCKETS, Buckets
from skillian.errors import SkillianError
from skillian.settings import Settings

OPEN_HOSTS = ("0.0.0.0", "::", "", "10.0.0.1", "example.com")  # noqa: S104 - are refused
HEADERS = (
    None,
    "",
    "Bearer",
    "Bearer ",
    "Bearer wrong-key-0123456789",
    f"Basic {KEYS[0]}",
    f"Bearer {KEYS[0]}x",
    f"Bearer {KEYS[0]},{KEYS[1]}",
    KEYS[0],
)


async def test_without_a_key_nothing_is_answered(serve: Serve) -> None:
    async with serve(api_keys=",".join(KEYS)) as client:
        for header in HEADERS:
            headers = {} if header is None else {"Authorization": header}
            for path in ("/sessions", "/skills", "/comparisons/x", "/nowhere"):
                async with client.get(path, headers=headers) as answer:
                    assert answer.status == 401
                    assert answer.headers["WWW-Authenticate"] == "Bearer"
                    assert KEYS[0] not in await answer.text()


async def test_each_key_is_answered(serve: Serve) -> None:
    async with serve(api_keys=",".join(KEYS)) as client:
        for key in KEYS:
            for scheme in ("Bearer", "bearer"):
                headers = {"Authorization": f"{scheme} {key}"}
                async with client.get("/sessions", headers=headers) as answer:
                    assert answer.status == 200


async def test_with_keys_any_host_may_lead_here(serve: Serve) -> None:
    headers = {"Authorization": f"Bearer {KEYS[0]}", "Host": "skillian.example.com"}
    async with (
        serve(api_keys=KEYS[0]) as client,
        client.get("/sessions", headers=headers) as answer,
    ):
        assert answer.status == 200


@pytest.mark.parametrize("host", ["evil.example.com", "evil.example.com:80", "", "[", "a b"])
async def test_a_name_that_was_bound_to_this_machine_is_refused(client: Client, host: str) -> None:
    async with client.get("/sessions", headers={"Host": host}) as answer:
        assert (answer.status, (await answer.json())["code"]) == (421, "wrong_host")


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1", "[::1]:9", "127.1.2.3"])
async def test_this_machines_names_are_answered(client: Client, host: str) -> None:
    async with client.get("/sessions", headers={"Host": host}) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example.com",
        "null",
        "http://localhost.evil.com",
        "http://localhost:3000",  # of this machine, but another program's
        "http://[",
        "",
    ],
)
async def test_pages_of_elsewhere_are_refused(client: Client, origin: str) -> None:
    async with client.post("/sessions", headers={"Origin": origin}) as answer:
        assert (answer.status, (await answer.json())["code"]) == (403, "wrong_origin")
    async with client.request("OPTIONS", "/chat", headers={"Origin": origin}) as answer:
        assert "Access-Control-Allow-Origin" not in answer.headers


def test_without_keys_only_loopback_is_served() -> None:
    for host in ("127.0.0.1", "localhost", "::1", "[::1]", "127.9.9.9"):
        check_address(host, has_keys=False)
    for host in OPEN_HOSTS:
        assert not is_loopback(host)
        with pytest.raises(SkillianError, match="SKILLIAN_API_KEYS"):
            check_address(host, has_keys=False)
        check_address(host, has_keys=True)


def test_a_key_is_kept_as_its_digest_only() -> None:
    settings = Settings(api_keys=", ".join(KEYS))  # type: ignore[arg-type]
    assert len(settings.api_keys) == 2
    assert KEYS[0] not in repr(settings)


def test_a_short_key_is_refused_and_not_repeated() -> None:
    with pytest.raises(ValidationError, match="fewer than 16") as refused:
        Settings(api_keys="short-key")  # type: ignore[arg-type]
    assert "short-key" not in str(refused.value)


async def test_a_websocket_needs_a_key_too() -> None:
    async def inside(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    sent: list[Message] = []
    scope: Scope = {"type": "websocket", "path": "/ws", "headers": [], "extensions": {}}
    await Access(inside, Settings(api_keys=KEYS))(scope, receive, send)
    assert (sent[0]["type"], sent[0]["status"]) == ("websocket.http.response.start", 401)


async def test_a_page_of_this_server_is_answered(serve: Serve) -> None:
    async with serve() as client:
        headers = {"Origin": client.url, "Sec-Fetch-Site": "same-origin"}
        async with client.post("/sessions", headers=headers) as answer:
            assert answer.status == 201


@pytest.mark.parametrize("site", ["cross-site", "same-site", "whatever"])
async def test_what_a_browser_fetches_for_another_site_is_refused(serve: Serve, site: str) -> None:
    fetched = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    opened = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    async with serve() as client:
        for headers in (fetched, opened):
            async with client.get("/sources", headers=headers) as answer:
                assert (answer.status, (await answer.json())["code"]) == (403, "wrong_origin")


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//]["])
async def test_an_origin_that_is_not_a_url_is_refused(serve: Serve, origin: str) -> None:
    async with serve(api_keys=KEYS[0]) as client:
        for path in ("/ui/", "/ui/login", "/ui/_nicegui/x", "/sessions"):
            async with client.get(path, headers={"Origin": origin}) as answer:
                assert answer.status in {401, 403}


async def through(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})


async def status(gate: Access, path: str, address: str, **headers: str) -> int:
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": b"",
        "client": (address, 1),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await gate(scope, receive, send)
    return int(sent[0]["status"])


async def test_an_address_that_is_refused_often_locks_out_nobody_else() -> None:
    gate = Access(through, Settings(api_keys=",".join(KEYS), requests_per_minute=5))  # type: ignore[arg-type]
    bad, good = {"authorization": "Bearer no"}, {"authorization": f"Bearer {KEYS[0]}"}
    assert [await status(gate, "/sessions", "10.0.0.1", **bad) for _ in range(6)] == [401] * 5 + [
        429
    ]
    # The same address can still sign in, and a key is answered wherever it comes from.
    assert await status(gate, "/ui/login", "10.0.0.1") == 200
    assert await status(gate, "/sessions", "10.0.0.1", **good) == 200
    for other in ("10.0.0.2", "2001:db8::1"):
        assert await status(gate, "/ready", other) == 200
        assert await status(gate, "/sessions", other, **bad) == 401


async def test_what_needs_no_key_is_counted_for_its_address() -> None:
    gate = Access(through, Settings(api_keys=",".join(KEYS), requests_per_minute=5))  # type: ignore[arg-type]
    for path in ("/ready", "/openapi.json", "/ui/login", "/"):
        asked = [await status(gate, path, f"2001:db8:0:{len(path)}::{n}") for n in range(6)]
        assert asked == [200] * 5 + [429], path  # one network, one bucket
    assert {await status(gate, "/health", "10.0.0.1") for _ in range(20)} == {200}


def test_the_addresses_that_are_remembered_are_bounded() -> None:
    buckets = Buckets(1)
    for number in range(MAX_BUCKETS * 3):
        buckets.take(f"address {number}")
    assert len(buckets) == MAX_BUCKETS
