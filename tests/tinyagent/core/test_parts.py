from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent import ConfigurationError, Document, Image, Memory, Message, Text, ToolCall
from tinyagent.core import Opaque, Reasoning
from tinyagent.core import parts as module
from tinyagent.core.messages import Part, as_contents, untrusted
from tinyagent.memory import keep_last_n_steps

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 20
GIF = b"GIF89a" + b"\0" * 20
WEBP = b"RIFF\0\0\0\0WEBPVP8 "
PDF = b"%PDF-1.7\n%%EOF"
SIGNATURE = "EqQBCkYIBxgCKkC"
SIGNED = Opaque("anthropic", "claude", {"signature": SIGNATURE})

opaques = st.none() | st.builds(
    Opaque, st.text(), st.text(), st.dictionaries(st.text(), st.text() | st.integers(), max_size=3)
)
calls = st.builds(ToolCall, st.text(), st.text(), opaque=opaques)
some_parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, st.text(), opaques),
    st.builds(Reasoning, st.text(), opaques),
    st.builds(Image, st.sampled_from([PNG, JPEG, GIF, WEBP])),
    st.builds(Document, st.just(PDF), st.text()),
    calls,
)
messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool"]),
    st.lists(some_parts, max_size=5).map(tuple),
    tool_call_id=st.none() | st.text(),
    is_error=st.booleans(),
)


@given(messages)
def test_a_message_of_parts_survives_json(message: Message) -> None:
    assert Message.from_dict(json.loads(json.dumps(message.to_dict()))) == message


def test_json_from_before_there_were_parts_is_read() -> None:
    old = {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [{"id": "1", "name": "add", "arguments": {"a": 1}}],
    }
    message = Message.from_dict(old)
    assert message == Message("assistant", "Let me see.", (ToolCall("1", "add", {"a": 1}),))
    assert message.to_dict() == old


def test_text_and_calls_are_views_of_the_parts_in_their_order() -> None:
    call, other = ToolCall("1", "add"), ToolCall("2", "now")
    parts = (Reasoning("a"), call, Reasoning("b"), Text("so"), other)
    message = Message("assistant", parts)
    assert (message.text, message.tool_calls, message.parts) == ("so", (call, other), parts)
    plain = Message("assistant", "so", (call,))
    assert plain.parts == (Text("so"), call)
    assert Message("assistant", (Reasoning("a"),), (call,)).parts == (Reasoning("a"), call)


@pytest.mark.parametrize(
    ("data", "kind"),
    [(PNG, "image/png"), (JPEG, "image/jpeg"), (GIF, "image/gif"), (WEBP, "image/webp")],
)
def test_an_images_type_is_read_from_its_bytes(tmp_path: Path, data: bytes, kind: str) -> None:
    path = tmp_path / "picture.txt"
    path.write_bytes(data)
    assert Image(path) == Image(data)
    assert Image(data).media_type == kind


def test_what_is_neither_an_image_nor_a_pdf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="pass a PNG, JPEG, GIF or WebP"):
        Image(PDF)
    with pytest.raises(ConfigurationError, match="not a PDF"):
        Document(PNG)
    with pytest.raises(ConfigurationError, match=r"missing\.png cannot be read: No such file"):
        Image(tmp_path / "missing.png")


def test_what_is_too_large_is_refused_and_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_IMAGE_BYTES", 2**20)
    path = tmp_path / "large.png"
    with path.open("wb") as file:
        file.write(PNG)
        file.truncate(2**40)
    with pytest.raises(ConfigurationError, match="more than 1 MiB"):
        Image(path)


def test_a_document_keeps_its_name(tmp_path: Path) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(PDF)
    assert Document(path) == Document(PDF, "report.pdf")


@pytest.mark.parametrize("part", [Reasoning("hm", SIGNED), ToolCall("1", "add", opaque=SIGNED)])
def test_opaque_data_is_never_shown(part: Reasoning | ToolCall) -> None:
    message = Message("assistant", (part,))
    shown = [repr(part), str(message), message.describe(), repr(SIGNED), repr(Image(PNG))]
    assert not [text for text in shown if SIGNATURE in text or "x89PNG" in text]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"type": "image", "data": "%%"}, "'data' is not base64 text"),
        ({"type": "image", "data": "aGVsbG8="}, "not an image of a known format"),
        ({"type": "image", "data": 5}, "'data' is a int"),
        ({"type": "text", "text": None}, "'text' is null"),
        ({"type": "audio"}, "the type 'audio', which is not one of: text, reasoning"),
        ({"type": "reasoning", "text": "", "opaque": 5}, "'opaque' is not an object"),
        ("text", "a part is a str"),
    ],
)
def test_a_faulty_part_says_what_is_wrong(data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Message.from_dict({"role": "user", "content": [data]})


def test_a_task_may_have_parts() -> None:
    assert as_contents("hi") == (("hi", ""),)
    given = (Text("What is this?"), Image(PNG))
    assert as_contents(["What is this?", Image(PNG)]) == ((given, ""),)
    assert as_contents(["What is this?", untrusted("x", "mail"), Image(PNG)]) == (
        ((Text("x"),), "material:mail"),
        (given, ""),
    )
    with pytest.raises(ConfigurationError, match="a task has 'bytes' among its parts"):
        as_contents([PNG])  # type: ignore[list-item]
    with pytest.raises(ConfigurationError, match="no parts"):
        as_contents([])


def test_images_count_in_the_size_of_a_conversation() -> None:
    plain = Message("user", "hi").size
    assert Message("user", (Text("hi"), Image(PNG))).size > plain + 1_000


def test_pruning_keeps_a_turn_whole_and_shortening_puts_images_into_words() -> None:
    call = ToolCall("1", "look", opaque=SIGNED)
    memory = Memory([Message("user", "go")])
    for _ in range(2):
        memory.add("assistant", (Reasoning("hm", SIGNED), call))
        memory.add("tool", (Text("seen"), Image(PNG)), tool_call_id="1", is_error=False)
    short = memory.items()[1].shortened(100)
    assert short.messages[1].content == f"seen\n{Image(PNG).describe()}"
    assert short.messages[0] == memory.messages[1]
    memory.prune(keep_last_n_steps(1))
    assert [message.role for message in memory.messages] == ["user", "assistant", "tool"]
    assert Memory.from_list(json.loads(json.dumps(memory.to_list()))) == memory
