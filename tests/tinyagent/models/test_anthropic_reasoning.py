"""Blocks of thinking: back as they came, and left out where they no longer hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tinyagent import Document, Image, Memory, Message, Text, ToolCall, Usage
from tinyagent.core import ModelRequest, ModelResponse, RequestFormat
from tinyagent.core.types import remembered
from tinyagent.memory import keep_last_n_steps
from tinyagent.models.providers import PROVIDERS
from tinyagent.models.wire.messages_reply import MessagesReply
from tinyagent.models.wire.messages_request import encode_request, prefix_of
from tinyagent.models.wire.shared import Origin

MODEL = "claude-fable-5-1"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
PDF = b"%PDF-1.7\n%%EOF"
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
TOOLS = RequestFormat(tools=(TOOL,))
THINKING = {"type": "thinking", "thinking": "Add them.", "signature": "EqQB"}
HIDDEN = {"type": "thinking", "thinking": "", "signature": "EqQC"}
REDACTED = {"type": "redacted_thinking", "data": "EmwK"}
TEXT = {"type": "text", "text": "I add."}
SYSTEM = Message("system", "Be kind.")


def _call(number: int) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "add", "input": {"a": number}}


def _encode(*messages: Message, model: str = MODEL, **options: Any) -> dict[str, Any]:
    request = ModelRequest(messages, **{"format": TOOLS, **options})
    provider = PROVIDERS["anthropic"].for_model(model)
    return encode_request(model, request, max_tokens=16_384, stream=False, provider=provider)


def _decoded(
    body: dict[str, Any], blocks: list[dict[str, Any]], *, streamed: bool = False
) -> ModelResponse:
    origin = Origin("anthropic", body["model"])

    def mark(block: Any) -> Any:
        return origin.mark({"block": dict(block), "prefix": prefix_of(body)})

    if not streamed:
        return MessagesReply(mark).read({"content": blocks})
    assembler = MessagesReply(mark)
    for index, block in enumerate(blocks):
        for event in _events(block):
            assembler.add({**event, "index": index})
    return assembler.response()


def _events(block: dict[str, Any]) -> list[dict[str, Any]]:
    """A block as it is streamed."""
    start = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}}
    empty = {**block, **start.get(block["type"], {})}
    out: list[dict[str, Any]] = [{"type": "content_block_start", "content_block": empty}]
    deltas: list[dict[str, Any]] = []
    if block["type"] == "text":
        deltas = [{"type": "text_delta", "text": block["text"]}]
    elif block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": word} for word in block["thinking"]]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    return out + [{"type": "content_block_delta", "delta": delta} for delta in deltas]


def _kept(response: ModelResponse) -> Message:
    calls = [ToolCall(c.id, c.name, json.loads(c.arguments)) for c in response.tool_calls]
    content = remembered(response, response.content or "", calls)
    message = Message("assistant", content, tuple(calls))
    return Message.from_dict(json.loads(json.dumps(message.to_dict())))


def _sent(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks that the assistant is said to have written."""
    return [b for m in body["messages"] if m["role"] == "assistant" for b in m["content"]]


def _thoughts(body: dict[str, Any]) -> int:
    return sum(block["type"].endswith("thinking") for block in _sent(body))


def _turn(*before: Message, number: int = 1, **options: Any) -> tuple[Message, Message]:
    """An answer with reasoning and a call, made behind `before`, and the result of the call."""
    response = _decoded(_encode(*before, **options), [THINKING, _call(number)])
    return _kept(response), Message("tool", "3", tool_call_id=f"toolu_{number}")


@pytest.mark.parametrize("streamed", [False, True])
def test_interleaved_blocks_go_back_as_they_came(*, streamed: bool) -> None:
    blocks = [THINKING, REDACTED, TEXT, HIDDEN, _call(1), THINKING, _call(2)]
    asked = (SYSTEM, Message("user", "go"))
    response = _decoded(_encode(*asked), blocks, streamed=streamed)
    assert response.reasoning == "Add them.\n\nAdd them."
    assert _sent(_encode(*asked, _kept(response))) == blocks


def test_a_conversation_that_only_grows_keeps_all_its_thinking() -> None:
    conversation = [SYSTEM, Message("user", "go")]
    for number in range(3):
        conversation += _turn(*conversation, number=number)
    assert _thoughts(_encode(*conversation)) == 3


def test_reasoning_made_after_something_else_is_omitted() -> None:
    asked = (SYSTEM, Message("user", "go"))
    turn = _turn(*asked)
    assert _thoughts(_encode(*asked, *turn)) == 1
    other_tool = {"type": "function", "function": {"name": "now"}}
    changed = [
        _encode(Message("system", "Be brief."), asked[1], *turn),
        _encode(*asked, *turn, format=RequestFormat(tools=(TOOL, other_tool))),
        _encode(SYSTEM, Message("user", "go on"), *turn),
        _encode(*asked, *turn, model="claude-sonnet-5"),
    ]
    assert [_thoughts(body) for body in changed] == [0, 0, 0, 0]
    assert [_sent(body) for body in changed] == [[_call(1)]] * 4


def test_after_pruning_old_thinking_goes_and_new_thinking_stays() -> None:
    memory = Memory([SYSTEM, Message("user", "go")])
    for number in range(3):
        for message in _turn(*memory.messages, number=number):
            memory.add(message.role, message.content, tool_call_id=message.tool_call_id)
    memory.prune(keep_last_n_steps(2))
    assert _thoughts(_encode(*memory.messages)) == 0
    for message in _turn(*memory.messages, number=3):
        memory.add(message.role, message.content, tool_call_id=message.tool_call_id)
    assert _thoughts(_encode(*memory.messages)) == 1


def test_models_that_do_not_bind_their_thinking_keep_it() -> None:
    model = "claude-opus-4-5"
    turn = _turn(SYSTEM, Message("user", "go"), model=model)
    body = _encode(Message("user", "go"), *turn, model=model)
    assert _thoughts(body) == 1


def test_a_block_whose_signature_is_missing_is_left_out() -> None:
    asked = (Message("user", "go"),)
    response = _decoded(_encode(*asked), [{**THINKING, "signature": ""}, _call(1)])
    assert response.reasoning == "Add them."
    assert _sent(_encode(*asked, _kept(response))) == [_call(1)]


@pytest.mark.parametrize(
    ("model", "wish", "sent"),
    [
        ("claude-sonnet-5", None, {}),
        ("claude-sonnet-5", "off", {"thinking": {"type": "disabled"}}),
        (
            "claude-opus-4-8",
            "low",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        ),
        (
            "claude-sonnet-5",
            30_000,
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
        ),
        (MODEL, "off", {"output_config": {"effort": "low"}}),
        ("claude-haiku-4-5-20251001", "off", {"thinking": {"type": "disabled"}}),
        (
            "claude-sonnet-4-5",
            20_000,
            {"thinking": {"type": "enabled", "budget_tokens": 20_000}, "max_tokens": 24_096},
        ),
    ],
)
def test_reasoning_is_requested_in_the_model_s_form(
    model: str, wish: Any, sent: dict[str, Any]
) -> None:
    plain = _encode(Message("user", "hi"), model=model)
    assert _encode(Message("user", "hi"), model=model, reasoning=wish) == {**plain, **sent}


@pytest.mark.parametrize(
    ("wish", "max_tokens", "budget"),
    [("high", 20_000, 12_288), ("high", 8_000, 4_000), (3_000, 3_000, 1_500), (5, None, 1_024)],
)
def test_a_budget_leaves_room_for_an_answer(wish: Any, max_tokens: Any, budget: int) -> None:
    asked = {"model": "claude-sonnet-4-5", "reasoning": wish, "max_tokens": max_tokens}
    body = _encode(Message("user", "hi"), **asked)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert max_tokens in (body["max_tokens"], None)


def test_a_limit_without_room_for_the_smallest_budget_leaves_reasoning_out() -> None:
    asked: dict[str, Any] = {"model": "claude-sonnet-4-5", "reasoning": "low", "max_tokens": 2_000}
    assert "thinking" not in _encode(Message("user", "hi"), **asked)


@pytest.mark.parametrize(
    ("model", "wish", "thinking"),
    [
        ("claude-opus-4-8", "low", {"type": "adaptive", "display": "summarized"}),
        ("claude-opus-4-8", None, None),
        ("claude-sonnet-5", None, {"type": "adaptive", "display": "summarized"}),
        ("claude-sonnet-5", "off", {"type": "disabled"}),
        (MODEL, "off", None),
        ("claude-sonnet-4-5", "low", {"type": "enabled", "budget_tokens": 2_048}),
    ],
)
def test_hidden_thoughts_are_shown_where_the_model_thinks(
    model: str, wish: Any, thinking: Any
) -> None:
    body = encode_request(
        model,
        ModelRequest((Message("user", "hi"),), reasoning=wish),
        max_tokens=9_000,
        stream=False,
        provider=PROVIDERS["anthropic"].for_model(model, show_reasoning=True),
    )
    assert body.get("thinking") == thinking


def test_a_turn_that_began_without_thinking_continues_without() -> None:
    model = "claude-sonnet-4-5"
    begun = (Message("user", "go"), Message("assistant", "", (ToolCall("1", "add"),)))
    result = Message("tool", "3", tool_call_id="1")
    assert "thinking" not in _encode(*begun, result, model=model, reasoning="low")
    later = (Message("assistant", "3"), Message("user", "and now?"))
    assert "thinking" in _encode(*begun, result, *later, model=model, reasoning="low")


def test_images_documents_and_errors_are_blocks_of_their_own() -> None:
    parts = (Text("seen"), Image(PNG), Document(PDF, "a.pdf"), Text(" "))
    call = Message("assistant", "", (ToolCall("1", "look"),))
    result = Message("tool", parts, tool_call_id="1", is_error=True)
    (block,) = _encode(Message("user", "go"), call, result)["messages"][2]["content"]
    assert block["is_error"] is True
    assert [each["type"] for each in block["content"]] == ["text", "image", "document"]
    assert block["content"][1]["source"]["media_type"] == "image/png"
    assert block["content"][2]["title"] == "a.pdf"
    plain = _encode(Message("user", parts))["messages"][0]["content"]
    assert plain == block["content"]


def test_usage_counts_cache_writes_and_reasoning() -> None:
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 40,
        "cache_creation_input_tokens": 500,
        "output_tokens": 60,
        "output_tokens_details": {"thinking_tokens": 50},
    }
    counted = MessagesReply().read({"content": [], "usage": usage}).usage
    assert counted == Usage(1, 543, 60, 40, 500, 50)
