"""What the replies of chat completions hold besides text and calls."""

from __future__ import annotations

from typing import Any

import pytest

from tinyagent import Usage
from tinyagent.core import ModelDelta, ModelServerError
from tinyagent.models.wire.chat_reply import ChatReply


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
    ],
)
def test_usage_is_read_as_the_provider_counts(counts: dict[str, Any], usage: Usage) -> None:
    reply = {"choices": [{"message": {"content": "hi"}}], "usage": counts}
    assert ChatReply().read(reply).usage == usage


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


def test_a_refusal_is_the_text_and_reports_it() -> None:
    reply = {"choices": [{"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}]}
    response = ChatReply().read(reply)
    assert (response.content, response.finish_reason) == ("No.", "content_filter")


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
