from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent.core.messages import Message, Role, ToolCall

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
calls = st.builds(
    ToolCall,
    id=st.text(),
    name=st.text(),
    arguments=st.dictionaries(st.text(), json_values, max_size=3),
    fault=st.none() | st.text(),
)
roles: st.SearchStrategy[Role] = st.sampled_from(("system", "user", "assistant", "tool"))
messages = st.builds(
    Message,
    role=roles,
    content=st.text(),
    tool_calls=st.lists(calls, max_size=3).map(tuple),
    tool_call_id=st.none() | st.text(),
)


@given(messages)
def test_a_message_survives_json(message: Message) -> None:
    assert Message.from_dict(json.loads(json.dumps(message.to_dict()))) == message


def test_what_is_not_there_is_left_out_of_the_json() -> None:
    assert Message("user", "hi").to_dict() == {"role": "user", "content": "hi"}
    assert ToolCall("1", "add").to_dict() == {"id": "1", "name": "add", "arguments": {}}


def test_a_fault_is_part_of_the_json() -> None:
    assert ToolCall("1", "add", fault="cut off").to_dict()["fault"] == "cut off"


@pytest.mark.parametrize("part", ["role", "content"])
def test_a_missing_part_is_named(part: str) -> None:
    data: dict[str, Any] = Message("user", "hi").to_dict()
    del data[part]
    with pytest.raises(KeyError, match=part):
        Message.from_dict(data)
