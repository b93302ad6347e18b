"""From a model's answer to what is remembered of it, and the JSON form of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tinyagent.core.json_shape import as_array, as_object, describe
from tinyagent.core.messages import Content, ToolCall, parts_from_list, plain_content
from tinyagent.core.parts import READERS, ContentPart, Reasoning, Text, read_opaque
from tinyagent.core.types import ModelResponse, RawToolCall, ReplyPart

Spoken = Reasoning | Text


def remembered(response: ModelResponse, text: str, calls: Sequence[ToolCall]) -> Content:
    """The content of the message that keeps an answer: its parts in their order.

    Args:
        response: the answer.
        text: what is kept of its text.
        calls: its calls as they were read.
    """
    if not response.parts:
        return text
    if text == (response.content or "") and len(response.tool_calls) in (0, len(calls)):
        left = iter(calls)
        parts = [next(left) if isinstance(part, RawToolCall) else part for part in response.parts]
        return plain_content((*parts, *left))  # calls that were read from the text come last
    said = (Text(text),) if text else ()
    return plain_content((*thoughts_of(response), *said, *calls))


def thoughts_of(response: ModelResponse) -> tuple[Reasoning, ...]:
    """The reasoning among the parts of an answer."""
    return tuple(part for part in response.parts if isinstance(part, Reasoning))


def spoken_parts(response: ModelResponse, text: str) -> tuple[Spoken, ...]:
    """The reasoning and the text of an answer; none where there is only plain text.

    Args:
        response: the answer.
        text: what is kept of its text. It takes the place of the answer's own, but for reasoning
            between texts: that is only valid where it stood.
    """
    said = tuple(part for part in response.parts if not isinstance(part, RawToolCall))
    texts = [part for part in said if isinstance(part, Text)]
    if len(texts) == len(said) and all(part.opaque is None for part in texts):
        return ()
    is_same = "".join(part.text for part in texts).strip() == text.strip()
    if is_same or any(isinstance(part, Reasoning) for part in said[_first_text(said) :]):
        return said
    return (*thoughts_of(response), Text(text, texts[0].opaque if len(texts) == 1 else None))


def _first_text(parts: Sequence[Spoken]) -> int:
    places = (at for at, part in enumerate(parts) if isinstance(part, Text))
    return next(places, len(parts))


def reply_to_list(parts: Iterable[ReplyPart]) -> list[dict[str, Any]]:
    """The JSON form of the parts of an answer."""
    return [_reply_part_to_dict(part) for part in parts]


def reply_from_list(data: object) -> tuple[ReplyPart, ...]:
    """Read it back; raises ValueError for a missing or wrong part."""
    entries = as_array(data)
    if entries is None:
        raise ValueError(f"'parts' is {describe(data)}, not a list")
    return tuple(_reply_part(entry) for entry in entries)


def content_from_list(data: object) -> tuple[ContentPart, ...]:
    """Read the JSON form of a tool's parts; raises ValueError for a missing or wrong part."""
    try:
        parts = parts_from_list(data)
    except KeyError as error:
        raise ValueError(f"a part has no {error}") from None
    return tuple(part for part in parts if isinstance(part, ContentPart))


def _reply_part_to_dict(part: ReplyPart) -> dict[str, Any]:
    if not isinstance(part, RawToolCall):
        return part.to_dict()
    out = {"type": "call", "id": part.id, "name": part.name, "arguments": part.arguments}
    return out if part.opaque is None else out | {"opaque": part.opaque.to_dict()}


def _reply_part(data: object) -> ReplyPart:
    entry: Mapping[str, Any] = as_object(data) or {}
    try:
        match entry:
            case {"type": "call", "id": str(id_), "name": str(name), "arguments": str(arguments)}:
                return RawToolCall(id_, name, arguments, read_opaque(entry))
            case {"type": "text" | "reasoning" as kind}:
                part = READERS[kind](entry)
                if isinstance(part, Text | Reasoning):
                    return part
            case _:
                pass
    except KeyError as error:
        raise ValueError(f"a part has no {error}") from None
    raise ValueError("a part of an answer is no text, reasoning or call")
