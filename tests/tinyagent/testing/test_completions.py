from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tinyagent import Usage
from tinyagent.core import ModelResponse, RawToolCall
from tinyagent.models.endpoint import SseDecoder
from tinyagent.models.wire.chat_reply import ChatReply
from tinyagent.testing.apis import completion_json, completion_sse

some_text = st.text(min_size=1)


def _as_servers_say(response: ModelResponse) -> ModelResponse:
    if response.finish_reason == "refusal":
        return replace(response, refusal="I will not", tool_calls=())
    return replace(response, finish_reason="tool_calls") if response.tool_calls else response


calls = st.builds(RawToolCall, id=some_text, name=some_text, arguments=st.text())
usages = st.builds(
    Usage,
    requests=st.just(1),
    input_tokens=st.integers(0, 10**6),
    output_tokens=st.integers(0, 10**6),
    cached_tokens=st.integers(0, 10**6),
)
responses = st.builds(
    ModelResponse,
    content=st.none() | some_text,
    tool_calls=st.lists(calls, max_size=4, unique_by=lambda call: call.id).map(tuple),
    usage=usages,
    finish_reason=st.sampled_from(["stop", "length", "content_filter", "refusal"]),
    model=some_text,
    id=some_text,
).map(_as_servers_say)


@given(responses)
def test_a_streamed_reply_is_reassembled_unchanged(response: ModelResponse) -> None:
    assembler = ChatReply()
    events = SseDecoder(10**9).feed(completion_sse(response))
    assert events.pop() == b"[DONE]"
    deltas = [delta for event in events for delta in assembler.add(json.loads(event))]
    assert assembler.is_whole(done=False)
    assert assembler.response() == response
    assert "".join(delta.text for delta in deltas) == (response.content or "")


@given(responses)
def test_a_plain_reply_is_read_as_it_was(response: ModelResponse) -> None:
    assert ChatReply().read(json.loads(json.dumps(completion_json(response)))) == response
