from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent.core.errors import (
    ModelAuthenticationError,
    ModelContextTooLong,
    ModelError,
    ModelFormatRefused,
    ModelRateLimited,
    ModelRefused,
    ModelServerError,
    ModelTimeout,
)
from tinyagent.models import failures
from tinyagent.models.failures import (
    GenerationRefused,
    error_detail,
    parse_retry_after,
    read_error,
    status_error,
)
from tinyagent.models.remote import without_key

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
    ("status", "fix"),
    [
        (401, "check OPENAI_API_KEY"),
        (404, "check the model's name and OPENAI_BASE_URL"),
        (302, "redirects are not followed"),
    ],
)
def test_an_error_that_the_caller_can_fix_says_how(status: int, fix: str) -> None:
    assert fix in str(status_error(status, {}, "", "http://host/v1"))


def test_used_up_quota_is_not_tried_again() -> None:
    error = status_error(429, {}, '{"error": {"code": "insufficient_quota"}}', "here")
    assert type(error) is ModelRefused


def test_the_wait_that_the_server_requests_is_respected() -> None:
    assert status_error(429, {"Retry-After": "7"}, "", "here").retry_after == 7
    assert status_error(503, {"Retry-After": "7"}, "", "here").retry_after == 7
    assert status_error(503, {}, "", "here").retry_after is None


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
        "the request exceeds the available context size; type: exceed_context_size_error",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Your input exceeds the context window of this model",
        "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)",
        "Invalid request: total message size 4254346 exceeds limit 4194304",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
        "Prompt contains 65673 tokens, too large for model with 32768 maximum context length",
        "invalid params, context window exceeds limit (2013)",
        "Please reduce the length of the messages or completion.",
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
        "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
        "prompt too long; exceeded max context length by 12 tokens",
        "Prompt exceeds max length",
        "Input is too long for requested model.",
    ],
)
def test_too_long_a_conversation_is_known_by_its_words(status: int, message: str) -> None:
    error = status_error(status, {}, json.dumps({"error": {"message": message}}), "here")
    assert type(error) is ModelContextTooLong
    assert message in str(error)


def test_too_long_a_conversation_is_known_by_its_code() -> None:
    body = '{"error": {"message": "no", "code": "context_length_exceeded"}}'
    assert type(status_error(400, {}, body, "here")) is ModelContextTooLong


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "smol does not support tools"),
        (400, "`tool_choice` is not supported by this model"),
        (400, "Unrecognized request argument supplied: response_format"),
        (400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported"),
        (404, "No endpoints found that support tool use"),
        (422, "tools: Extra inputs are not permitted"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
        (500, "tools param requires --jinja flag"),
        (500, "Internal server error: Unsupported tool_call_parser: None"),
        (400, "`tool calling` is not supported with this model"),
        (400, "Function calling is not enabled for this model"),
    ],
)
def test_an_unsupported_format_is_recognized_by_the_message(status: int, message: str) -> None:
    error = status_error(status, {}, json.dumps({"error": {"message": message}}), "here")
    assert type(error) is ModelFormatRefused
    assert message in str(error)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, ModelAuthenticationError),
        (403, ModelAuthenticationError),
        (429, ModelRateLimited),
        (500, ModelServerError),
    ],
)
def test_such_words_mean_nothing_in_other_failures(status: int, kind: type[ModelError]) -> None:
    for said in ("this key does not support tools", "maximum context length"):
        assert type(status_error(status, {}, said, "here")) is kind


@pytest.mark.parametrize(
    ("status", "error", "written"),
    [
        (400, {"code": "tool_use_failed", "failed_generation": "<function=f>{}"}, "<function=f>{}"),
        (400, {"code": "tool_use_failed", "failed_generation": "x" * 10_000}, "x" * 8_000),
        (400, {"code": "json_validate_failed", "failed_generation": '{"a"'}, '{"a"'),
        (400, {"code": "tool_use_failed"}, None),
        (400, {"code": "tool_use_failed", "failed_generation": None}, None),
        (400, {"code": "other", "failed_generation": "f"}, None),
        (429, {"code": "tool_use_failed", "failed_generation": "f"}, None),
    ],
)
def test_what_the_model_wrote_is_in_the_error_that_refuses_it(
    status: int, error: dict[str, Any], written: str | None
) -> None:
    found = status_error(status, {}, json.dumps({"error": {"message": "no", **error}}), "here")
    assert isinstance(found, GenerationRefused) is (written is not None)
    assert getattr(found, "written", None) == written


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
    ("body", "message"),
    [
        (BODY, "no such model"),
        ('{"error": "as text"}', "as text"),
        ('{"message": "at the top"}', "at the top"),
        ('{"detail": "as FastAPI says it"}', "as FastAPI says it"),
        ('{"error": {"error": {"message": "deep"}}}', "deep"),
        ('[{"error": {"code": 400, "message": "in a list"}}]', "in a list"),
        (
            '{"message": {"detail": [{"loc": ["body", "stream"], "msg": "not permitted"}]}}',
            "body.stream: not permitted",
        ),
        ('{"error": ' * 20 + '"deep"' + "}" * 20, ""),
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
def test_what_an_error_body_says(body: str, message: str) -> None:
    assert read_error(body) == message


@pytest.mark.parametrize("data", [None, 5, [], {"error": []}, {"error": {"message": 5}}])
def test_an_unreadable_error_has_no_message(data: object) -> None:
    assert error_detail(data) == ""


def test_a_model_that_needs_another_api_is_not_offered_its_tools_in_another_form() -> None:
    said = "Function tools with reasoning_effort are not supported. Please use /v1/responses"
    error = status_error(400, {}, said, "the server")
    assert type(error) is ModelRefused


def test_a_schema_that_anthropic_refuses_is_a_format() -> None:
    said = "tools.0.input_schema: 'additionalProperties' must be explicitly set to false"
    assert type(status_error(400, {}, said, "the server")) is ModelFormatRefused


def test_a_key_is_removed_from_an_error() -> None:
    with pytest.raises(ModelServerError) as caught, without_key("sk-secret", "OPENAI"):
        raise ModelServerError("no sk-secret here", retry_after=3.0)
    assert str(caught.value) == "no *** here"
    assert caught.value.retry_after == 3.0


@pytest.mark.parametrize("key", [None, "", "x", "none"])
def test_short_keys_are_not_treated_as_secrets(key: str | None) -> None:
    with pytest.raises(ModelError, match=r"^none x$"), without_key(key, "OPENAI"):
        raise ModelError("none x")


def test_the_message_of_an_error_is_looked_for_where_it_can_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[object] = []

    def watched(data: Any, depth: int = 0) -> str:
        looked.append(data)
        return message(data, depth)

    message = failures._message
    monkeypatch.setattr(failures, "_message", watched)
    assert failures.error_detail(None) == ""
    assert failures.error_detail({"error": {"code": 5, "detail": None}}) == ""
    assert len(looked) == 4
