from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.messages_server import events, message_json, refusal

from tinyagent import Message, ModelError, ToolCall, Usage
from tinyagent.core import (
    ModelDelta,
    ModelReplyError,
    ModelRequest,
    ModelResponse,
    RawToolCall,
    RequestFormat,
)
from tinyagent.core.errors import ModelFormatRefused
from tinyagent.models.providers import PROVIDERS
from tinyagent.models.wire.messages_reply import (
    MessagesReply,
)
from tinyagent.models.wire.messages_request import encode_request
from tinyagent.models.wire.responses_reply import ResponsesReply

ADD = {
    "type": "function",
    "function": {"name": "add", "description": "Add.", "parameters": {"type": "object"}},
}
RESPONSE = ModelResponse(
    "Let me see.",
    (RawToolCall("t1", "add", '{"a": 1}'), RawToolCall("t2", "now", "{}")),
    Usage(1, 30, 7, 20),
    "tool_calls",
    "claude",
    "msg_1",
)


def _encode(*messages: Message, **options: Any) -> dict[str, Any]:
    request = ModelRequest(messages, **options)
    provider = PROVIDERS["anthropic"].for_model("claude")
    return encode_request("claude", request, max_tokens=99, stream=False, provider=provider)


def _assemble(sent: list[dict[str, Any]]) -> tuple[list[ModelDelta], MessagesReply]:
    assembler = MessagesReply()
    return [delta for event in sent for delta in assembler.add(event)], assembler


def test_the_system_prompt_is_separate() -> None:
    body = _encode(Message("system", "Be kind."), Message("user", "hi"), Message("system", "Now."))
    assert body["system"] == "Be kind.\n\nNow."
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert "system" not in _encode(Message("system", ""), Message("user", "hi"))


def test_results_of_parallel_calls_are_one_message_in_order() -> None:
    calls = (ToolCall("t1", "add", {"a": 1}), ToolCall("t2", "add", {}))
    body = _encode(
        Message("user", "go"),
        Message("assistant", "", calls),
        Message("tool", "one", tool_call_id="t1"),
        Message("tool", "", tool_call_id="t2"),
        Message("user", "and?"),
    )
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}},
                {"type": "tool_use", "id": "t2", "name": "add", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
                {"type": "tool_result", "tool_use_id": "t2", "content": ""},
                {"type": "text", "text": "and?"},
            ],
        },
    ]


def test_messages_of_one_role_become_one_and_blank_ones_none() -> None:
    body = _encode(
        Message("user", "a"),
        Message("user", "b"),
        Message("assistant", " \n"),
        Message("user", "c"),
    )
    texts = [{"type": "text", "text": text} for text in "abc"]
    assert body["messages"] == [{"role": "user", "content": texts}]


def test_ids_of_other_models_are_made_fit() -> None:
    call = ToolCall("functions.add:0", "add")
    answer = Message("tool", "1", tool_call_id="functions.add:0")
    body = _encode(Message("user", "go"), Message("assistant", "", (call,)), answer)
    assert body["messages"][1]["content"][0]["id"] == "functions_add_0"
    assert body["messages"][2]["content"][0]["tool_use_id"] == "functions_add_0"


def test_tools_and_schemas_are_translated() -> None:
    schema = {"type": "object", "properties": {}}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    bare = {"type": "function", "function": {"name": "now"}}
    body = _encode(Message("user", "hi"), format=RequestFormat((ADD, bare), "none", wanted))
    assert body["tools"] == [
        {"name": "add", "description": "Add.", "input_schema": {"type": "object"}},
        {"name": "now", "description": "", "input_schema": schema},
    ]
    assert body["tool_choice"] == {"type": "none"}
    closed = {**schema, "required": [], "additionalProperties": False}
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": closed}}


def test_a_format_that_the_api_does_not_have_is_refused_before_it_is_sent() -> None:
    with pytest.raises(ModelFormatRefused, match="no response_format of type 'json_object'"):
        _encode(
            Message("user", "hi"), format=RequestFormat(response_format={"type": "json_object"})
        )


def test_the_length_is_always_named_and_the_temperature_never() -> None:
    assert _encode(Message("user", "hi"), temperature=0.0)["max_tokens"] == 99
    body = _encode(Message("user", "hi"), temperature=0.0, max_tokens=5)
    assert body == {
        "model": "claude",
        "max_tokens": 5,
        "cache_control": {"type": "ephemeral"},
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    }


_ids = st.text(min_size=1, max_size=8)
_turns = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "system"]), st.text(), st.integers(0, 3)),
    max_size=8,
)


@given(_turns)
def test_the_api_accepts_any_conversation_of_an_agent(
    turns: list[tuple[Any, str, int]],
) -> None:
    messages = [Message("user", "begin")]
    for number, (role, text, count) in enumerate(turns):
        calls = tuple(ToolCall(f"c:{number}.{index}", "add", {"a": 1}) for index in range(count))
        messages.append(Message(role, text, calls if role == "assistant" else ()))
        messages += [
            Message("tool", text, tool_call_id=call.id) for call in messages[-1].tool_calls
        ]
    assert refusal(_encode(*messages)) is None


def test_a_whole_reply_is_read() -> None:
    data = message_json(RESPONSE)
    assert MessagesReply().is_unstreamed(data)
    assert MessagesReply().read(data) == RESPONSE


def test_a_streamed_reply_gives_the_same_result() -> None:
    deltas, assembler = _assemble(events(RESPONSE, thought="Hm."))
    assert deltas == [
        ModelDelta("Hm.", "reasoning"),
        ModelDelta("Let"),
        ModelDelta(" me"),
        ModelDelta(" see."),
    ]
    assert assembler.is_whole(done=False)
    response = assembler.response()
    assert response.reasoning == "Hm."
    assert replace(response, parts=()) == RESPONSE


@given(st.text(min_size=1), st.lists(st.tuples(_ids, _ids, st.sampled_from(["{}", '{"é": [1]}']))))
def test_plain_and_streamed_agree(text: str, calls: list[tuple[str, str, str]]) -> None:
    response = ModelResponse(text, tuple(RawToolCall(*call) for call in calls))
    whole = MessagesReply().read(message_json(response))
    assert _assemble(events(response))[1].response() == whole
    assert (whole.content, whole.tool_calls) == (text, response.tool_calls)


def test_arguments_that_are_an_object_are_json_over_responses() -> None:
    item = {"type": "function_call", "call_id": "1", "name": "f", "arguments": {"a": True}}
    read = ResponsesReply(PROVIDERS["openai"], "gpt-5.5").read({"output": [item]})
    assert read.tool_calls[0].arguments == '{"a": true}'


def test_a_reply_of_calls_alone_has_no_content() -> None:
    data = {"content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]}
    assert MessagesReply().read(data).content is None
    assert MessagesReply().read(data).finish_reason == "tool_calls"
    assert MessagesReply().read({"content": []}).content is None
    assert MessagesReply().read({"content": [{"type": "text", "text": ""}]}).content == ""


def test_tokens_of_the_cache_are_part_of_the_input() -> None:
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 40,
        "cache_creation_input_tokens": 500,
        "output_tokens": 6,
    }
    assert MessagesReply().read({"content": [], "usage": usage}).usage == Usage(1, 543, 6, 40, 500)
    assert MessagesReply().read({"content": [], "usage": {"input_tokens": "x"}}).usage == Usage(
        1, uncounted=1
    )


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "pause_turn"),
        (None, "stop"),
    ],
)
def test_reasons_to_stop(message: str | None, reason: str) -> None:
    assert MessagesReply().read({"content": [], "stop_reason": message}).finish_reason == reason


@pytest.mark.parametrize(
    ("details", "words"),
    [
        ({"type": "refusal", "category": "cyber", "explanation": "No."}, "No."),
        ({"type": "refusal", "category": "cyber", "explanation": None}, "cyber"),
        ({"type": "refusal", "category": None, "explanation": "x" * 1000}, "x" * 500 + "…"),
        (None, ""),
    ],
)
def test_a_refusal_has_the_words_of_its_details(details: object, words: str) -> None:
    end = {"stop_reason": "refusal", "stop_details": details}
    assert MessagesReply().read({"content": [], **end}).refusal == words
    streamed = _assemble([{"type": "message_delta", "delta": end}])[1].response()
    assert (streamed.finish_reason, streamed.refusal) == ("refusal", words)


def test_a_stream_is_not_whole_before_it_says_so() -> None:
    assert not _assemble(events(RESPONSE)[:-1])[1].is_whole(done=True)


@pytest.mark.parametrize(
    ("kind", "status"),
    [("overloaded_error", 529), ("rate_limit_error", 429), ("new_error", 500), (None, 500)],
)
def test_errors_in_the_stream_map_to_a_status(kind: str | None, status: int) -> None:
    with pytest.raises(ModelError, match=f"the server answered {status}"):
        MessagesReply().add({"type": "error", "error": {"type": kind}})


@pytest.mark.parametrize("data", [None, 5, [], {}, {"content": 5}, {"content": [5]}])
def test_a_reply_that_is_not_a_message_is_an_error(data: Any) -> None:
    with pytest.raises(ModelReplyError, match="the reply has"):
        MessagesReply().read(data)


_json = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "index", "delta", "content_block", "message", "text"]), inner
        )
    ),
)
_events = st.fixed_dictionaries(
    {
        "type": st.sampled_from([event["type"] for event in events(RESPONSE)]),
        "index": st.integers(0, 3) | _json,
    },
    optional={
        "delta": _json,
        "message": _json,
        "usage": _json,
        "content_block": st.fixed_dictionaries(
            {"type": st.sampled_from(["text", "tool_use", "thinking"])},
            optional={"text": _json, "input": _json, "id": _json, "thinking": _json},
        ),
    },
)


@given(st.lists(_events | _json, max_size=6))
def test_no_stream_is_too_strange(sent: list[Any]) -> None:
    assembler = MessagesReply()
    try:
        for event in sent:
            assembler.add(event)
    except ModelError:
        return
    assert isinstance(assembler.response(), ModelResponse)
