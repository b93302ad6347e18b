from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send
from tests.skillian.api.conftest import KEYS, Client, Serve
from tests.support.waits import SECONDS

from skillian.api.limits import UPLOADS, Bounded, Buckets, Slots
from skillian.api.problems import ProblemError, SlowClient

LIMIT = 2000


async def chunks(size: int) -> Any:
    for _ in range(size // 100):
        yield b"x" * 100


async def test_a_body_that_is_too_large_is_refused_before_it_is_there(serve: Serve) -> None:
    async with serve(max_body_bytes=LIMIT) as client:
        for data in (b"x" * (LIMIT + 1), chunks(LIMIT * 50)):
            async with client.post("/chat", data=data) as answer:
                assert (answer.status, (await answer.json())["code"]) == (413, "body_too_large")
        reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
        writer.write(b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n{")
        status = await asyncio.wait_for(reader.readline(), SECONDS)  # the rest is not waited for
        writer.close()
    assert status.startswith(b"HTTP/1.1 413 ")


async def test_a_body_of_just_the_size_is_read(serve: Serve) -> None:
    body = json.dumps({"title": "x"}).encode().ljust(LIMIT)
    json_type = {"Content-Type": "application/json"}
    async with (
        serve(max_body_bytes=LIMIT) as client,
        client.post("/sessions", data=body, headers=json_type) as answer,
    ):
        assert answer.status == 201


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "x/json"])
async def test_a_body_that_is_not_declared_as_json_is_refused(client: Client, kind: str) -> None:
    headers = {"Content-Type": kind}
    async with client.post("/sessions", data=b'{"title": "x"}', headers=headers) as answer:
        assert (answer.status, (await answer.json())["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "body", [b"{", b"\xff", b"[" * 100_000, b'{"message": ' + b"9" * 5000 + b"}", b"\x00", b"null"]
)
async def test_a_body_that_is_not_json_is_refused(client: Client, body: bytes) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    async with client.post("/chat", data=body, headers=headers) as answer:
        assert answer.status in {400, 422}
        assert answer.content_type == "application/problem+json"


async def test_each_key_has_its_own_limit(serve: Serve) -> None:
    mine, theirs = ({"Authorization": f"Bearer {key}"} for key in KEYS)
    async with serve(api_keys=",".join(KEYS), requests_per_minute=3) as client:
        for _ in range(3):
            async with client.get("/sessions", headers=mine) as answer:
                assert answer.status == 200
        async with client.get("/sessions", headers=mine) as answer:
            assert (answer.status, (await answer.json())["code"]) == (429, "too_many_requests")
            assert 1 <= int(answer.headers["Retry-After"]) <= 20
        async with client.get("/sessions", headers=theirs) as answer:
            assert answer.status == 200
        async with client.get("/health") as answer:
            assert answer.status == 200


def test_a_bucket_fills_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("skillian.api.limits.monotonic", lambda: now)
    buckets = Buckets(60)
    for _ in range(60):
        buckets.take("a")
    with pytest.raises(ProblemError) as refused:
        buckets.take("a")
    assert refused.value.headers == {"Retry-After": "1"}
    now = 2.0
    buckets.take("a")
    buckets.take("a")
    with pytest.raises(ProblemError):
        buckets.take("a")
    now = 1e9
    for _ in range(60):
        buckets.take("a")
    with pytest.raises(ProblemError):
        buckets.take("a")


def test_a_limit_of_0_means_no_limit() -> None:
    buckets = Buckets(0)
    for _ in range(10_000):
        buckets.take("a")


SCOPE: Scope = {"type": "http", "method": "POST", "path": "/", "headers": []}


async def answers(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": (await receive()).get("body", b"")})


async def never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await Bounded(answers, LIMIT, receive_seconds=0.01)(SCOPE, never, send)
    assert sent[0]["status"] == 408


async def test_a_file_that_does_not_come_is_not_waited_for() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def reads(_scope: Scope, receive: Receive, _send: Send) -> None:
        with pytest.raises(ProblemError, match="did not arrive in time"):
            await receive()
        sent.append({"type": "read"})

    scope = {**SCOPE, "path": UPLOADS, "method": "POST"}
    await Bounded(reads, LIMIT, receive_seconds=0.01)(scope, never, send)
    assert sent == [{"type": "read"}]


async def test_a_client_that_does_not_read_is_left() -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_: Message) -> None:
        await asyncio.Event().wait()

    with pytest.raises(SlowClient):
        await Bounded(answers, LIMIT, send_seconds=0.01)(SCOPE, receive, send)


async def test_a_client_that_disconnects_early_starts_nothing() -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(_: Message) -> None:
        raise AssertionError

    await Bounded(answers, LIMIT)(SCOPE, receive, send)


async def test_a_refused_body_is_read_to_its_end_before_the_answer_ends() -> None:
    happened: list[str] = []
    parts = [{"type": "http.request", "body": b"x" * LIMIT, "more_body": n < 9} for n in range(10)]

    async def receive() -> Message:
        happened.append("receive")
        return parts.pop(0)

    async def send(message: Message) -> None:
        happened.append(f"send {message.get('status') or bool(message['body'])}")

    await Bounded(answers, LIMIT)(SCOPE, receive, send)
    assert happened[:4] == ["receive", "receive", "send 413", "send True"]
    assert happened[4:] == ["receive"] * 8 + ["send False"]


async def test_a_refused_body_that_was_read_is_not_waited_for() -> None:
    parts = [{"type": "http.request", "body": b"x" * (LIMIT + 1), "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        return parts.pop(0) if parts else await never()

    async def send(message: Message) -> None:
        sent.append(message)

    await Bounded(answers, LIMIT)(SCOPE, receive, send)
    assert sent[0]["status"] == 413
    assert not sent[-1].get("more_body", False)


async def test_a_refused_body_without_an_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillian.api.limits.DISCARD_BYTES", 20 * LIMIT)
    received = 0

    async def receive() -> Message:
        nonlocal received
        received += 1
        return {"type": "http.request", "body": b"x" * LIMIT, "more_body": True}

    async def send(_: Message) -> None:
        pass

    await Bounded(answers, LIMIT)(SCOPE, receive, send)
    assert received == 22


def test_slots_are_given_back() -> None:
    slots = Slots(1)
    with slots.taken(), pytest.raises(ProblemError, match="is busy"):
        slots.check()
    with pytest.raises(KeyError), slots.taken():
        raise KeyError
    assert slots.free == 1
