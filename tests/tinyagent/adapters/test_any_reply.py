"""10,000 replies, valid ones and such that are damaged: calls, an answer, or a typed rejection."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tinyagent import Tool
from tinyagent.adapters import get_adapter
from tinyagent.adapters.choose import ToolCallingMode
from tinyagent.core import MalformedReply, ModelResponse, RawToolCall

EACH = 2_500
MODES: list[ToolCallingMode] = ["native", "structured", "parsed"]

Edit = Callable[[str], str]


def search(query: str, limit: int = 10, tags: tuple[str, ...] = ()) -> str:
    """Search."""
    return query


TOOLS = (Tool.from_function(search),)

words = st.text(max_size=12) | st.text(st.sampled_from("{}[]\"'\\:, ab"), max_size=12)
arguments = st.fixed_dictionaries(
    {"query": words},
    optional={"limit": st.integers(), "tags": st.lists(st.text(max_size=3), max_size=2)},
)
names = st.sampled_from(["search", "serch", ""])
actions = st.builds(
    lambda name, given: {"scratchpad": "so", "tool": name, "arguments": given}, names, arguments
)
answers = st.builds(lambda answer: {"scratchpad": "so", "answer": answer}, words)
native_texts = st.builds(lambda given: {"name": "search", "arguments": given}, arguments)
written = st.one_of(actions, answers, native_texts, arguments)
texts = written.map(json.dumps) | written.map(repr) | words


def _cut(at: float) -> Edit:
    return lambda text: text[: int(at * len(text))]


def _drop(at: float, count: int) -> Edit:
    return lambda text: text[: int(at * len(text))] + text[int(at * len(text)) + count :]


def _double(at: float, count: int) -> Edit:
    return lambda text: text[: int(at * len(text)) + count] + text[int(at * len(text)) :]


def _insert(at: float, piece: str) -> Edit:
    return lambda text: text[: int(at * len(text))] + piece + text[int(at * len(text)) :]


def _wrap(before: str, after: str) -> Edit:
    return lambda text: before + text + after


places, counts = st.floats(0, 1), st.integers(1, 8)
wraps = st.sampled_from(
    [
        ("```json\n", "\n```"),
        ("<tool_call>", "</tool_call>"),
        ("<think>", "</think>"),
        ("So: ", "!"),
    ]
)
edits = st.one_of(
    st.builds(_cut, places),
    st.builds(_drop, places, counts),
    st.builds(_double, places, counts),
    st.builds(_insert, places, st.text(max_size=4) | st.sampled_from(list("{}[]\"'\\:,"))),
    wraps.map(lambda pair: _wrap(*pair)),
)


@st.composite
def damaged(draw: st.DrawFn, text: st.SearchStrategy[str]) -> str:
    """A text after up to three edits."""
    out = draw(text)
    for edit in draw(st.lists(edits, max_size=3)):
        out = edit(out)
    return out


raw_calls = st.builds(
    RawToolCall, st.sampled_from(["", "1", "2"]), names, damaged(arguments.map(json.dumps))
)
replies = st.builds(
    ModelResponse,
    st.none() | damaged(texts),
    st.just(()) | st.lists(raw_calls, max_size=2).map(tuple),
    finish_reason=st.sampled_from(["stop", "length"]),
)


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=EACH, suppress_health_check=list(HealthCheck))
@given(reply=replies)
def test_any_reply_is_calls_or_an_answer_or_rejected(
    mode: ToolCallingMode, reply: ModelResponse
) -> None:
    adapter = get_adapter("m", TOOLS, mode)
    try:
        calls = adapter.extract_tool_calls(reply, TOOLS)
        answer = None if calls else adapter.extract_answer(reply)
    except MalformedReply:
        return
    if answer is not None:
        assert answer.strip()
        return
    assert len({call.id for call in calls}) == len(calls)
    for call in calls:
        assert isinstance(call.name, str)
        json.dumps(dict(call.arguments), allow_nan=False)


@pytest.mark.parametrize("mode", ["structured", "parsed"])
@given(action=actions | answers, at=st.floats(0, 1, exclude_max=True))
def test_an_action_that_is_cut_off_is_never_taken(
    mode: ToolCallingMode, action: dict[str, object], at: float
) -> None:
    for whole in (json.dumps(action), repr(action)):
        reply = ModelResponse(_cut(at)(whole))
        with pytest.raises(MalformedReply):
            get_adapter("m", TOOLS, mode).extract_tool_calls(reply, TOOLS)
