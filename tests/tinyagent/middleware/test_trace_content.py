from __future__ import annotations

import json
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from tinyagent import Message, ToolCall
from tinyagent.core import ModelResponse, RawToolCall
from tinyagent.middleware.spans import ContentWriter

WRITER = ContentWriter(200)


def test_messages_have_the_shape_of_the_conventions() -> None:
    calls = (ToolCall("c1", "rain", {"city": "Oslo"}),)
    messages = [
        Message("system", "Be brief."),
        Message("user", "Rain?"),
        Message("assistant", "", calls),
        Message("tool", "yes", tool_call_id="c1"),
        Message("assistant", "Yes.", calls),
    ]
    call = {"type": "tool_call", "id": "c1", "name": "rain", "arguments": '{"city": "Oslo"}'}
    assert json.loads(WRITER.messages(messages)) == [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Rain?"}]},
        {"role": "assistant", "parts": [call]},
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "c1", "response": "yes"}],
        },
        {"role": "assistant", "parts": [{"type": "text", "content": "Yes."}, call]},
    ]


def test_an_answer_is_written_with_its_calls_as_they_came() -> None:
    response = ModelResponse("So:", (RawToolCall("c1", "rain", '{"city": "Os'),))
    assert json.loads(WRITER.response(response)) == [
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "So:"},
                {"type": "tool_call", "id": "c1", "name": "rain", "arguments": '{"city": "Os'},
            ],
        }
    ]
    assert json.loads(WRITER.response(ModelResponse(None))) == [{"role": "assistant", "parts": []}]


def test_of_a_long_conversation_the_newest_messages_are_written() -> None:
    written = json.loads(WRITER.messages([Message("user", str(n)) for n in range(90)]))
    assert [message["parts"][0]["content"] for message in written] == [
        str(n) for n in range(40, 90)
    ]


@given(st.text(max_size=1_000))
def test_no_text_is_longer_than_allowed(text: str) -> None:
    assert len(WRITER.text(text)) <= 200
    assert WRITER.text(text) == text or len(text) > 200


def test_arguments_that_are_no_json_are_written_all_the_same() -> None:
    assert WRITER.arguments({"day": date(2026, 11, 21)}) == '{"day": "2026-11-21"}'
