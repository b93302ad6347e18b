from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent import ConfigurationError, Message, ModelError, ToolCall, Usage
from tinyagent.core import (
    ModelDelta,
    ModelRateLimited,
    ModelRequest,
    ModelResponse,
    RawToolCall,
    RequestFormat,
)
from tinyagent.models.drift import digest
from tinyagent.models.recording import RecordedExchange, read_recording, write_recording

REQUEST = ModelRequest((Message("user", "hi"),))

_texts = st.text() | st.text(st.characters(categories=["Cs"]), max_size=1)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_objects = st.dictionaries(st.text(), _json, max_size=3)
_counts = st.integers(0, 2**40)
_usages = st.builds(Usage, _counts, _counts, _counts, _counts)
_calls = st.builds(ToolCall, _texts, _texts, _objects, st.none() | _texts)
_messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    _texts,
    st.lists(_calls, max_size=2).map(tuple),
    st.none() | _texts,
)
_requests = st.builds(
    ModelRequest,
    st.lists(_messages, max_size=3).map(tuple),
    st.builds(
        RequestFormat,
        st.lists(_objects, max_size=2).map(tuple),
        st.sampled_from([None, "none"]),
        st.none() | _objects,
        _texts,
    ),
    st.none() | st.floats(0, 2),
    st.none() | _counts,
)
_responses = st.builds(
    ModelResponse,
    st.none() | _texts,
    st.lists(st.builds(RawToolCall, _texts, _texts, _texts), max_size=3).map(tuple),
    _usages,
    _texts,
    _texts,
    _texts,
    refusal=_texts,
    cost=st.none() | st.decimals(0, 10),
)
_deltas = st.builds(ModelDelta, _texts, st.sampled_from(["text", "reasoning", "restart"]))
_exchanges = st.builds(
    RecordedExchange, _requests, _responses, st.none() | st.lists(_deltas, max_size=5).map(tuple)
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recordings") / "run.json"


@given(st.lists(_exchanges, max_size=3), st.text())
def test_any_answer_survives_the_file(
    path: Path, exchanges: list[RecordedExchange], name: str
) -> None:
    write_recording(path, name, exchanges)
    model, read = read_recording(path)
    assert (model, list(read)) == (name, exchanges)
    assert [digest(each.request) for each in read] == [digest(each.request) for each in exchanges]


@pytest.mark.parametrize("kind", [ModelError, *ModelError.__subclasses__()])
def test_failures_survive_the_file(path: Path, kind: type[ModelError]) -> None:
    error = kind("no: 'é'", retry_after=1.5)
    error.add_note("before that, another")
    write_recording(path, "m", [RecordedExchange(REQUEST, error, (ModelDelta("half"),))])
    exchange = read_recording(path)[1][0]
    read = exchange.outcome
    assert isinstance(read, ModelError)
    assert type(read) is kind
    assert (str(read), read.retry_after, read.__notes__) == (str(error), 1.5, error.__notes__)
    assert exchange.deltas == (ModelDelta("half"),)


def test_a_foreign_error_class_is_recorded_as_its_nearest_base(path: Path) -> None:
    class Throttled(ModelRateLimited):
        pass

    write_recording(path, "m", [RecordedExchange(REQUEST, Throttled("slow"))])
    assert type(read_recording(path)[1][0].outcome) is ModelRateLimited


def test_the_file_is_for_people_to_read(path: Path) -> None:
    answer = ModelResponse("Füße", usage=Usage(1, 2, 3), model="m", id="1")
    deltas = (ModelDelta("Füße"), ModelDelta("hm", "reasoning"))
    write_recording(path, "m", [RecordedExchange(REQUEST, answer, deltas)])
    text = path.read_text(encoding="utf-8")
    assert "Füße" in text
    assert text.endswith("}\n")
    assert json.loads(text) == {
        "format": "tinyagent recording",
        "version": 1,
        "model": "m",
        "exchanges": [
            {
                "request": {"messages": [{"role": "user", "content": "hi"}]},
                "deltas": ["Füße", {"reasoning": "hm"}],
                "response": {
                    "content": "Füße",
                    "tool_calls": [],
                    "usage": Usage(1, 2, 3).to_dict(),
                    "finish_reason": "stop",
                    "model": "m",
                    "id": "1",
                },
            }
        ],
    }


def test_nothing_of_a_request_or_an_answer_is_forgotten() -> None:
    """A new field needs its place in the file, and these lists; labels are made again."""
    names = {kind.__name__: [each.name for each in fields(kind)] for kind in KEPT}
    assert names == {
        "ModelRequest": ["messages", "format", "temperature", "max_tokens", "reasoning"],
        "RequestFormat": ["tools", "tool_choice", "response_format", "instructions"],
        "ModelResponse": [
            "content",
            "tool_calls",
            "usage",
            "finish_reason",
            "model",
            "id",
            "parts",
            "refusal",
            "cost",
            "provider",
            "label",
        ],
        "RawToolCall": ["id", "name", "arguments", "opaque"],
        "ModelDelta": ["text", "kind"],
        "Usage": [
            "requests",
            "input_tokens",
            "output_tokens",
            "cached_tokens",
            "cache_write_tokens",
            "reasoning_tokens",
            "uncounted",
        ],
    }


KEPT: list[Any] = [ModelRequest, RequestFormat, ModelResponse, RawToolCall, ModelDelta, Usage]


def test_a_mapping_that_is_not_a_dictionary_is_written_too(path: Path) -> None:
    tool = MappingProxyType({"type": "function", "function": MappingProxyType({"name": "f"})})
    request = ModelRequest(REQUEST.messages, RequestFormat((tool,)))
    write_recording(path, "m", [RecordedExchange(request, ModelResponse("x"))])
    read = read_recording(path)[1][0].request
    assert read.format.tools == ({"type": "function", "function": {"name": "f"}},)
    assert digest(read) == digest(request)


def test_a_request_without_a_json_form_keeps_the_old_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.json"
    write_recording(path, "m", [])
    before = path.read_bytes()
    request = ModelRequest(REQUEST.messages, RequestFormat(({"x": {1, 2}},)))
    with pytest.raises(TypeError, match="a set in a request has no JSON form"):
        write_recording(path, "m", [RecordedExchange(request, ModelResponse("x"))])
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_folders_are_created_and_nothing_else_is_left_there(tmp_path: Path) -> None:
    path = tmp_path / "some" / "where" / "run.json"
    write_recording(path, "m", [])
    assert list(path.parent.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"file/run\.json cannot be written"):
        write_recording(tmp_path / "file" / "run.json", "m", [])


def _whole() -> dict[str, Any]:
    return {
        "format": "tinyagent recording",
        "version": 1,
        "model": "m",
        "exchanges": [
            {
                "request": {"messages": [{"role": "user", "content": "hi"}]},
                "deltas": ["h"],
                "response": {
                    "content": "h",
                    "tool_calls": [],
                    "usage": Usage().to_dict(),
                    "finish_reason": "stop",
                    "model": "",
                    "id": "",
                },
            }
        ],
    }


def _set(*where: str | int, to: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        *path, last = where
        for part in path:
            data = data[part]
        data[last] = to

    return change


FIRST = ("exchanges", 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("format", to="vcr"), 'it has no "format": "tinyagent recording"'),
        (_set("version", to=2), "a recording of version 2, and only version 1 is supported"),
        (_set("model", to=None), "its head: 'model' is null, not a str"),
        (_set("exchanges", to={}), "its head: 'exchanges' is an object .*, not a list"),
        (_set(*FIRST, to=5), "exchange 1: a int instead of an object"),
        (_set(*FIRST, "request", to=None), "exchange 1: 'request' is null, not an object"),
        (
            _set(*FIRST, "request", "messages", 0, "role", to="bot"),
            "'role' is not one of",
        ),
        (_set(*FIRST, "request", "messages", 0, "content", to=1), "'content' is a int, not a str"),
        (_set(*FIRST, "request", "messages", 0, "tool_call_id", to=[]), "'tool_call_id' is a list"),
        (_set(*FIRST, "request", "messages", 0, "tool_calls", to=[{}]), "'id' is null, not a str"),
        (_set(*FIRST, "request", "tools", to=5), "'tools' is a int, not a list"),
        (_set(*FIRST, "request", "tool_choice", to="auto"), "'tool_choice' is a str, not 'none'"),
        (_set(*FIRST, "response", to=None), "exchange 1: 'response' is null, not an object"),
        (_set(*FIRST, "response", "usage", to={}), "'requests' is null, not a int"),
        (
            _set(*FIRST, "error", to={"kind": "OSError"}),
            "which is not a ModelError",
        ),
        (_set(*FIRST, "error", to=None), "'error' is null, not an object"),
        (
            _set(*FIRST, "deltas", 0, to={"song": "la"}),
            "a delta is a text, or a text under",
        ),
        (_set(*FIRST, "deltas", to=None), "'deltas' is null, not a list"),
    ],
)
def test_a_faulty_file_says_where_it_fails(
    tmp_path: Path, change: Callable[[Any], None], message: str
) -> None:
    data = _whole()
    path = tmp_path / "run.json"
    path.write_text(json.dumps(data))
    assert read_recording(path)[0] == "m"
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(ConfigurationError, match=f"run.json is .*{message}"):
        read_recording(path)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b"[]", b"null", b"{}"])
def test_a_foreign_file_is_not_a_recording(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"run\.json is not a recording: it "):
        read_recording(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"run\.json cannot be read: .*No such file"):
        read_recording(tmp_path / "run.json")


@given(_json, st.sampled_from(["request", "response", "deltas", "error"]))
def test_no_file_is_too_strange(path: Path, value: Any, part: str) -> None:
    data = _whole()
    data["exchanges"][0][part] = value
    path.write_text(json.dumps(data))
    try:
        _, (exchange,) = read_recording(path)
    except ConfigurationError as error:
        said = str(error)
    else:
        said = f"exchange 1: {exchange}"
    assert "exchange 1: " in said
