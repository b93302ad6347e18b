"""Complete tool loops through Anthropic's own client, and what the server refuses."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import pytest
from anthropic import APIStatusError, AsyncAnthropic, BadRequestError
from tests.tinyagent.testing.strict.support import (
    ADD,
    ANSWER,
    PARAMETERS,
    THINKS_AND_ADDS,
    Json,
    base64_of,
    png,
)

from tinyagent.testing import Call, Output, StrictServer

TOOL: Json = {"name": "add", "description": "Add.", "input_schema": PARAMETERS}
MODEL = "claude-sonnet-4-6"
BOUND = "claude-opus-5-5"
QUESTION: Json = {"role": "user", "content": "What is 1 + 2?"}
CALL: Json = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}
RESULT: Json = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"}
HISTORY = [
    QUESTION,
    {"role": "assistant", "content": [CALL]},
    {"role": "user", "content": [RESULT]},
]


def client_of(server: StrictServer) -> AsyncAnthropic:
    return AsyncAnthropic(base_url=server.base_url, api_key="k", max_retries=0)


async def ask(client: AsyncAnthropic, *, stream: bool = False, **options: Any) -> Any:
    asked = {"model": MODEL, "max_tokens": 2000, "tools": [TOOL], **options}
    if not stream:
        return await client.messages.create(**asked)
    async with client.messages.stream(**asked) as events:
        async for _ in events:
            pass
        return await events.get_final_message()


def answered(message: Any, text: str = "3") -> list[Json]:
    """A turn and the results of its calls."""
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": text}
        for block in message.content
        if block.type == "tool_use"
    ]
    sent = [block.model_dump(exclude_none=True) for block in message.content]
    return [{"role": "assistant", "content": sent}, {"role": "user", "content": results}]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("claude-haiku-4-5", {"type": "enabled", "budget_tokens": 1024}),
        (MODEL, {"type": "adaptive"}),
        (BOUND, {"type": "adaptive", "display": "summarized"}),
    ],
)
async def test_a_tool_loop_is_accepted(model: str, thinking: Json, *, stream: bool) -> None:
    both = Output("Now both.", "I need both.", [ADD, Call("add", {"a": 3, "b": 4})])
    hidden = Output(reasoning="secret", redacted=True, calls=[ADD])
    async with (
        StrictServer("anthropic", [THINKS_AND_ADDS, both, hidden, ANSWER]) as server,
        client_of(server) as client,
    ):
        messages = [QUESTION]
        kinds = []
        said: Any = None
        for _ in range(4):
            options: Json = {"model": model, "thinking": thinking, "messages": messages}
            said = await ask(client, stream=stream, **options)
            kinds.append([block.type for block in said.content])
            messages = [*messages, *answered(said)]
        assert kinds == [
            ["thinking", "tool_use"],
            ["thinking", "text", "tool_use", "tool_use"],
            ["redacted_thinking", "tool_use"],
            ["thinking", "text"],
        ]
        assert said.content[0].thinking == "That was easy."
        assert said.stop_reason == "end_turn"
        assert said.usage.output_tokens_details.thinking_tokens > 0
        assert server.refusals == []
        assert server.losses == []


async def test_thoughts_are_hidden_where_display_is_left_out() -> None:
    async with StrictServer("anthropic", [ANSWER]) as server, client_of(server) as client:
        response = await ask(client, model=BOUND, messages=[QUESTION])
        assert response.content[0].thinking == ""
        assert response.content[0].signature
        plain = await ask(client, messages=[QUESTION])
        assert [block.type for block in plain.content] == ["text"]


async def _after_a_call(model: str, edit: Any, **options: Any) -> tuple[list[str], list[str]]:
    """What is refused and lost when a turn with thoughts comes back edited."""
    manual = {"type": "enabled", "budget_tokens": 1024}
    thinking = manual if model == "claude-haiku-4-5" else {"type": "adaptive"}
    asked: Json = {"model": model, "messages": [QUESTION], "thinking": thinking, "system": "Add."}
    async with (
        StrictServer("anthropic", [THINKS_AND_ADDS, ANSWER]) as server,
        client_of(server) as client,
    ):
        response = await ask(client, **asked)
        asked["messages"] = [QUESTION, *answered(response)]
        edited = copy.deepcopy(asked)
        edit(edited)
        with suppress(BadRequestError):
            await ask(client, **{**edited, **options})
        return server.refusals, server.losses


def _change_text(asked: Json) -> None:
    asked["messages"][1]["content"][0]["thinking"] += " And more."


def _forge(asked: Json) -> None:
    asked["messages"][1]["content"][0]["signature"] = "Zm9yZ2Vk"
    asked["messages"] += [{"role": "assistant", "content": "3"}, QUESTION]


def _leave_out(asked: Json) -> None:
    del asked["messages"][1]["content"][0]


def _move(asked: Json) -> None:
    asked["messages"][1]["content"].reverse()


def _other_system(asked: Json) -> None:
    asked["system"] = "Multiply."


def _other_tools(asked: Json) -> None:
    asked["tools"] = [{**TOOL, "description": "Adds."}]


def _other_question(asked: Json) -> None:
    asked["messages"][0] = {"role": "user", "content": "What is 2 + 1?"}


def _mark(asked: Json) -> None:
    asked["messages"][0]["content"] = [
        {"type": "text", "text": QUESTION["content"], "cache_control": {"type": "ephemeral"}}
    ]


@pytest.mark.parametrize(
    ("model", "edit", "wording"),
    [
        (MODEL, _change_text, "in the latest assistant message cannot be modified"),
        (MODEL, _move, "in the latest assistant message cannot be modified"),
        (MODEL, _forge, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        ("claude-haiku-4-5", _leave_out, "Expected `thinking` or `redacted_thinking`"),
        (BOUND, _other_system, "bound to a different conversation"),
        (BOUND, _other_tools, "bound to a different conversation"),
        (BOUND, _other_question, "bound to a different conversation"),
    ],
)
async def test_thoughts_must_come_back_as_they_were(model: str, edit: Any, wording: str) -> None:
    refusals, _ = await _after_a_call(model, edit)
    assert len(refusals) == 1
    assert wording in refusals[0]


@pytest.mark.parametrize(
    ("model", "edit", "lost"),
    [
        (MODEL, _leave_out, 1),
        (MODEL, _other_system, 0),
        (MODEL, _other_tools, 0),
        (BOUND, _mark, 0),
        (BOUND, _leave_out, 1),
    ],
)
async def test_changes_that_keep_the_thoughts_valid_pass(model: str, edit: Any, lost: int) -> None:
    refusals, losses = await _after_a_call(model, edit)
    assert refusals == []
    assert len(losses) == lost


async def test_bound_thoughts_can_be_dropped_on_request() -> None:
    dropping = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    beta = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
    refusals, losses = await _after_a_call(
        BOUND, _other_system, thinking=dropping, extra_headers=beta
    )
    assert refusals == []
    assert "different conversation" in losses[0]
    refusals, _ = await _after_a_call(BOUND, _other_system, thinking=dropping)
    assert refusals == ["thinking.adaptive.block_binding: Extra inputs are not permitted"]


async def test_a_thought_between_others_may_not_be_left_out() -> None:
    async with StrictServer("anthropic", [THINKS_AND_ADDS]) as server, client_of(server) as client:
        messages = [QUESTION]
        for _ in range(3):
            response = await ask(client, model=BOUND, messages=messages)
            messages = [*messages, *answered(response)]
        first_dropped = copy.deepcopy(messages)
        del first_dropped[1]["content"][0]
        await ask(client, model=BOUND, messages=first_dropped)
        del messages[3]["content"][0]
        with pytest.raises(BadRequestError, match="bound to a different conversation"):
            await ask(client, model=BOUND, messages=messages)


def _image(data: str, media_type: str = "image/png") -> Json:
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "image", "source": source}


def _user(*blocks: Json) -> Json:
    return {"messages": [{"role": "user", "content": list(blocks)}]}


def _tool(**more: Any) -> Json:
    return {"messages": [QUESTION], "tools": [{**TOOL, **more}]}


LIMITED = {**PARAMETERS, "properties": {"a": {"type": "integer", "minimum": 0}}}
MARK: Json = {"cache_control": {"type": "ephemeral"}}
TEXT: Json = {"type": "text", "text": "hi"}
FORMAT = {"format": {"type": "json_schema", "schema": {"type": "object"}}}
FORCED = {"type": "any"}
MANUAL = {"type": "enabled", "budget_tokens": 1024}
FABLE = "claude-fable-5"

REFUSED: list[tuple[str, Json, str]] = [
    ("an unknown key", {"extra_body": {"stream_options": {}}}, "Extra inputs are not permitted"),
    ("an unknown model", {"model": "gpt-5"}, "model: gpt-5"),
    ("blank text", _user({"type": "text", "text": " "}), "must contain non-whitespace text"),
    ("empty text", _user({"type": "text", "text": ""}), "text content blocks must be non-empty"),
    ("an empty message", {"messages": [{"role": "user", "content": []}]}, "non-empty content"),
    ("no message", {"messages": []}, "at least one message is required"),
    ("a system turn", {"messages": [{"role": "system", "content": "x"}]}, "is not supported"),
    ("a prefill", {"messages": [QUESTION, {"role": "assistant", "content": "It"}]}, "prefill"),
    ("a role", {"messages": [{"role": "tool", "content": "x"}]}, "Input should be 'user'"),
    ("a missing result", {"messages": [*HISTORY[:2], QUESTION]}, "without `tool_result` blocks"),
    ("calls at the end", {"model": "claude-haiku-4-5", "messages": HISTORY[:2]}, "tool_result"),
    ("an orphan", {"messages": [QUESTION, HISTORY[2]]}, "unexpected `tool_use_id`"),
    (
        "text before results",
        {"messages": [*HISTORY[:2], {"role": "user", "content": [TEXT, RESULT]}]},
        "without `tool_result` blocks",
    ),
    ("a tool name", _tool(name="add.it"), "tools.0.custom.name: String should match"),
    ("no object", _tool(input_schema={"anyOf": []}), "Input should be 'object'"),
    ("a strict schema", _tool(strict=True, input_schema=LIMITED), "'minimum' is not permitted"),
    ("an open object", {"output_config": FORMAT}, "'additionalProperties' must be explicitly"),
    ("an effort", {"output_config": {"effort": "huge"}}, "output_config.effort"),
    ("five markers", {**_user(*[{**TEXT, **MARK}] * 5)}, "A maximum of 4 blocks"),
    ("base64", _user(_image("no base64!")), "invalid base64 data"),
    ("half a picture", _user(_image(base64_of(png()[:40]))), "Could not process image"),
    ("a wrong type", _user(_image(base64_of(png()), "image/jpeg")), "appears to be a image/png"),
    ("a bitmap", _user(_image(base64_of(png()), "image/bmp")), "media_type: Input should be"),
    ("sampling", {"model": BOUND, "temperature": 0.5}, "`temperature` is deprecated"),
    ("thinking off", {"model": FABLE, "thinking": {"type": "disabled"}}, "is not supported"),
    ("a budget", {"model": BOUND, "thinking": MANUAL}, '"thinking.type.enabled" is not supported'),
    ("adaptive", {"model": "claude-haiku-4-5", "thinking": {"type": "adaptive"}}, "adaptive"),
    ("a low limit", {"thinking": MANUAL, "max_tokens": 1000}, "must be greater than"),
    ("a low budget", {"thinking": {"type": "enabled", "budget_tokens": 9}}, "equal to 1024"),
    ("force", {"thinking": MANUAL, "tool_choice": FORCED}, "tool_choice forces tool use"),
    ("force on Fable", {"model": FABLE, "tool_choice": FORCED}, "tool_choice forces tool use"),
    ("heat", {"thinking": MANUAL, "temperature": 0.5}, "may only be set to 1"),
    ("a choice", {"tool_choice": {"type": "tool", "name": "sub"}}, "'sub' not found"),
    ("no tools", {"tools": [], "tool_choice": {"type": "auto"}}, "while providing `tools`"),
]

FAILED: Json = {**RESULT, "is_error": True}
SYSTEM: Json = {"role": "system", "content": "x"}
PREFILL: Json = {"role": "assistant", "content": "It"}
LINKED: Json = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}


def _results(*blocks: Json) -> Json:
    return {"messages": [*HISTORY[:2], {"role": "user", "content": list(blocks)}]}


ACCEPTED: list[tuple[str, Json]] = [
    ("a loop", {"messages": HISTORY}),
    ("text after results", _results(RESULT, TEXT)),
    ("two user messages", {"messages": [QUESTION, QUESTION]}),
    ("a system turn", {"model": "claude-opus-4-8", "messages": [QUESTION, SYSTEM]}),
    ("a prefill", {"model": "claude-haiku-4-5", "messages": [QUESTION, PREFILL]}),
    ("four markers", {**_user(*[{**TEXT, **MARK}] * 4)}),
    ("a marker for all", {**MARK}),
    ("sampling", {"temperature": 0.5, "top_k": 5}),
    ("thinking off", {"model": "claude-opus-5", "thinking": {"type": "disabled"}}),
    ("a strict schema", _tool(strict=True)),
    ("a loose schema", _tool(input_schema=LIMITED)),
    ("force", {"model": BOUND, "tool_choice": FORCED}),
    ("an image by its address", _user(LINKED)),
    ("an error", _results(FAILED)),
]


def _by_extra_body(options: Json) -> Json:
    """Options that the client's signature does not have go into the body."""
    extra = {key: options.pop(key) for key in ("temperature", "top_k") if key in options}
    return {**options, "extra_body": {**options.get("extra_body", {}), **extra}}


@pytest.mark.parametrize(
    ("options", "wording"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
async def test_it_refuses(options: Json, wording: str) -> None:
    async with StrictServer("anthropic", ["never"]) as server, client_of(server) as client:
        with pytest.raises(APIStatusError) as caught:
            await ask(client, **_by_extra_body({"messages": [QUESTION], **options}))
    assert wording in str(caught.value)
    assert caught.value.status_code == (404 if "model:" in wording else 400)
    assert len(server.refusals) == 1


@pytest.mark.parametrize("options", [row[1] for row in ACCEPTED], ids=[row[0] for row in ACCEPTED])
async def test_it_accepts(options: Json) -> None:
    async with StrictServer("anthropic", ["yes"]) as server, client_of(server) as client:
        response = await ask(client, **_by_extra_body({"messages": [QUESTION], **options}))
    assert response.content[-1].text == "yes"
    assert server.refusals == []


async def test_a_marker_on_a_thought_is_refused() -> None:
    def mark(asked: Json) -> None:
        asked["messages"][1]["content"][0] |= MARK

    refusals, _ = await _after_a_call(MODEL, mark)
    assert refusals == [
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted"
    ]


async def test_only_marked_parts_are_cached() -> None:
    long = {"type": "text", "text": "word " * 2000}
    async with StrictServer("anthropic", ["yes"]) as server, client_of(server) as client:

        async def usage(*blocks: Json, **more: Any) -> Any:
            response = await ask(client, **_user(*blocks), **more)
            total = response.usage.input_tokens + response.usage.cache_read_input_tokens
            assert total + response.usage.cache_creation_input_tokens > 2500
            return response.usage

        assert (await usage(long)).cache_creation_input_tokens == 0
        assert (await usage(long)).cache_read_input_tokens == 0
        written = (await usage({**long, **MARK}, TEXT)).cache_creation_input_tokens
        assert written > 2500
        again = await usage(long, {"type": "text", "text": "other"}, **MARK)
        assert again.cache_read_input_tokens == written
        assert (await usage(long, **MARK, system="other")).cache_read_input_tokens == 0


async def test_a_prompt_below_the_minimum_is_not_cached() -> None:
    async with StrictServer("anthropic", ["yes"]) as server, client_of(server) as client:
        for _ in range(2):
            response = await ask(client, messages=[QUESTION], **MARK)
            assert response.usage.cache_creation_input_tokens == 0
            assert response.usage.cache_read_input_tokens == 0


async def test_a_picture_in_a_tool_result_arrives_whole() -> None:
    picture = png(5, 7)
    result = {**RESULT, "content": [{"type": "text", "text": "see"}, _image(base64_of(picture))]}
    messages = [*HISTORY[:2], {"role": "user", "content": [result]}]
    async with StrictServer("anthropic", ["nice"]) as server, client_of(server) as client:
        await ask(client, messages=messages)
        assert [attachment.data for attachment in server.attachments] == [picture]


async def test_an_error_in_a_stream_and_a_refusal() -> None:
    script = [Output("It is", error="Overloaded"), Output(refusal="I cannot help with that.")]
    async with StrictServer("anthropic", script) as server, client_of(server) as client:
        with pytest.raises(APIStatusError, match="Overloaded"):
            await ask(client, stream=True, messages=[QUESTION])
        response = await ask(client, stream=True, messages=[QUESTION])
    assert response.stop_reason == "refusal"
    assert response.stop_details.type == "refusal"
