"""The Responses API, against a server that refuses what the real one refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tinyagent import (
    ConfigurationError,
    FallbackModel,
    Image,
    Message,
    OpenAIModel,
    ReactAgent,
    RunFinished,
    Text,
    ToolCall,
    Usage,
)
from tinyagent.core import (
    ModelDelta,
    ModelRateLimited,
    ModelRefused,
    ModelReplyError,
    ModelRequest,
    ModelResponse,
    ModelServerError,
    RawToolCall,
    Reasoning,
    RequestFormat,
)
from tinyagent.core.types import remembered
from tinyagent.models import OpenAIResponsesModel, get_model
from tinyagent.models.providers import PROVIDERS
from tinyagent.models.wire.responses_reply import ResponsesReply
from tinyagent.models.wire.responses_request import encode_request, responses_origin
from tinyagent.testing import MockServer, Reply, error_reply, json_reply

MODEL = "gpt-5.5"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
ORIGIN = responses_origin(PROVIDERS["openai"], MODEL)
USAGE = {
    "input_tokens": 30,
    "input_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 5},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 6},
    "total_tokens": 39,
}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Add them."}],
    "encrypted_content": "gAAAA",
}
COMMENT = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "phase": "commentary",
    "content": [{"type": "output_text", "text": "I add.", "annotations": []}],
}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "add",
    "arguments": '{"a": 1, "b": 2}',
    "status": "completed",
}
ANSWER = {
    **COMMENT,
    "id": "msg_2",
    "phase": "final_answer",
    "content": [{"type": "output_text", "text": "It is 3.", "annotations": []}],
}


def _response(*output: dict[str, Any], **rest: Any) -> dict[str, Any]:
    head = {"id": "resp_1", "object": "response", "model": MODEL, "status": "completed"}
    return {**head, "output": list(output), "usage": USAGE, "error": None, **rest}


def _events(response: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a streamed response; what is added first is not whole."""
    out: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**response, "output": [], "usage": None}}
    ]
    for at, item in enumerate(response["output"]):
        place = {"output_index": at, "item_id": item["id"]}
        out.append({"type": "response.output_item.added", **place, "item": {"type": item["type"]}})
        for piece in item.get("summary", ()):
            kind = "response.reasoning_summary_text.delta"
            out.append({"type": kind, **place, "delta": piece["text"]})
        for piece in item.get("content", ()):
            kind, key = ("refusal", "refusal") if "refusal" in piece else ("output_text", "text")
            words = piece[key].split(" ")
            spaced = [word if not at else f" {word}" for at, word in enumerate(words)]
            out += [{"type": f"response.{kind}.delta", **place, "delta": word} for word in spaced]
        out.append({"type": "response.output_item.done", **place, "item": item})
    end = {"completed": "completed", "incomplete": "incomplete", "failed": "failed"}
    out.append({"type": f"response.{end[response['status']]}", "response": response})
    return out


def _sse(response: dict[str, Any]) -> Reply:
    lines = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in _events(response)]
    return Reply("".join(lines).encode(), content_type="text/event-stream")


def _refusal(body: dict[str, Any], sent: list[dict[str, Any]]) -> str | None:
    """What the API has against a request, if `sent` are the items that it made before."""
    if body["store"] is not False or body["include"] != ["reasoning.encrypted_content"]:
        return "not stateless"
    for key in ("temperature", "max_tokens", "messages", "stream_options"):
        if key in body:
            return f"Unsupported parameter: {key}"
    if any("function" in tool or "strict" not in tool for tool in body.get("tools", ())):
        return "Missing required parameter: 'tools[0].name'"
    kinds = [item["type"] for item in body["input"]]
    for item, kind in zip(body["input"], [*kinds[1:], ""], strict=True):
        if item["type"] == "reasoning" and kind not in {"reasoning", "message", "function_call"}:
            return f"Item '{item['id']}' was provided without its required following item"
        if "id" in item and item not in sent:
            return f"Item '{item['id']}' is not as it was made"
    calls = {item["call_id"] for item in body["input"] if item["type"] == "function_call"}
    results = {i["call_id"] for i in body["input"] if i["type"] == "function_call_output"}
    return None if calls == results else f"No tool output found for function call {calls - results}"


def _server(*responses: dict[str, Any]) -> MockServer:
    """Gives one response after the other to requests that bring back all items as they were."""
    left = list(responses)
    made: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> Reply:
        refused = _refusal(body, made)
        known = [item["id"] for item in body["input"] if "id" in item]
        if refused is None and known != [item["id"] for item in made]:
            refused = f"the items {known} came back, not {[item['id'] for item in made]}"
        if refused is not None:
            return error_reply(400, refused)
        response = left.pop(0)
        made.extend(response["output"])
        return _sse(response) if body.get("stream") else json_reply(response)

    return MockServer(answer)


def _model(server: MockServer) -> OpenAIResponsesModel:
    return OpenAIResponsesModel(
        MODEL, base_url=server.base_url, api_key="k", provider="openai", retries=0
    )


def _add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def _tools() -> list[Any]:
    from tinyagent import Tool

    return [Tool.from_function(_add, name="add")]


@pytest.mark.parametrize("streams", [False, True])
async def test_an_agent_brings_all_items_back_as_they_came(*, streams: bool) -> None:
    first = _response(THOUGHT, COMMENT, CALL)
    second = _response({**THOUGHT, "id": "rs_2"}, ANSWER)
    async with _server(first, second, _response(ANSWER)) as server:
        agent = ReactAgent(_model(server), _tools())
        if streams:
            *_, last = [event async for event in agent.stream("1 + 2?")]
            assert isinstance(last, RunFinished)
            result = last.result
        else:
            result = await agent.run("1 + 2?")
        assert (result.output, result.state) == ("It is 3.", "completed")
        assert result.usage == Usage(2, 60, 18, 40, 10, 12)
        later = await agent.run("Sure?", memory=result.memory)
    sent = server.requests[-1]["input"]
    made = [*first["output"], *second["output"]]
    assert [item for item in sent if "id" in item] == made
    assert later.output == "It is 3."
    tool = server.requests[0]["tools"][0]
    assert (tool["type"], tool["name"], tool["strict"]) == ("function", "add", False)
    assert server.requests[0]["instructions"].startswith("You")


async def test_a_stream_separates_reasoning_and_text() -> None:
    async with _server(_response(THOUGHT, ANSWER)) as server:
        request = ModelRequest((Message("user", "hi"),))
        *deltas, response = [item async for item in _model(server).stream(request)]
    assert deltas == [
        ModelDelta("Add them.", "reasoning"),
        *(ModelDelta(word) for word in ("It", " is", " 3.")),
    ]
    assert isinstance(response, ModelResponse)
    assert (response.content, response.reasoning) == ("It is 3.", "Add them.")


def _kept(response: ModelResponse) -> Message:
    calls = [
        ToolCall(c.id, c.name, json.loads(c.arguments), opaque=c.opaque)
        for c in response.tool_calls
    ]
    return Message("assistant", remembered(response, response.content or "", calls), tuple(calls))


def _input(model: str, *messages: Message) -> list[dict[str, Any]]:
    provider = PROVIDERS["openai"].for_model(model)
    body = encode_request(model, ModelRequest(messages), stream=False, provider=provider)
    items: list[dict[str, Any]] = body["input"]
    return items


def test_another_model_is_sent_neither_reasoning_nor_ids() -> None:
    kept = _kept(ResponsesReply(PROVIDERS["openai"], MODEL).read(_response(THOUGHT, COMMENT, CALL)))
    assert _input(MODEL, kept) == [THOUGHT, COMMENT, CALL]
    other = _input("gpt-5.6", kept)
    assert [item["type"] for item in other] == ["message", "function_call"]
    assert not [key for item in other for key in ("id", "phase", "status") if key in item]


@pytest.mark.parametrize("encrypted", [None, ""])
def test_reasoning_without_its_encrypted_form_is_left_out_with_the_ids(encrypted: Any) -> None:
    bare = {**THOUGHT, "encrypted_content": encrypted}
    sent = _input(
        MODEL, _kept(ResponsesReply(PROVIDERS["openai"], MODEL).read(_response(bare, CALL)))
    )
    assert [(item["type"], "id" in item) for item in sent] == [("function_call", False)]


def test_an_empty_message_after_reasoning_goes_back() -> None:
    empty = {**COMMENT, "content": []}
    response = ResponsesReply(PROVIDERS["openai"], MODEL).read(_response(THOUGHT, empty, CALL))
    assert _input(MODEL, _kept(response)) == [
        THOUGHT,
        {**empty, "content": [{"type": "output_text", "text": "", "annotations": []}]},
        CALL,
    ]
    assert [item["type"] for item in _input("gpt-5.6", _kept(response))] == ["function_call"]


def test_reasoning_that_nothing_follows_is_left_out() -> None:
    kept = Message("assistant", (Text("so"), Reasoning("hm", ORIGIN.mark({"item": THOUGHT}))))
    assert [item["type"] for item in _input(MODEL, kept)] == ["message"]


def test_images_go_to_users_messages_and_results() -> None:
    result = Message("tool", (Text("seen"), Image(PNG)), tool_call_id="call_1")
    user, output = _input(MODEL, Message("user", (Text("?"), Image(PNG))), result)
    assert [part["type"] for part in user["content"]] == ["input_text", "input_image"]
    assert [part["type"] for part in output["output"]] == ["input_text", "input_image"]
    assert output["output"][1]["detail"] == "auto"


def test_the_options_have_the_names_of_this_api() -> None:
    provider = PROVIDERS["openai"]
    request = ModelRequest(
        (Message("system", "Be kind."), Message("user", "hi")),
        RequestFormat(tools=({"function": {"name": "now"}},), tool_choice="none"),
        temperature=0.0,
        max_tokens=99,
        reasoning="low",
    )
    body = encode_request(MODEL, request, stream=True, provider=provider.for_model(MODEL))
    assert body["reasoning"] == {"effort": "low"}
    assert (body["instructions"], body["max_output_tokens"]) == ("Be kind.", 99)
    assert body["tool_choice"] == "none"
    assert "temperature" not in body
    plain = encode_request("gpt-4.1", ModelRequest(()), stream=False, provider=provider)
    assert "include" not in plain


def test_a_refusal_and_a_cut_answer_say_so() -> None:
    refusal = {**ANSWER, "content": [{"type": "refusal", "refusal": "I will not."}]}
    response = ResponsesReply(PROVIDERS["openai"], MODEL).read(_response(refusal))
    assert (response.finish_reason, response.refusal) == ("refusal", "I will not.")
    assert not response.content
    details = {"reason": "content_filter"}
    filtered = _response(ANSWER, status="incomplete", incomplete_details=details)
    read = ResponsesReply(PROVIDERS["openai"], MODEL).read(filtered)
    assert (read.finish_reason, bool(read.content)) == ("content_filter", True)
    cut = _response(ANSWER, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    assert ResponsesReply(PROVIDERS["openai"], MODEL).read(cut).finish_reason == "length"
    calls = ResponsesReply(PROVIDERS["openai"], MODEL).read(_response(CALL))
    assert calls.finish_reason == "tool_calls"
    assert calls.tool_calls[0] == RawToolCall(
        "call_1",
        "add",
        CALL["arguments"],
        ORIGIN.mark({"item": {"id": "fc_1", "status": "completed"}}),
    )


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (
            _response(status="failed", error={"code": "server_error", "message": "oh"}),
            ModelServerError,
            "oh",
        ),
        (
            _response(status="failed", error={"code": "rate_limit_exceeded"}),
            ModelRateLimited,
            "failed",
        ),
        (
            _response(status="failed", error={"code": "image_too_large", "message": "big"}),
            ModelRefused,
            "image_too_large",
        ),
        ({"id": "resp_1"}, ModelReplyError, "no 'output'"),
        ([], ModelReplyError, "a list instead of an object"),
        (_response("x"), ModelReplyError, "a str instead of an object"),  # type: ignore[arg-type]
    ],
)
def test_a_failure_has_its_error(data: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        ResponsesReply(PROVIDERS["openai"], MODEL).read(data)


def test_a_failure_in_a_stream_has_its_error() -> None:
    failed = _response(status="failed", error={"code": "server_error", "message": "oh"})
    with pytest.raises(ModelServerError, match="oh"):
        ResponsesReply(PROVIDERS["openai"], MODEL).add(
            {"type": "response.failed", "response": failed}
        )
    with pytest.raises(ModelRateLimited, match="slow"):
        ResponsesReply(PROVIDERS["openai"], MODEL).add(
            {"type": "error", "code": "rate_limit_exceeded", "message": "slow"}
        )


@pytest.mark.parametrize(
    ("name", "base_url", "kind", "path"),
    [
        ("openai:gpt-5.5", None, OpenAIResponsesModel, "responses"),
        ("gpt-5-mini", None, OpenAIResponsesModel, "responses"),
        ("openai:o3", None, OpenAIResponsesModel, "responses"),
        ("openai:gpt-4.1", None, OpenAIModel, "chat/completions"),
        ("openai:gpt-5-chat-latest", None, OpenAIModel, "chat/completions"),
        ("openai:gpt-5.5", "http://localhost:1/v1", OpenAIModel, "chat/completions"),
        ("openai-responses:m", "http://localhost:1/v1", OpenAIResponsesModel, "responses"),
    ],
)
def test_the_api_is_the_one_that_the_model_needs(
    monkeypatch: pytest.MonkeyPatch, name: str, base_url: str | None, kind: type, path: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    if base_url is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", base_url)
    model = get_model(name)
    assert type(model) is kind
    assert repr(model).endswith(f"/v1/{path}')")


def test_a_key_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigurationError, match="set OPENAI_API_KEY"):
        OpenAIResponsesModel(MODEL)


async def test_a_fallback_is_sent_the_conversation_without_the_reasoning_of_the_first() -> None:
    first = _response(THOUGHT, CALL)

    def answer(body: dict[str, Any]) -> Reply:
        return json_reply(first) if len(body["input"]) == 1 else error_reply(503, "down")

    async with MockServer(answer) as server, MockServer(["It is 3."]) as spare:
        other = OpenAIModel("spare", base_url=spare.base_url)
        agent = ReactAgent(FallbackModel([_model(server), other]), _tools())
        assert (await agent.run("1 + 2?")).output == "It is 3."
    sent = json.dumps(spare.requests[0])
    assert "call_1" in sent
    for secret in ("gAAAA", "rs_1", "fc_1", "Add them."):
        assert secret not in sent


async def test_reasoning_whose_item_is_gone_is_not_sent_and_the_text_has_no_id() -> None:
    origin = responses_origin(PROVIDERS["openai"].for_model("gpt-5.5"), "gpt-5.5")
    thought = Reasoning("", origin.mark({"item": {"id": "rs_1", "encrypted_content": "x"}}))
    said = Text("Well.", origin.mark({"item": {"id": "msg_1", "phase": "commentary"}}))
    model = OpenAIResponsesModel("gpt-5.5", api_key="k")

    def sent(*parts: Reasoning | Text) -> Any:
        messages = (Message("user", "1 + 2?"), Message("assistant", parts))
        return model.body(ModelRequest(messages), stream=False)["input"][1:]

    assert [item.get("id") for item in sent(thought, said)] == ["rs_1", "msg_1"]
    assert sent(thought, Text("Well.")) == [
        {"type": "message", "role": "assistant", "content": "Well."}
    ]
