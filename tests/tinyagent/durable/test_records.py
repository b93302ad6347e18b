"""The journal's JSON: what is read is what was written, and nothing else is read."""

from __future__ import annotations

import json
from datetime import UTC
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent import Artifact, Image, Text, ToolCall, ToolResult, Usage
from tinyagent.core import (
    ExecutionResult,
    ModelContextTooLong,
    ModelFormatRefused,
    ModelResponse,
    ModelServerError,
    ToolArgumentsError,
)
from tinyagent.core.execution import Change, NetworkRequest
from tinyagent.core.types import RawToolCall
from tinyagent.durable.records import (
    JSONSerializer,
    execution_from_dict,
    execution_to_dict,
    refusal_from_dict,
    refusal_to_dict,
    response_from_dict,
    response_to_dict,
    tool_result_from_dict,
    tool_result_to_dict,
    value_from_dict,
    value_or_text,
    value_to_dict,
)

# All that Python calls a text, halves of emojis included: models write them.
texts = st.text(st.characters(codec=None))
counts = st.integers(0, 2**40)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | texts
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.datetimes(timezones=st.just(UTC)),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(texts, inner),
    max_leaves=10,
)
usages = st.builds(Usage, counts, counts, counts, counts)
raw_calls = st.builds(RawToolCall, texts, texts, texts)
responses = st.builds(
    ModelResponse,
    st.none() | texts,
    st.lists(raw_calls, max_size=3).map(tuple),
    usages,
    texts,
    texts,
    texts,
)
artifacts = st.builds(Artifact, texts, st.binary(), texts)
executions = st.builds(
    ExecutionResult,
    output=texts,
    error=st.none() | texts,
    timed_out=st.booleans(),
    out_of_memory=st.booleans(),
    is_final=st.booleans(),
    final_value=values,
    final_metadata=st.dictionaries(texts, values, max_size=2),
    value_text=texts,
    artifacts=st.lists(artifacts, max_size=2).map(tuple),
    duration_seconds=st.floats(0, 1e6),
    state_lost=st.booleans(),
    undone=st.booleans(),
)
CALL = ToolCall("1", "tool", {"a": 1})


def stored(record: Any) -> Any:
    """What the database gives back."""
    serializer = JSONSerializer()
    text = serializer.serialize(record)
    assert text.isascii()
    return serializer.deserialize(text)


@given(responses)
def test_a_models_answer_comes_back(response: ModelResponse) -> None:
    assert response_from_dict(stored(response_to_dict(response))) == response


@given(executions)
def test_the_result_of_a_block_comes_back(result: ExecutionResult) -> None:
    assert execution_from_dict(stored(execution_to_dict(result))) == result


@given(values)
def test_a_value_comes_back(value: Any) -> None:
    assert value_from_dict(stored(value_to_dict(value))) == value


@given(st.builds(ToolResult, st.just(CALL), texts, st.booleans(), st.floats(0, 9), texts), values)
def test_a_tools_result_comes_back(result: ToolResult, value: Any) -> None:
    record = stored(tool_result_to_dict(result))
    assert tool_result_from_dict(record, CALL) == result
    with_value = ToolResult(CALL, "text", value=value)
    assert tool_result_from_dict(stored(tool_result_to_dict(with_value)), CALL).value == value


class OwnError(Exception):
    """Of the program, which the journal does not know."""


class Odd(ValueError):
    """Keeps other arguments than it takes."""

    def __init__(self, *, code: int) -> None:
        super().__init__(f"code {code}")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no", 1),
        KeyError("k"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        ToolArgumentsError("a: expected int"),
        OwnError("mine"),
        OwnError(object),
        Odd(code=3),
    ],
    ids=repr,
)
def test_an_error_comes_back_by_its_name_and_text(error: Exception) -> None:
    record = stored(tool_result_to_dict(ToolResult(CALL, "Error", is_error=True, error=error)))
    again = tool_result_from_dict(record, CALL).error
    assert again is not None
    assert str(again) == str(error)
    if type(error) in (ValueError, KeyError, ToolArgumentsError):
        assert type(again) is type(error)
    if isinstance(error, OwnError):
        assert type(again).__name__ == "OwnError"


def test_only_refusals_that_change_the_form_of_requests_are_recorded() -> None:
    for refused in (ModelContextTooLong("long"), ModelFormatRefused("no tools")):
        again = refusal_from_dict(stored(refusal_to_dict(refused)))
        assert (type(again), str(again)) == (type(refused), str(refused))
    assert refusal_to_dict(ModelServerError("down")) is None  # type: ignore[arg-type]
    assert refusal_from_dict(response_to_dict(ModelResponse("x"))) is None


def test_a_value_that_is_too_large_becomes_a_text() -> None:
    many = list(range(1_000_001))
    assert value_from_dict(value_or_text(many)) == "<too large to be recorded>"
    assert value_from_dict(value_or_text(Decimal("1.50"))) == Decimal("1.50")


def test_an_exception_of_the_workflow_comes_back_as_a_text() -> None:
    error = stored(ValueError("what"))
    assert isinstance(error, RuntimeError)
    assert str(error) == "ValueError: what"


CHANGE = Change("renamed", "b", "a", "", 3, "abc", "", conflict=True)


def test_changes_of_a_workspace_come_back_as_they_were() -> None:
    written = json.loads(json.dumps(execution_to_dict(ExecutionResult(changes=(CHANGE,)))))
    assert execution_from_dict(written).changes == (CHANGE,)


@pytest.mark.parametrize("status", [None, 200])
def test_requests_of_code_come_back_as_they_were(status: int | None) -> None:
    request = NetworkRequest(
        "GET", "https://api.example.com", "/v1", allowed=True, status=status, sent=12, received=3456
    )
    written = json.loads(json.dumps(execution_to_dict(ExecutionResult(requests=(request,)))))
    assert execution_from_dict(written).requests == (request,)


def test_images_in_a_tools_result_come_back() -> None:
    result = ToolResult(CALL, "a plot", parts=(Text("a plot"), Image(b"\x89PNG\r\n\x1a\n")))
    assert tool_result_from_dict(stored(tool_result_to_dict(result)), CALL).parts == result.parts
    assert "parts" not in tool_result_to_dict(ToolResult(CALL, "text"))


def test_plain_arguments_of_an_error_come_back_as_they_were() -> None:
    record = tool_result_to_dict(ToolResult(CALL, "", is_error=True, error=ValueError("no", 1)))
    again = tool_result_from_dict(stored(record), CALL).error
    assert again is not None
    assert again.args == ("no", 1)


@pytest.mark.parametrize("text", ["YQ==!", "YQ", "=", "YQ==\n"])
def test_bytes_that_are_not_base64_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not bytes"):
        value_from_dict({"json": None, "blob": text})


@pytest.mark.parametrize(
    ("read", "written"),
    [
        (response_from_dict, response_to_dict(ModelResponse("x", (RawToolCall("1", "f", "{}"),)))),
        (execution_from_dict, execution_to_dict(ExecutionResult(artifacts=(Artifact("a", b"b"),)))),
        (execution_from_dict, execution_to_dict(ExecutionResult(changes=(CHANGE,)))),
        (
            lambda data: tool_result_from_dict(data, CALL),
            tool_result_to_dict(ToolResult(CALL, "x", error=ValueError("y"), value=b"z")),
        ),
    ],
)
def test_an_incomplete_record_is_refused(read: Any, written: dict[str, Any]) -> None:
    read(json.loads(json.dumps(written)))
    for name in written.keys() - {"content", "error", "changes"}:
        others: list[Any] = [{}, [1], "text", None, 7, True]
        for other in others:
            if type(other) is type(written[name]) or (name == "seconds" and other == 7):
                continue
            with pytest.raises(ValueError, match=r"is|no"):
                read({**written, name: other})
        with pytest.raises(ValueError, match=r"is|no"):
            read({key: part for key, part in written.items() if key != name})
