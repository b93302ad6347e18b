"""What the replies of chat completions hold besides text and calls."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tinyagent import Usage
from tinyagent.core import ModelDelta, ModelServerError
from tinyagent.models.providers import PROVIDERS
from tinyagent.models.wire.chat_reply import ChatReply

_CALL = {"id": "1", "function": {"name": "add", "arguments": "{}"}}
_FILTER = "content_filter"
_AZURE = {
    "content_filter_results": {
        "hate": {"filtered": False, "severity": "safe"},
        "violence": {"filtered": True, "severity": "high"},
    }
}


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        (
            {
                "prompt_tokens": 307,
                "completion_tokens": 26,
                "total_tokens": 560,
                "completion_tokens_details": {"reasoning_tokens": 227},
            },
            Usage(1, 307, 253, 0, 0, 227),
        ),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 20},
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
            Usage(1, 100, 50, 60, 20, 30),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 8},
            Usage(1, 10, 5, 8),
        ),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage(1)),
        ({"prompt_tokens": 10}, Usage(1, 10, uncounted=1)),
        ({"prompt_tokens": None, "completion_tokens": "5"}, Usage(1, uncounted=1)),
        (None, Usage(1, uncounted=1)),
    ],
)
def test_usage_is_read_as_the_provider_counts(counts: Any, usage: Usage) -> None:
    reply = {"choices": [{"message": {"content": "hi"}}], "usage": counts}
    assert ChatReply().read(reply).usage == usage


@pytest.mark.parametrize(
    ("provider", "usage", "cost"),
    [
        ("openrouter", {"cost": 0.00014}, "0.00014"),
        ("openrouter", {"cost": 0}, "0"),
        (
            "openrouter",
            {"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}},
            "0.21",
        ),
        (
            "openrouter",
            {"cost": 0.01, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.2}},
            "0.01",
        ),
        ("openrouter", {"cost": 0.01, "is_byok": True}, None),
        ("openrouter", {"cost": True}, None),
        ("openrouter", {"cost": -1}, None),
        ("openrouter", {}, None),
        ("openrouter", None, None),
        ("deepseek", {"cost": 0.00014}, None),
    ],
)
def test_only_openrouter_reports_a_cost(provider: str, usage: Any, cost: str | None) -> None:
    reply = {"choices": [{"message": {"content": "hi"}}], "usage": usage}
    read = ChatReply(PROVIDERS[provider]).read(reply).cost
    assert read == (None if cost is None else Decimal(cost))


def test_reasoning_in_tags_streams_as_reasoning_however_it_is_cut() -> None:
    text = "\n<think>a < b</think>\n\nThe <think> tag."
    for width in range(1, len(text)):
        assembler = ChatReply()
        deltas: list[ModelDelta] = []
        for start in range(0, len(text), width):
            chunk = {"choices": [{"delta": {"content": text[start : start + width]}}]}
            deltas += assembler.add(chunk)
        deltas += assembler.add({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        said = {
            kind: "".join(d.text for d in deltas if d.kind == kind)
            for kind in ("text", "reasoning")
        }
        assert said == {"text": "The <think> tag.", "reasoning": "a < b"}
        response = assembler.response()
        assert (response.content, response.reasoning) == ("The <think> tag.", "a < b")


@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource"])
def test_an_answer_that_ends_in_an_error_is_a_failure(reason: str) -> None:
    chunk = {"choices": [{"delta": {"content": "It"}, "finish_reason": reason}]}
    with pytest.raises(ModelServerError, match=f"it ended with {reason}"):
        ChatReply().add(chunk)


@pytest.mark.parametrize(
    ("message", "end", "reason", "words"),
    [
        ({"content": None, "refusal": "No."}, {"finish_reason": "stop"}, "refusal", "No."),
        (
            {},
            {"finish_reason": "content_filter: PROHIBITED_CONTENT"},
            _FILTER,
            "PROHIBITED_CONTENT",
        ),
        ({"content": "It"}, {"finish_reason": _FILTER, **_AZURE}, _FILTER, "violence"),
        ({}, {"finish_reason": _FILTER, "native_finish_reason": "SAFETY"}, _FILTER, "SAFETY"),
        ({}, {"finish_reason": "sensitive"}, _FILTER, ""),
        ({"content": "It"}, {"finish_reason": "model_length"}, "length", ""),
        ({"content": "It"}, {"finish_reason": "STOP", **_AZURE}, "stop", ""),
        ({"content": "It"}, {"finish_reason": "eos"}, "stop", ""),
        ({"content": "It"}, {"finish_reason": None}, "stop", ""),
        ({"content": "It"}, {"finish_reason": "abort"}, "abort", ""),
        ({"tool_calls": [_CALL]}, {"finish_reason": "stop"}, "tool_calls", ""),
        ({"tool_calls": [_CALL]}, {"finish_reason": "length"}, "length", ""),
        ({"content": "It"}, {"finish_reason": "tool_calls"}, "stop", ""),
    ],
)
def test_why_an_answer_ended_is_said_in_few_words(
    message: dict[str, Any], end: dict[str, Any], reason: str, words: str
) -> None:
    whole = ChatReply().read({"choices": [{"message": message, **end}]})
    streamed = ChatReply()
    streamed.add({"choices": [{"delta": message}]})
    streamed.add({"choices": [{"delta": {}, **end}]})
    for response in (whole, streamed.response()):
        assert (response.finish_reason, response.refusal) == (reason, words)
        assert response.content == message.get("content")


@pytest.mark.parametrize(
    ("delta", "whole"),
    [
        ({"content": "It is 3."}, True),
        ({"tool_calls": [_CALL]}, True),
        ({"tool_calls": [{**_CALL, "function": {"name": "add", "arguments": '{"a": '}}]}, False),
        ({"reasoning_content": "Hm."}, False),
        ({}, False),
    ],
)
def test_an_end_without_a_reason_counts_if_the_answer_is_whole(
    delta: dict[str, Any], *, whole: bool
) -> None:
    reply = ChatReply()
    reply.add({"choices": [{"delta": delta}]})
    assert (reply.is_whole(done=True), reply.is_whole(done=False)) == (whole, False)
    assert reply.response().finish_reason == ("tool_calls" if "tool_calls" in delta else "stop")


def test_calls_that_share_an_index_and_have_no_ids_stay_apart() -> None:
    assembler = ChatReply()
    for name in ("add", "now"):
        function = {"name": name, "arguments": "{}"}
        assembler.add(
            {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": function}]}}]}
        )
    assert [(c.name, c.arguments) for c in assembler.response().tool_calls] == [
        ("add", "{}"),
        ("now", "{}"),
    ]
