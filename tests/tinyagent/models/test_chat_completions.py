from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent import Message, ToolCall, Usage
from tinyagent.core import (
    ModelDelta,
    ModelReplyError,
    ModelRequest,
    ModelResponse,
    ModelServerError,
    RawToolCall,
    RequestFormat,
)
from tinyagent.models.wire.chat_reply import ChatReply
from tinyagent.models.wire.chat_request import encode_request

USER = ModelRequest((Message("user", "hi"),))


def _chunk(delta: Any, **choice: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, **choice}]}


def _reply(message: Any, **parts: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop"}], **parts}


def _assemble(*chunks: Any) -> ModelResponse:
    assembler = ChatReply()
    for chunk in chunks:
        assembler.add(chunk)
    return assembler.response()


def test_a_plain_request_holds_no_more_than_it_must() -> None:
    assert encode_request("m", USER, stream=False) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
    }


def test_a_full_request() -> None:
    call = ToolCall("1", "add", {"a": "ü"})
    conversation = (Message("assistant", "", (call,)), Message("tool", "2", (), "1"))
    request = ModelRequest(conversation, RequestFormat(({"type": "function"},)), 0.0, 9)
    assert encode_request("m", request, stream=True) == {
        "model": "m",
        "messages": [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "1",
                        "type": "function",
                        "function": {"name": "add", "arguments": '{"a": "ü"}'},
                    }
                ],
            },
            {"role": "tool", "content": "2", "tool_call_id": "1"},
        ],
        "tools": ({"type": "function"},),
        "temperature": 0.0,
        "max_tokens": 9,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_whole_reply_is_read() -> None:
    function = {"name": "add", "arguments": '{"a": 1}'}
    data = _reply(
        {"content": "so", "tool_calls": [{"id": "1", "function": function}]},
        id="c",
        model="m",
        usage={
            "prompt_tokens": 3,
            "completion_tokens": 4,
            "prompt_tokens_details": {"cached_tokens": 2},
        },
    )
    assert ChatReply().read(data) == ModelResponse(
        "so", (RawToolCall("1", "add", '{"a": 1}'),), Usage(1, 3, 4, 2), "tool_calls", "m", "c"
    )


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ({}, None),
        ({"content": None}, None),
        ({"content": ""}, None),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": [{"type": "image"}]}, ""),
    ],
)
def test_content_comes_in_several_spellings(message: object, content: str | None) -> None:
    assert (ChatReply().read(_reply(message)).content or None) == (content or None)


@pytest.mark.parametrize(
    ("arguments", "text"), [({"a": 1}, '{"a": 1}'), (None, ""), ("", ""), ([1], "[1]")]
)
def test_arguments_that_are_not_text_are_made_text(arguments: object, text: str) -> None:
    function = {"name": "add", "arguments": arguments}
    response = ChatReply().read(_reply({"tool_calls": [{"id": "1", "function": function}]}))
    assert response.tool_calls == (RawToolCall("1", "add", text),)


def test_no_more_than_128_calls_are_read() -> None:
    call = {"id": "1", "function": {"name": "add", "arguments": "{}"}}
    assert len(ChatReply().read(_reply({"tool_calls": [call] * 500})).tool_calls) == 128


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "the reply has null instead of an object"),
        ([], "the reply has a list instead of an object"),
        ("text", "the reply has a str instead of an object"),
        ({}, "the reply has no 'choices', only an object with the keys: none"),
        ({"models": []}, "the reply has no 'choices', only an object with the keys: models"),
        ({"choices": []}, "the reply has no 'choices'"),
        ({"choices": "x"}, "the reply has a str instead of a list"),
        ({"choices": [None]}, "the reply has null instead of an object"),
        ({"choices": [{"text": "old"}]}, "the reply has null instead of an object"),
        (_reply({"content": 5}), "the reply has a int instead of a list"),
        (_reply({"tool_calls": {}}), "instead of a list"),
        (_reply({"tool_calls": [5]}), "the reply has a int instead of an object"),
        (_reply({"tool_calls": [{}]}), "the reply has null instead of an object"),
    ],
)
def test_a_reply_of_another_shape_is_described(data: object, message: str) -> None:
    with pytest.raises(ModelReplyError, match=message):
        ChatReply().read(data)


def test_an_error_inside_a_good_status_is_the_servers_failure() -> None:
    with pytest.raises(ModelServerError, match="no capacity"):
        ChatReply().read({"error": {"message": "no capacity", "code": 502}})
    with pytest.raises(ModelServerError, match="no capacity"):
        ChatReply().add({"error": {"message": "no capacity", "code": 502}})


def test_an_error_that_is_null_is_none() -> None:
    assert ChatReply().read(_reply({"content": "hi"}, error=None)).content == "hi"
    assert _assemble({**_chunk({"content": "hi"}), "error": None}).content == "hi"


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        ({"object": "chat.completion", **_reply({"content": "hi"})}, True),
        (_reply({"content": "hi"}), True),
        ({"object": "chat.completion.chunk", **_chunk({"content": "hi"})}, False),
        (_chunk({}), False),
        ({"choices": []}, False),
        ({"choices": None}, False),
        (None, False),
        ({"error": {}}, False),
    ],
)
def test_a_whole_reply_is_distinguished_from_a_chunk(data: object, *, whole: bool) -> None:
    assert ChatReply().is_unstreamed(data) is whole


def test_text_and_thoughts_come_as_they_are_written() -> None:
    assembler = ChatReply()
    assert not assembler.add(_chunk({"role": "assistant", "content": ""}))
    assert assembler.add(_chunk({"reasoning_content": "hm"})) == [ModelDelta("hm", "reasoning")]
    assert assembler.add(_chunk({"content": "It "})) == [ModelDelta("It ")]
    assert assembler.add(_chunk({"content": "is."})) == [ModelDelta("is.")]
    assert not assembler.is_whole(done=False)
    assert not assembler.add(_chunk({}, finish_reason="length"))
    assert assembler.is_whole(done=False)
    assert assembler.add({"choices": [], "usage": {"prompt_tokens": 2}}) == ()
    response = assembler.response()
    assert response.reasoning == "hm"
    assert replace(response, parts=()) == ModelResponse(
        "It is.", (), Usage(1, 2, uncounted=1), "length"
    )


def _piece(arguments: str = "", *, name: str | None = None, **rest: Any) -> dict[str, Any]:
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return _chunk({"tool_calls": [{**rest, "function": function}]})


@pytest.mark.parametrize(
    "chunks",
    [
        [
            _piece("{", name="a", id="1", index=0),
            _piece("}", index=0),
            _piece("{", name="b", id="2", index=1),
            _piece("}", index=1),
        ],
        [
            _piece("{", name="a", id="1"),
            _piece("}"),
            _piece("{", name="b", id="2"),
            _piece("}"),
        ],
        [_piece("{}", name="a", id="1", index=0), _piece("{}", name="b", id="2", index=0)],
        [
            _piece("{", name="a", id="1", index=0),
            _piece("{", name="b", id="2", index=1),
            _piece("}", index=1),
            _piece("}", index=0),
        ],
    ],
    ids=["as documented", "no index", "one index for all", "interleaved"],
)
def test_the_pieces_of_calls_find_their_call(chunks: list[Any]) -> None:
    assert _assemble(*chunks).tool_calls == (
        RawToolCall("1", "a", "{}"),
        RawToolCall("2", "b", "{}"),
    )


@pytest.mark.parametrize("index", [-1, 128, 10**30])
def test_a_call_far_out_is_refused(index: int) -> None:
    with pytest.raises(ModelReplyError, match=f"a tool call with index {index}"):
        _assemble(_piece("{}", name="a", id="1", index=index))


def test_a_stream_cannot_start_calls_without_end() -> None:
    with pytest.raises(ModelReplyError, match="a tool call with index 128"):
        _assemble(*(_piece("{}", name="a", id=str(n), index=0) for n in range(500)))


known = st.sampled_from(
    [
        "choices", "message", "delta", "content", "tool_calls", "function", "name", "arguments",
        "usage", "prompt_tokens", "error", "finish_reason", "index", "id", "object", "model",
    ]
)  # fmt: skip
hostile = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | known,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(known, inner, max_size=4),
    max_leaves=25,
)
shaped = st.fixed_dictionaries(
    {
        "choices": st.lists(
            st.fixed_dictionaries({"message": hostile, "delta": hostile}), max_size=2
        )
    },
    optional={"usage": hostile, "id": hostile, "model": hostile, "error": hostile},
)


@given(hostile | shaped)
def test_any_json_is_a_reply_or_a_model_error(data: object) -> None:
    try:
        response = ChatReply().read(data)
    except (ModelReplyError, ModelServerError):
        return
    _assert_typed(response)


@given(st.lists(hostile | shaped, max_size=4))
def test_any_stream_of_json_is_a_reply_or_a_model_error(chunks: list[object]) -> None:
    try:
        response = _assemble(*chunks)
    except (ModelReplyError, ModelServerError):
        return
    _assert_typed(response)


def _assert_typed(response: ModelResponse) -> None:
    texts = [response.finish_reason, response.model, response.id, response.content or ""]
    texts += [part for call in response.tool_calls for part in (call.id, call.name, call.arguments)]
    assert all(isinstance(text, str) for text in texts)
    counts = response.usage.to_dict().values()
    assert all(count >= 0 for count in counts)


def test_the_encoded_request_is_json() -> None:
    assert json.loads(json.dumps(encode_request("m", USER, stream=True)))["model"] == "m"
