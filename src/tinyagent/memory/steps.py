"""Steps: what a code agent remembers of a run. All are immutable and have a JSON form."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Self

from tinyagent.core.messages import Content, Message, parts_from_list
from tinyagent.core.parts import Document, Image, Reasoning, Text
from tinyagent.core.provenance import OPERATOR, Label, label_from_dict, label_to_dict
from tinyagent.core.signals import Signal
from tinyagent.core.untrusted import cut_middle
from tinyagent.memory.items import ItemKind

_BACKTICKS = re.compile(r"`{3,}")


class Step(ABC):
    """What all steps have in common."""

    __slots__ = ()

    @property
    @abstractmethod
    def kind(self) -> ItemKind:
        """How pruning treats it."""

    @property
    def size(self) -> int:
        """How many characters of it are sent to the model."""
        return sum(message.size for message in self.to_messages())

    def shortened(self, max_chars: int, /) -> Self:
        """A copy with its observation, if any, cut in the middle to `max_chars`."""
        del max_chars
        return self

    def without_images(self) -> Self:
        """A copy without the images that code created."""
        return self

    @abstractmethod
    def to_messages(self) -> tuple[Message, ...]:
        """The messages that the model is sent for it."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The JSON form; `step_from_dict` reads it back."""


@dataclass(frozen=True, slots=True)
class SystemPromptStep(Step):
    """The system prompt."""

    content: str

    @property
    def kind(self) -> ItemKind:
        """It always stays."""
        return "system"

    def to_messages(self) -> tuple[Message, ...]:
        """A system message."""
        return (Message("system", self.content, label=OPERATOR),)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"type": "system_prompt", "content": self.content}


@dataclass(frozen=True, slots=True)
class TaskStep(Step):
    """The task: words, or parts."""

    task: Content
    label: Label | None = field(default=None, compare=False)

    @property
    def kind(self) -> ItemKind:
        """The first and the latest one stay."""
        return "task"

    def to_messages(self) -> tuple[Message, ...]:
        """A user's message."""
        return (Message("user", self.task, label=self.label),)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        task = Message("user", self.task).to_dict()["content"]
        return {"type": "task", "task": task} | label_to_dict(self.label)


@dataclass(frozen=True, slots=True)
class ActionStep(Step):
    """A reply of the model and the result of its code. `number` counts from 1.

    `reasoning` is the text that the model wrote around its code. `parts` are its text and its
    thoughts, if there is more than text: reasoning, or data that its provider wants back.
    `attachments` are shown with the observation: plots, and images that tools returned. `label`
    says where all this comes from.
    """

    reasoning: str
    code: str
    observation: str
    signals: tuple[Signal, ...] = ()
    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))
    number: int = 1
    parts: tuple[Reasoning | Text, ...] = ()
    attachments: tuple[Image | Document, ...] = ()
    label: Label | None = field(default=None, compare=False)

    @property
    def kind(self) -> ItemKind:
        """It may be dropped when it is old."""
        return "action"

    @property
    def written(self) -> str:
        """The reasoning and the code in the format that the model is asked for."""
        return "\n\n".join(part for part in (self.reasoning, _fenced(self.code)) if part)

    def shortened(self, max_chars: int, /) -> Self:
        """A copy with its observation cut in the middle to `max_chars` characters."""
        shown = sum(part.size for part in self.attachments)
        if self.attachments and len(self.observation) + shown > max_chars:
            return self.without_images().shortened(max_chars)
        observation = cut_middle(self.observation, max_chars)
        return self if observation == self.observation else replace(self, observation=observation)

    def without_images(self) -> Self:
        """A copy with its attachments described in the observation."""
        if not self.attachments:
            return self
        words = "\n".join(part.describe() for part in self.attachments)
        return replace(self, observation=f"{self.observation}\n{words}", attachments=())

    def to_messages(self) -> tuple[Message, ...]:
        """The assistant's reasoning and code, and the observation as a user's message.

        Empty messages are left out because some servers refuse them.
        """
        written = self.written
        reply = Message(
            "assistant", self.parts if self.parts and written else written, label=self.label
        )
        observed = self.observation and f"Observation:\n{self.observation}"
        outcome = Message("user", observed, label=self.label)
        if self.attachments:
            outcome = replace(outcome, content=(*outcome.parts, *self.attachments))
        return tuple(message for message in (reply, outcome) if message.content)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        out: dict[str, Any] = {
            "type": "action",
            "reasoning": self.reasoning,
            "code": self.code,
            "observation": self.observation,
            "signals": [signal.to_dict() for signal in self.signals],
            "timestamp": self.timestamp.isoformat(),
            "number": self.number,
        }
        if self.parts:
            out["parts"] = [part.to_dict() for part in self.parts]
        if self.attachments:
            out["attachments"] = [part.to_dict() for part in self.attachments]
        return out | label_to_dict(self.label)


@dataclass(frozen=True, slots=True)
class ScratchpadStep(Step):
    """A note that the model is shown during a run: its scratchpad, or a summary."""

    content: str
    label: Label | None = field(default=None, compare=False)

    @property
    def kind(self) -> ItemKind:
        """It may be dropped when it is old."""
        return "note"

    def to_messages(self) -> tuple[Message, ...]:
        """A user's message."""
        return (Message("user", self.content, label=self.label),)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"type": "scratchpad", "content": self.content} | label_to_dict(self.label)


def step_from_dict(data: Mapping[str, Any]) -> Step:
    """Read a step from its JSON form; raises KeyError or ValueError for a wrong part."""
    read = _READERS.get(data["type"])
    if read is None:
        raise ValueError(f"no step has the type {data['type']!r}; known: {', '.join(_READERS)}")
    return read(data)


def _fenced(code: str) -> str:
    """The code as a Markdown block, with a fence that is longer than any in the code."""
    if not code:
        return ""
    fence = "`" * max((len(run) + 1 for run in _BACKTICKS.findall(code)), default=3)
    return f"{fence}python\n{code}\n{fence}"


def _read_action(data: Mapping[str, Any]) -> ActionStep:
    return ActionStep(
        data["reasoning"],
        data["code"],
        data["observation"],
        tuple(Signal.from_dict(signal) for signal in data["signals"]),
        datetime.fromisoformat(data["timestamp"]),
        data["number"],
        tuple(_read_spoken(part) for part in data.get("parts", ())),
        _read_attachments(data.get("attachments", [])),
        label_from_dict(data),
    )


def _read_spoken(data: Mapping[str, Any]) -> Reasoning | Text:
    return Text.from_dict(data) if data["type"] == "text" else Reasoning.from_dict(data)


def _read_attachments(data: object) -> tuple[Image | Document, ...]:
    parts = parts_from_list(data)
    return tuple(part for part in parts if isinstance(part, Image | Document))


def _read_task(data: Mapping[str, Any]) -> TaskStep:
    task = data["task"]
    return TaskStep(task if isinstance(task, str) else parts_from_list(task), label_from_dict(data))


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Step]] = {
    "system_prompt": lambda data: SystemPromptStep(data["content"]),
    "task": _read_task,
    "action": _read_action,
    "scratchpad": lambda data: ScratchpadStep(data["content"], label_from_dict(data)),
}
