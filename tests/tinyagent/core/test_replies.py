from __future__ import annotations

import pytest

from tinyagent import ModelResponse, Opaque, RawToolCall, Reasoning, Text, ToolCall
from tinyagent.core.replies import remembered, spoken_parts

MARK = Opaque("openai-responses", "gpt-5.5", {"item": {"id": "msg_1"}})
ONE, TWO = Reasoning("One.", MARK), Reasoning("Two.", MARK)
SAID = Text("Here:\n\ncode\n", MARK)


def _reply(*parts: Reasoning | Text | RawToolCall) -> ModelResponse:
    texts = [part.text for part in parts if isinstance(part, Text)]
    calls = tuple(part for part in parts if isinstance(part, RawToolCall))
    return ModelResponse("".join(texts) if texts else None, calls, parts=parts)


@pytest.mark.parametrize(
    ("parts", "text", "kept"),
    [
        ((Text("plain"),), "plain", ()),
        ((ONE, SAID), "Here:\n\ncode", (ONE, SAID)),
        ((ONE, SAID), "Here.", (ONE, Text("Here.", MARK))),
        ((ONE, Text("a", MARK), Text("b", MARK)), "c", (ONE, Text("c"))),
        ((ONE, Text("a"), TWO, Text("b")), "c", (ONE, Text("a"), TWO, Text("b"))),
        ((ONE, SAID, RawToolCall("1", "add", "{}")), "Here.", (ONE, Text("Here.", MARK))),
    ],
)
def test_reasoning_and_text_are_kept_as_they_came(
    parts: tuple[Reasoning | Text, ...], text: str, kept: tuple[Reasoning | Text, ...]
) -> None:
    assert spoken_parts(_reply(*parts), text) == kept


def test_calls_that_were_read_from_a_text_stand_behind_it() -> None:
    call = ToolCall("1", "add", {"a": 1})
    assert remembered(_reply(ONE, SAID), SAID.text, [call]) == (ONE, SAID, call)
