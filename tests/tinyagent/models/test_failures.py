from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent.core.errors import (
    ModelAuthenticationError,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelServerError,
    ModelTimeout,
)
from tinyagent.models.failures import error_detail, parse_retry_after, read_error, status_error

BODY = '{"error": {"message": "no such model", "code": 5}}'


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, ModelRefused),
        (307, ModelRefused),
        (400, ModelRefused),
        (401, ModelAuthenticationError),
        (403, ModelAuthenticationError),
        (404, ModelRefused),
        (408, ModelTimeout),
        (422, ModelRefused),
        (429, ModelRateLimited),
        (499, ModelRefused),
        (500, ModelServerError),
        (502, ModelServerError),
        (503, ModelServerError),
        (504, ModelTimeout),
        (529, ModelServerError),
    ],
)
def test_each_status_has_its_error(status: int, kind: type[ModelError]) -> None:
    error = status_error(status, {}, BODY, "http://host/v1")
    assert type(error) is kind
    assert str(error).startswith(f"http://host/v1 answered {status} ")
    assert "no such model" in str(error)


@pytest.mark.parametrize(
    ("status", "mend"),
    [
        (401, "check OPENAI_API_KEY"),
        (404, "check the model's name and OPENAI_BASE_URL"),
        (302, "redirects are not followed"),
    ],
)
def test_what_the_caller_can_mend_is_said(status: int, mend: str) -> None:
    assert mend in str(status_error(status, {}, "", "http://host/v1"))


def test_used_up_quota_is_not_tried_again() -> None:
    error = status_error(429, {}, '{"error": {"code": "insufficient_quota"}}', "here")
    assert type(error) is ModelRefused


def test_the_wait_that_the_server_asks_for_is_kept() -> None:
    assert status_error(429, {"Retry-After": "7"}, "", "here").retry_after == 7
    assert status_error(503, {"Retry-After": "7"}, "", "here").retry_after == 7
    assert status_error(503, {}, "", "here").retry_after is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        ("1.5", 1.5),
        (" 3 ", 3.0),
        ("-4", 0.0),
        ("inf", float("inf")),
        ("nan", None),
        ("soon", None),
        ("", None),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0),
        ("Mon, 01 Jan 2001 00:00:00 -0000", None),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
    ],
)
def test_retry_after_as_seconds(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value) == seconds


def test_retry_after_as_a_date() -> None:
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 90 < (parse_retry_after(then) or 0) <= 100


@given(st.text())
def test_no_retry_after_is_too_strange(value: str) -> None:
    seconds = parse_retry_after(value)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (BODY, "no such model"),
        ('{"error": "as text"}', "as text"),
        ('{"message": "at the top"}', "at the top"),
        ('{"detail": "as FastAPI says it"}', "as FastAPI says it"),
        ('{"error": {"error": {"message": "deep"}}}', "deep"),
        ('{"error": null}', ""),
        ("{}", ""),
        ("[]", ""),
        ("null", ""),
        ("", ""),
        ("plain words", "plain words"),
        ("<!DOCTYPE html>\n<HTML><body>404</body></HTML>", ""),
        ("[" * 100_000, "[" * 500 + "…"),
        ("x" * 501, "x" * 500 + "…"),
    ],
)
def test_what_an_error_body_says(body: str, said: str) -> None:
    assert read_error(body) == said


@pytest.mark.parametrize("data", [None, 5, [], {"error": []}, {"error": {"message": 5}}])
def test_an_error_that_says_nothing_readable_says_nothing(data: object) -> None:
    assert error_detail(data) == ""
