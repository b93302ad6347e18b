"""Turns: the parts of a conversation that stay or go as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from tinyagent.core.items import SUMMARY_MARK, ItemKind
from tinyagent.core.messages import Message
from tinyagent.core.text import cut_middle


@dataclass(frozen=True, slots=True)
class Turn:
    """An assistant's message with the results of all its calls, or any other single message."""

    messages: tuple[Message, ...]
    kind: ItemKind

    @property
    def size(self) -> int:
        """How many characters the model is sent of it."""
        return count_characters(self.messages)

    def shortened(self, max_chars: int, /) -> Turn:
        """The same with each tool result cut in the middle to `max_chars` characters."""
        messages = tuple(_shorten(message, max_chars) for message in self.messages)
        return self if messages == self.messages else Turn(messages, self.kind)

    def without_images(self) -> Turn:
        """The same with the images and documents of tool results described in words."""
        messages = tuple(_in_words(message) for message in self.messages)
        return self if messages == self.messages else Turn(messages, self.kind)

    def to_messages(self) -> tuple[Message, ...]:
        """Its messages."""
        return self.messages


def group_turns(messages: Sequence[Message], task: str | None = None) -> list[Turn]:
    """The messages as turns.

    A user's message is a task. Where `task` is given, what a user says after the latest message of
    that text (a complaint about a reply, say) is a note; so is a summary.
    """
    turns: list[Turn] = []
    start = 0
    while start < len(messages):
        end = _end_of_turn(messages, start)
        turns.append(Turn(tuple(messages[start:end]), _kind(messages[start])))
        start = end
    current = next((at for at in reversed(range(len(turns))) if _says(turns[at], task)), len(turns))
    return [
        replace(turn, kind="note") if turn.kind == "task" and at > current else turn
        for at, turn in enumerate(turns)
    ]


def count_characters(messages: Sequence[Message]) -> int:
    """How many characters a model is sent: texts, and the names and arguments of calls.

    Images and documents count as the text that costs about as much.
    """
    return sum(message.size for message in messages)


def _end_of_turn(messages: Sequence[Message], start: int) -> int:
    """The position behind the last result that belongs to the message at `start`."""
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


def _says(turn: Turn, task: str | None) -> bool:
    return turn.kind == "task" and turn.messages[0].text == task


def _in_words(message: Message) -> Message:
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
