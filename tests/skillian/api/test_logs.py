from __future__ import annotations

import json
import logging

import pytest
from starlette.types import Message, Receive, Scope, Send
from tests.skillian.api.conftest import KEYS, Client, Serve

from skillian.api.logs import JsonFormatter, Requests, log_as_json
from skillian.api.problems import SlowClient


async def test_an_id_of_the_client_is_kept_and_any_other_text_is_not(client: Client) -> None:
    async with client.get("/health", headers={"X-Request-ID": "a-B.1_"}) as answer:
        assert answer.headers["X-Request-ID"] == "a-B.1_"
    for wrong in ("", "a b", "x" * 65, '{"a":1}', "ü"):
        async with client.get("/nope", headers={"X-Request-ID": wrong}) as answer:
            made = answer.headers["X-Request-ID"]
            assert (await answer.json())["request_id"] == made
        assert made != wrong
        assert len(made) == 32


async def test_every_answer_has_the_headers_that_keep_browsers_careful(client: Client) -> None:
    for path in ("/health", "/nope", "/sessions/x"):
        async with client.get(path) as answer:
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
            assert answer.headers["Cache-Control"] == "no-store"
            assert "Server" not in answer.headers


async def test_a_request_is_logged_without_its_texts(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    headers = {"Authorization": f"Bearer {KEYS[0]}", "X-Request-ID": "mine"}
    secret = "Is the amount of fi_reporting for company 1001 a secret?"  # noqa: S105
    async with serve(api_keys=KEYS[0]) as client:
        async with client.post("/chat", json={"message": secret}, headers=headers) as answer:
            assert answer.status == 200
            session = (await answer.json())["session_id"]
        async with client.get(f"/sessions/{session}", headers=headers) as answer:
            assert answer.status == 200
    lines = [json.loads(JsonFormatter().format(record)) for record in caplog.records]
    logged = [line for line in lines if line["logger"] == "skillian.requests"]
    assert [(line["method"], line["route"], line["status"]) for line in logged] == [
        ("POST", "/chat", 200),
        ("GET", "/sessions/{session_id}", 200),
    ]
    assert all(len(line["owner"]) == 8 and line["duration_ms"] > 0 for line in logged)
    everything = json.dumps(lines)
    for text in (secret, "1001", KEYS[0], session):
        assert text not in everything


def test_warnings_are_written_whether_requests_are_or_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = logging.root.handlers[:], logging.root.level
    try:
        for level, names in ((logging.WARNING, ["late"]), (logging.INFO, ["request", "late"])):
            log_as_json(level)
            requests = logging.getLogger("skillian.requests")
            requests.info("request")
            requests.warning("late")
            lines = capsys.readouterr().err.splitlines()
            assert [json.loads(line)["message"] for line in lines] == names
    finally:
        logging.root.handlers[:], level = before
        logging.root.setLevel(level)


async def test_an_unexpected_error_is_a_problem_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError("postgresql://user:secret@host/db")

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError

    scope: Scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    await Requests(fails)(scope, receive, send)
    assert sent[0]["status"] == 500
    problem = json.loads(sent[1]["body"])
    assert (problem["code"], problem["request_id"]) == (
        "internal_error",
        dict(sent[0]["headers"])[b"x-request-id"].decode(),
    )
    assert "secret" not in str(sent)
    assert "ZeroDivisionError" in caplog.text


async def test_a_client_that_does_not_read_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        raise SlowClient

    async def receive() -> Message:
        raise AssertionError

    async def send(_: Message) -> None:
        raise AssertionError

    scope: Scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    await Requests(slow)(scope, receive, send)
    assert "did not read" in caplog.text
