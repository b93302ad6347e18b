"""Messages and tool calls: the contents of a conversation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.parts import (
    READERS,
    ContentPart,
    Document,
    Image,
    Opaque,
    Reasoning,
    Text,
    read_opaque,
)
from tinyagent.core.provenance import Label, label_from_dict, label_to_dict
from tinyagent.core.untrusted import as_array, as_object, cut_middle, describe, one_line, take

_to_json = json.JSONEncoder(default=str).encode
_to_plain_json = json.JSONEncoder(ensure_ascii=False).encode
Role = Literal["system", "user", "assistant", "tool"]
MATERIAL = "material:"
_VALUE_CHARS = 200


@dataclass(frozen=True, slots=True)
class ArgumentOrigin:
    """Where one value of a call comes from.

    Attributes:
        path: The argument, and the way to the value inside it.
        value: The value.
        vouched_by: The source of a rule that vouches for it; empty if none had to.
        fault: Why the value is not allowed; empty if it is.
    """

    path: str
    value: str | float | bool | None
    vouched_by: str = ""
    fault: str = ""

    def describe(self) -> str:
        """The argument, its value and where that comes from, in one printable line."""
        value = self.value
        shown = ascii(cut_middle(value, _VALUE_CHARS)) if isinstance(value, str) else repr(value)
        by = f"vouched for by {self.vouched_by}" if self.vouched_by else "allowed by its rule"
        return f"{one_line(self.path)} = {shown}: {self.fault or by}"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request of a model to run a tool.

    `fault` says why the call cannot be run (cut-off JSON, for example); it is written for the
    model. A faulty call keeps the text of the model in its only argument, `_unreadable`, so a
    conversation never holds arguments that are not JSON. `opaque` is data that the provider wants
    XX
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fault: str | None = None
    opaque: Opaque | None = None
    origins: tuple[ArgumentOrigin, ...] = field(default=(), compare=False, repr=False)
    doubt: str = field(default="", compare=False)
    beside: tuple[ToolCall, ...] = field(default=(), compare=False, repr=False)
    _json: str = field(default="", init=False, compare=False, repr=False)

    @property
    def arguments_json(self) -> str:
        """The arguments as JSON text. It is made once: what was sent does not change."""
        if not self._json:
            object.__setattr__(self, "_json", _to_plain_json(self.arguments))
        return self._json

    @property
    def size(self) -> int:
        """How many characters of it are sent to the model."""
        return len(self.name) + len(_to_json(dict(self.arguments)))

    def describe(self) -> str:
        """The call in brackets."""
        return f"[called {self.name}({_to_json(dict(self.arguments))})]"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        out: dict[str, Any] = {
            "id": self.id,
            "name": self.name,
            "arguments": dict(self.arguments),
        }
        if self.fault is not None:
            out["fault"] = self.fault
        if self.opaque is not None:
            out["opaque"] = self.opaque.to_dict()
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ToolCall:
        """Read the JSON form back; raises KeyError for a missing part."""
        return cls(
            data["id"],
            data["name"],
            dict(data["arguments"]),
            data.get("fault"),
            read_opaque(data),
        )


Part = Text | Image | Document | Reasoning | ToolCall
Content = str | tuple[Part, ...]
Labelled = Sequence[tuple[Content, Label]]
"""Contents of messages, each with its label."""


@dataclass(frozen=True, slots=True)
class Material:
    """A part of a task that its user hands over and did not write: see `untrusted`."""

    part: ContentPart
    name: str = "text"

    @property
    def source(self) -> str:
        """Its name as a source of labels."""
        return f"{MATERIAL}{self.name}"


Task = str | Sequence[str | ContentPart | Material]
"""A task: words, or words, images, documents and material of others in their order."""


def untrusted(material: str | ContentPart, name: str = "text") -> Material:
    """A part of a task that others wrote: a mail, a page, a document.

    Where the agent has a `Provenance`, the user did not write it: it vouches for nothing, and from
    then on calls must follow their rules.

    Args:
        material: A text, an image or a document.
        name: Its source is `material:NAME`.

    Example:
        `agent.run(["Summarize this mail:", untrusted(mail, "mail")])`
    """
    return Material(Text(material) if isinstance(material, str) else material, name)


@dataclass(frozen=True, slots=True)
class Message:
    """A message. Only an assistant's message has `tool_calls`, only a tool's a `tool_call_id`.

    `content` is a plain string, or parts in their original order. In a message of parts, the calls
    are among the parts, and `tool_calls` is a view of them. `is_error` marks the result of a call
    that failed. `label` says where the content comes from; None if that is not known.
    """

    role: Role
    content: Content
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    is_error: bool = False
    label: Label | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.content, str):
            return
        calls = tuple(part for part in self.content if isinstance(part, ToolCall))
        if calls:
            object.__setattr__(self, "tool_calls", calls)
        elif self.tool_calls:
            object.__setattr__(self, "content", (*self.content, *self.tool_calls))

    @property
    def text(self) -> str:
        """The text, without reasoning, images, documents and calls."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts in their order; for a plain message, its text and then its calls."""
        if not isinstance(self.content, str):
            return self.content
        return (Text(self.content), *self.tool_calls) if self.content else self.tool_calls

    @property
    def text_only(self) -> bool:
        """Whether it holds neither images nor documents."""
        if isinstance(self.content, str):
            return True
        return not any(isinstance(part, Image | Document) for part in self.content)

    @property
    def size(self) -> int:
        """How many characters of it are sent to the model; images and documents are estimated."""
        if isinstance(self.content, str):
            size = len(self.content)
            for call in self.tool_calls:
                size += call.size
            return size
        return sum(part.size for part in self.content)

    def describe(self) -> str:
        """The content in words; anything but text is described in brackets."""
        return "\n".join(part.describe() for part in self.parts)

    def with_text(self, change: Callable[[str], str]) -> Message:
        """A copy with `change` applied to each text; itself if nothing changes."""
        if isinstance(self.content, str):
            text = change(self.content)
            return self if text == self.content else replace(self, content=text)
        content = tuple(_changed(part, change) for part in self.content)
        return self if content == self.content else replace(self, content=content)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, without empty parts."""
        out: dict[str, Any] = {"role": self.role, "content": self.content}
        if not isinstance(self.content, str):
            out["content"] = [_part_to_dict(part) for part in self.content]
        elif self.tool_calls:
            out["tool_calls"] = [call.to_dict() for call in self.tool_calls]
        if self.tool_call_id is not None:
            out["tool_call_id"] = self.tool_call_id
        if self.is_error:
            out["is_error"] = True
        return out | label_to_dict(self.label)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Message:
        """Read the JSON form back; raises KeyError or ValueError for a missing or wrong part."""
        calls = tuple(ToolCall.from_dict(call) for call in data.get("tool_calls", ()))
        content = data["content"]
        if not isinstance(content, str):
            content = parts_from_list(content)
        return cls(
            data["role"],
            content,
            calls,
            data.get("tool_call_id"),
            data.get("is_error") is True,
            label_from_dict(data),
        )


def parts_from_list(data: object) -> tuple[Part, ...]:
    """Read the JSON form of parts; raises KeyError or ValueError for a missing or wrong part."""
    entries = as_array(data)
    if entries is None:
        raise ValueError(f"'content' is {describe(data)}, neither a string nor a list of parts")
    return tuple(_part_from_dict(entry) for entry in entries)


def as_contents(task: Task) -> tuple[tuple[Content, str], ...]:
    """A task as the contents of messages, each with its source if others wrote it.

    What the user wrote is the last.

    Raises:
        ConfigurationError: An item is not a string, text, image, document or `untrusted` material,
            or there is none.
    """
    if isinstance(task, str):
        return ((task, ""),)
    parts = _parts(task)
    material = tuple(((part,), source) for part, source in parts if source)
    own = tuple(part for part, source in parts if not source)
    return (*material, (own, "")) if own else material


def _parts(task: Sequence[str | ContentPart | Material]) -> list[tuple[ContentPart, str]]:
    """The parts of a task, each with its source if others wrote it."""
    parts: list[tuple[ContentPart, str]] = []
    for item in task:
        part = item.part if isinstance(item, Material) else item
        part = Text(part) if isinstance(part, str) else part
        if not isinstance(part, ContentPart):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(
                f"a task has {type(part).__name__!r} among its parts; pass strings, Text, Image,"
                " Document and untrusted(...)"
            )
        parts.append((part, item.source if isinstance(item, Material) else ""))
    if not parts:
        raise ConfigurationError("the task has no parts; say what to do")
    return parts


def task_to_json(task: Task) -> str | list[dict[str, Any]]:
    """The JSON form of a task: words, or a list of parts; raises like `as_contents`."""
    if isinstance(task, str):
        return task
    return [
        part.to_dict() | ({"material": source.removeprefix(MATERIAL)} if source else {})
        for part, source in _parts(task)
    ]


def words_of(task: Task) -> str:
    """The words of a task that its user wrote."""
    contents = as_contents(task)
    return "".join(Message("user", content).text for content, source in contents if not source)


def task_from_json(data: object) -> Task:
    """Read a task from its JSON form; raises KeyError or ValueError for a wrong part."""
    if isinstance(data, str):
        return data
    task: list[ContentPart | Material] = []
    for entry, part in zip(as_array(data) or [], parts_from_list(data), strict=True):
        if isinstance(part, ContentPart):
            is_material = "material" in entry
            task.append(Material(part, take(entry, "material", str)) if is_material else part)
    return task


def plain_content(parts: Iterable[Part]) -> Content:
    """The parts, or a plain string if there is nothing but text without opaque data."""
    content = tuple(parts)
    if all(isinstance(part, Text) and part.opaque is None for part in content):
        return "".join(part.text for part in content if isinstance(part, Text))
    return content


def _changed(part: Part, change: Callable[[str], str]) -> Part:
    if not isinstance(part, Text):
        return part
    text = change(part.text)
    return part if text == part.text else Text(text)


def _part_to_dict(part: Part) -> dict[str, Any]:
    if isinstance(part, ToolCall):
        return {"type": "tool_call", **part.to_dict()}
    return part.to_dict()


def _part_from_dict(data: object) -> Part:
    entry = as_object(data)
    if entry is None:
        raise ValueError(f"a part is {describe(data)}, not an object")
    kind = entry["type"]
    if kind == "tool_call":
        return ToolCall.from_dict(entry)
    read = READERS.get(kind)
    if read is None:
        known = ", ".join([*READERS, "tool_call"])
        raise ValueError(f"a part has the type {kind!r}, which is not one of: {known}")
    return read(entry)
