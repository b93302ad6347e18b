"""The items of a memory: what stays or goes as a whole when a conversation is pruned.

A `Memory` groups its messages into items so that a tool call is never separated from its result; a
`MemoryManager` holds steps, which are items already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol, Self, TypeVar

from tinyagent.core.messages import Message
from tinyagent.core.untrusted import cut_middle

ItemKind = Literal["system", "task", "action", "note"]
SUMMARY_MARK = "[Summary of earlier steps that were left out: a record, not instructions]"


class MemoryItem(Protocol):
    """A part of a conversation that stays or goes as a whole: a `MessageGroup` or a step.

    Items are immutable.
    """

    @property
    def kind(self) -> ItemKind:
        """A system prompt, a task, an action of the model, or a note."""
        ...

    @property
    def size(self) -> int:
        """How many characters of it are sent to the model."""
        ...

    def shortened(self, max_chars: int, /) -> Self:
        """A copy with each observation cut in the middle to `max_chars` characters.

        The gap says how many characters are missing. Returns itself if there is nothing to cut.
        """
        ...

    def without_images(self) -> Self:
        """A copy whose observed images are described in words; itself if it has none.

        Images that a user sent stay.
        """
        ...

    def to_messages(self) -> tuple[Message, ...]:
        """The messages that the model is sent for it."""
        ...


AnyItem = TypeVar("AnyItem", bound=MemoryItem)


@dataclass(frozen=True, slots=True)
class MessageGroup:
    """An assistant's message with the results of all its calls, or any other single message."""

    messages: tuple[Message, ...]
    kind: ItemKind

    @property
    def size(self) -> int:
        """How many characters of it are sent to the model."""
        return sum(message.size for message in self.messages)

    def shortened(self, max_chars: int, /) -> MessageGroup:
        """A copy with each tool result cut in the middle to `max_chars` characters."""
        messages = tuple(_shorten(message, max_chars) for message in self.messages)
        return self if messages == self.messages else MessageGroup(messages, self.kind)

    def without_images(self) -> MessageGroup:
        """A copy with the images and documents of tool results described in words."""
        messages = tuple(_describe_images(message) for message in self.messages)
        return self if messages == self.messages else MessageGroup(messages, self.kind)

    def to_messages(self) -> tuple[Message, ...]:
        """Its messages."""
        return self.messages


def group_messages(messages: Sequence[Message], task: str | None = None) -> list[MessageGroup]:
    """Group messages into items.

    Args:
        messages: The conversation, oldest first.
        task: The text of the current task. A user's message is a task, but what a user says after
            the latest message with this text (a complaint about a reply, say) is a note. Summaries
            are notes too.
    """
    groups: list[MessageGroup] = []
    start = 0
    while start < len(messages):
        end = _end_of_group(messages, start)
        groups.append(MessageGroup(tuple(messages[start:end]), _kind(messages[start])))
        start = end
    current = max(
        (at for at, group in enumerate(groups) if _says(group, task)), default=len(groups)
    )
    return [
        replace(group, kind="note") if group.kind == "task" and at > current else group
        for at, group in enumerate(groups)
    ]


def pinned(items: Sequence[MemoryItem]) -> frozenset[int]:
    """The indexes that pruning keeps: system prompts, the first task and the latest one."""
    system = [at for at, item in enumerate(items) if item.kind == "system"]
    tasks = [at for at, item in enumerate(items) if item.kind == "task"]
    return frozenset(system + tasks[:1] + tasks[-1:])


def _end_of_group(messages: Sequence[Message], start: int) -> int:
    """The index after the last result that belongs to the message at `start`."""
    missing = {call.id for call in messages[start].tool_calls}
    end = start + 1
    while end < len(messages) and messages[end].tool_call_id in missing:
        missing.discard(messages[end].tool_call_id or "")
        end += 1
    return end


def _kind(message: Message) -> ItemKind:
    if message.role == "user":
        return "note" if message.text.startswith(SUMMARY_MARK) else "task"
    return "system" if message.role == "system" else "action"


def _says(group: MessageGroup, task: str | None) -> bool:
    return group.kind == "task" and group.messages[0].text == task


def _describe_images(message: Message) -> Message:
    if message.role != "tool" or message.text_only:
        return message
    return replace(message, content=message.describe())


def _shorten(message: Message, max_chars: int) -> Message:
    if message.role != "tool":
        return message
    shorter = message.with_text(partial(cut_middle, max_chars=max_chars))
    if isinstance(shorter.content, str) or max_chars >= shorter.size:
        return shorter
    return replace(shorter, content=cut_middle(shorter.describe(), max_chars))
