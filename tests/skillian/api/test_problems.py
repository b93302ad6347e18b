from __future__ import annotations

import pytest
from fastapi.exceptions import RequestValidationError
from tests.skillian.api.conftest import Client

from skillian.api.problems import ProblemError, problem_of
from skillian.errors import QueryError, SourceNotFoundError, UnavailableError
from skillian.storage import (
    MessageTooLong,
    SessionBusy,
    SessionNotFound,
    StoreUnavailable,
    TurnLost,
)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ProblemError(418, "teapot", "No coffee."), 418, "teapot"),
        (RequestValidationError([]), 422, "validation_error"),
        (QueryError("too many rows"), 422, "query_error"),
        (UnavailableError("not here"), 422, "runtime_error"),
        (SourceNotFoundError("a", ["b"]), 422, "not_found"),
        (SessionNotFound(), 404, "session_not_found"),
        (SessionBusy(3), 409, "session_busy"),
        (TurnLost(), 409, "turn_lost"),
        (MessageTooLong("the message", 9, 5), 413, "message_too_long"),
        (StoreUnavailable("at /secret/place"), 503, "store_unavailable"),
        (RuntimeError("/secret/place"), 500, "internal_error"),
    ],
)
def test_each_error_is_its_own_problem(error: Exception, status: int, code: str) -> None:
    content = problem_of(error).to_dict()
    assert (content["status"], content["code"], content["type"]) == (status, code, "about:blank")
    assert "secret" not in str(content)


async def test_what_was_sent_is_not_repeated(client: Client) -> None:
    async with client.post("/chat", json={"message": ["a secret"], "key": "another"}) as answer:
        text = await answer.text()
    assert answer.status == 422
    assert "a secret" not in text
    assert "another" not in text


async def test_a_wrong_method_is_answered_with_the_allowed_ones(client: Client) -> None:
    async with client.request("PUT", "/chat") as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")
        assert (await answer.json())["code"] == "method_not_allowed"
    async with client.get("/nowhere") as answer:
        assert (await answer.json())["code"] == "not_found"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('{"message": "Zürich"}'.encode("latin-1"), "not JSON in UTF-8"),
        (b'{"message": ' + b"1" * 5000 + b"}", "too many digits"),
    ],
)
async def test_a_body_that_cannot_be_read_is_refused_with_the_reason(
    client: Client, body: bytes, reason: str
) -> None:
    headers = {"Content-Type": "application/json"}
    async with client.post("/chat", data=body, headers=headers) as answer:
        problem = await answer.json()
    assert (answer.status, problem["code"]) == (400, "invalid_json")
    assert reason in problem["detail"]
