from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from tinyagent import ConfigurationError, Message, OpenAIModel, scripted_call
from tinyagent.core import ModelRequest, ModelResponse, RawToolCall
from tinyagent.testing import FAULTS, MockServer, Reply, fault
from tinyagent.testing.faults import Mode

CALL = scripted_call("add", a=1, b=2)
TASK = {"role": "user", "content": "1 + 2?"}
RESULTS = {
    "native": {"role": "tool", "content": "3"},
    "structured": {"role": "user", "content": "Result of add:\n3"},
    "parsed": {"role": "user", "content": "Result of add:\n3"},
}


def _body(*messages: dict[str, str], stream: bool = False) -> dict[str, Any]:
    return {"messages": [TASK, *messages], "stream": stream}


def test_the_faults_have_these_names() -> None:
    assert list(FAULTS) == [
        "cut-off JSON",
        "wrong types",
        "missing argument",
        "fenced JSON",
        "unknown tool",
        "duplicate ids",
        "call as text",
        "empty reply",
        "null content",
        "two objects in a row",
        "extra prose",
        "429",
        "500",
        "connection cut mid-stream",
        "context overflow",
        "prose where a schema was asked",
    ]


def test_an_unknown_fault_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="unknown fault 'smoke'; use one of: cut-off"):
        fault("smoke", CALL)


@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize("name", FAULTS)
def test_a_server_has_its_fault_and_then_is_well(name: str, mode: Mode) -> None:
    script = fault(name, CALL, mode=mode)
    first = [script(_body()) for _ in range(2 if name == "context overflow" else 1)]
    right, answer = script(_body()), script(_body(RESULTS[mode]))
    assert right not in first[-1:]
    assert isinstance(right, ModelResponse)
    assert isinstance(answer, ModelResponse)
    if mode == "native":
        (call,) = right.tool_calls
        assert (call.name, json.loads(call.arguments)) == ("add", {"a": 1, "b": 2})
        assert answer == ModelResponse("3")
    else:
        action = json.loads(right.content or "")
        assert (action["tool"], action["arguments"]) == ("add", {"a": 1, "b": 2})
        assert json.loads(answer.content or "")["answer"] == "3"


@pytest.mark.parametrize("message", ["Error: no such tool", "Try again: give both"])
def test_a_server_that_is_well_calls_again_after_an_error(message: str) -> None:
    script = fault("empty reply", CALL)
    script(_body())
    again = script(_body({"role": "tool", "content": message}))
    assert isinstance(again, ModelResponse)
    assert again.tool_calls == (RawToolCall("call_2", "add", CALL.arguments),)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cut-off JSON", '{"a": 1, "b": '),
        ("wrong types", '{"a": {"a": []}, "b": {"a": []}}'),
        ("missing argument", '{"a": 1}'),
        ("fenced JSON", '```json\n{"a": 1, "b": 2}\n```'),
        ("two objects in a row", '{"a": 1, "b": 2}\n{"a": 1, "b": 2}'),
        ("extra prose", 'Here it is:\n{"a": 1, "b": 2}\nAnything else?'),
    ],
)
def test_what_is_wrong_with_a_call(name: str, arguments: str) -> None:
    first = fault(name, CALL)(_body())
    assert first == ModelResponse(None, (RawToolCall("call_1", "add", arguments),))


@pytest.mark.parametrize("stream", [True, False])
async def test_a_connection_is_cut_in_the_middle_of_a_reply(*, stream: bool) -> None:
    first = fault("connection cut mid-stream", CALL)(_body(stream=stream))
    assert isinstance(first, Reply)
    assert first.ending == "cut"
    assert first.body.startswith(b"data: {" if stream else b"{")
    assert b"[DONE]" not in first.body


async def test_the_script_is_one_for_the_server() -> None:
    request = ModelRequest((Message("user", "1 + 2?"),))
    async with MockServer(fault("500", CALL)) as server:
        reply = await OpenAIModel("mock", base_url=server.base_url).complete(request)
    assert [call.name for call in reply.tool_calls] == ["add"]
    assert len(server.requests) == 2


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_documented(name: str) -> None:
    page = Path(__file__).parents[3] / "docs" / "testing.md"
    assert f"`{name}`" in page.read_text(encoding="utf-8")
