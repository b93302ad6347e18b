"""What agents remember: `Memory` holds messages, `MemoryManager` the steps of a code agent.

Both keep their entries in the order in which they were added, prune them by strategies
(`tinyagent.memory.pruning`), estimate their tokens, and have a JSON form that loses nothing.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.messages import Content, Message, Role, ToolCall
from tinyagent.core.provenance import OPERATOR, Label
from tinyagent.memory.items import MemoryItem, MessageGroup, group_messages, pinned
from tinyagent.memory.steps import Step, SystemPromptStep, step_from_dict
from tinyagent.options import checks_options

_MIN_CHARACTERS_PER_TOKEN = 0.5
_MAX_CHARACTERS_PER_TOKEN = 8.0
_MIN_SAMPLE = 1_000


class _Entry(Protocol):
    """A message or a step."""

    @property
    def size(self) -> int: ...
    def to_dict(self) -> dict[str, Any]: ...


EntryT = TypeVar("EntryT", bound=_Entry)
ItemT = TypeVar("ItemT", bound=MemoryItem)
KeptT = TypeVar("KeptT", bound=MemoryItem)


@dataclass(frozen=True, slots=True)
class TokenEstimate:
    """How many tokens a text has, learned from what the server counts.

    Attributes:
        characters_per_token: 4 until the server reports numbers, then what they say, from 0.5 to 8.
    """

    characters_per_token: float = 4.0

    def update(self, characters: int, tokens: int) -> TokenEstimate:
        """The estimate after the server counted `tokens` for a request of so many characters.

        Requests of fewer than 1,000 characters are ignored because fixed overhead dominates them,
        and so are 0 tokens, which servers report that do not count.
        """
        if characters < _MIN_SAMPLE or tokens < 1:
            return self
        measured = characters / tokens
        return TokenEstimate(
            min(max(measured, _MIN_CHARACTERS_PER_TOKEN), _MAX_CHARACTERS_PER_TOKEN)
        )

    def tokens(self, characters: int) -> int:
        """About how many tokens so many characters have, rounded up."""
        return -int(-characters // self.characters_per_token)

    def characters(self, tokens: int) -> int:
        """About how many characters fit into so many tokens, rounded down."""
        return int(tokens * self.characters_per_token)


@checks_options()
class BaseMemory(ABC, Generic[EntryT, ItemT, KeptT]):
    """What both memories share. Entries are added and pruned, never changed in place."""

    __slots__ = ("_counted", "_entries", "_estimate", "_known")
    _unit: ClassVar[str]

    def __init__(self, entries: Iterable[EntryT] = ()) -> None:
        self._entries = list(entries)
        self._estimate = TokenEstimate()
        self._counted, self._known = 0, 0  # the size of the first entries, so that it is taken once

    @abstractmethod
    def to_messages(self) -> tuple[Message, ...]:
        """The messages that the model is sent, oldest first."""

    @abstractmethod
    def set_system(self, content: str) -> None:
        """Make `content` the only system prompt and put it first."""

    @abstractmethod
    def items(self, task: str | None = None) -> Sequence[ItemT]:
        """The entries as items for pruning."""

    @abstractmethod
    def _entries_of(self, item: MemoryItem) -> Iterable[EntryT]:
        """The entries of one item."""

    def prune(
        self, strategy: Callable[[Sequence[ItemT]], Iterable[KeptT]], *, task: str | None = None
    ) -> int:
        """Keep what `strategy` keeps.

        Whatever the strategy returns, the system prompt, the first task and the latest task stay,
        and the order stays.

        Args:
            strategy: From the items, oldest first, to those that stay.
            task: The text of the current task, where other messages of the user came after it.
                Steps know which of them are tasks; only a `Memory` uses it.

        Returns:
            The number of characters saved.

        Raises:
            ConfigurationError: The strategy is asynchronous; use `prune_async`.
        """
        items = self.items(task)
        kept: Any = _calibrated(strategy, self._estimate)(items)
        if inspect.isawaitable(kept):
            if inspect.iscoroutine(kept):
                kept.close()
            raise ConfigurationError(
                f"{strategy!r} must be awaited; use: await memory.prune_async(...)"
            )
        return self._replace(len(self._entries), restore_pinned(items, kept))

    async def prune_async(
        self,
        strategy: Callable[[Sequence[ItemT]], Iterable[KeptT] | Awaitable[Iterable[KeptT]]],
        *,
        task: str | None = None,
    ) -> int:
        """Like `prune`, for synchronous and asynchronous strategies."""
        count, items = len(self._entries), self.items(task)
        kept = _calibrated(strategy, self._estimate)(items)
        kept_items = await kept if isinstance(kept, Awaitable) else kept
        return self._replace(count, restore_pinned(items, kept_items))

    @property
    def tokens(self) -> int:
        """About how many tokens the model is sent: 4 characters each until `learn` corrects it."""
        return self._estimate.tokens(self._characters())

    def learn(self, input_tokens: int) -> None:
        """Correct the estimate by what the server counted for the entries as they are now."""
        self._estimate = self._estimate.update(self._characters(), input_tokens)

    def copy(self) -> Self:
        """An independent memory with the same entries."""
        copy = type(self)(self._entries)
        copy._estimate = self._estimate  # noqa: SLF001 - of the same class
        return copy

    def to_list(self) -> list[dict[str, Any]]:
        """The JSON form: one dictionary for each entry."""
        return [entry.to_dict() for entry in self._entries]

    def _replace(self, count: int, items: Iterable[MemoryItem]) -> int:
        """Replace the first `count` entries by `items`; later ones stay."""
        before = self._size(self._entries[:count])
        kept = [entry for item in items for entry in self._entries_of(item)]
        self._entries[:count] = kept
        self._counted, self._known = 0, 0
        return before - self._size(kept)

    def _characters(self) -> int:
        self._known += self._size(self._entries[self._counted :])
        self._counted = len(self._entries)
        return self._known

    @staticmethod
    def _size(entries: Iterable[EntryT]) -> int:
        return sum(entry.size for entry in entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._entries == other._entries

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._entries)} {self._unit})"


class Memory(BaseMemory[Message, MessageGroup, MemoryItem]):
    """Chronological messages: the memory of a `ReactAgent`."""

    __slots__ = ()
    _unit = "messages"

    @property
    def messages(self) -> Sequence[Message]:
        """The messages, oldest first."""
        return tuple(self._entries)

    def to_messages(self) -> tuple[Message, ...]:
        """The same, as the memory of a code agent has it too."""
        return tuple(self._entries)

    def add(
        self,
        role: Role,
        content: Content,
        *,
        tool_calls: Iterable[ToolCall] = (),
        tool_call_id: str | None = None,
        is_error: bool = False,
        label: Label | None = None,
    ) -> None:
        """Append one message."""
        calls = tuple(tool_calls)
        self._entries.append(Message(role, content, calls, tool_call_id, is_error, label))

    def set_system(self, content: str) -> None:
        """Make `content` the only system prompt and put it first."""
        rest = [message for message in self._entries if message.role != "system"]
        self._entries = [Message("system", content, label=OPERATOR), *rest]
        self._counted, self._known = 0, 0

    def items(self, task: str | None = None) -> Sequence[MessageGroup]:
        """The messages in groups, so that a call is never separated from its results.

        Args:
            task: The text of the current task, if known: what a user says after it is a note.
        """
        return tuple(group_messages(self._entries, task))

    def _entries_of(self, item: MemoryItem) -> Iterable[Message]:
        return item.to_messages()

    @classmethod
    def from_list(cls, data: Iterable[Mapping[str, Any]]) -> Memory:
        """Read the JSON form; raises KeyError or ValueError for a missing or wrong part."""
        return cls(Message.from_dict(entry) for entry in data)


class MemoryManager(BaseMemory[Step, Step, Step]):
    """Chronological steps: the memory of a `TinyCodeAgent`."""

    __slots__ = ()
    _unit = "steps"

    @property
    def steps(self) -> Sequence[Step]:
        """The steps, oldest first."""
        return tuple(self._entries)

    def add(self, step: Step) -> None:
        """Append one step."""
        self._entries.append(step)

    def set_system(self, content: str) -> None:
        """Make `content` the only system prompt and put it first."""
        rest = [step for step in self._entries if step.kind != "system"]
        self._entries = [SystemPromptStep(content), *rest]
        self._counted, self._known = 0, 0

    def to_messages(self) -> tuple[Message, ...]:
        """The messages that the model is sent."""
        return tuple(message for step in self._entries for message in step.to_messages())

    def items(self, task: str | None = None) -> Sequence[Step]:
        """The steps themselves."""
        del task
        return self.steps

    def _entries_of(self, item: MemoryItem) -> Iterable[Step]:
        if not isinstance(item, Step):
            raise TypeError(f"a strategy returned {item!r}, which is not a step")
        return (item,)

    @classmethod
    def from_list(cls, data: Iterable[Mapping[str, Any]]) -> MemoryManager:
        """Read the JSON form; raises KeyError or ValueError like `step_from_dict`."""
        return cls(step_from_dict(entry) for entry in data)


Function = TypeVar("Function", bound=Callable[..., Any])


def _calibrated(strategy: Function, estimate: TokenEstimate) -> Function:
    """The strategy with the memory's estimate, if it has a method `calibrated` that takes one."""
    calibrate: Callable[[TokenEstimate], Function] | None = getattr(strategy, "calibrated", None)
    return strategy if calibrate is None else calibrate(estimate)


def restore_pinned(before: Sequence[ItemT], kept: Iterable[KeptT]) -> list[ItemT | KeptT]:
    """The kept items in the order of `before`, each once, with every pinned one among them.

    A new item (a shortened one, a summary) stays before the known item that it precedes in `kept`;
    one that precedes none comes last, but after the first task.
    """
    entries = list(kept)
    pins = sorted(pinned(before))
    indexes = _indexes(before, pins, entries)
    placed: dict[tuple[int, int, int], ItemT | KeptT] = {(at, 0, 0): before[at] for at in pins}
    opening = next((at for at in pins if before[at].kind == "task"), len(pins) - 1)
    last = next((at for at in reversed(indexes) if at is not None), opening)
    spot, side = max(last, opening), 1
    for order, at in reversed(list(enumerate(indexes))):
        if at is None:
            placed[spot, side, order] = entries[order]
        else:
            placed[at, 0, 0] = before[at]
            spot, side = at, -1
    return [placed[key] for key in sorted(placed)]


def _indexes(
    before: Sequence[MemoryItem], pins: Iterable[int], kept: Iterable[MemoryItem]
) -> list[int | None]:
    """The index of each kept item in `before`; None for a new one.

    The same object may occur twice, and a pinned item may come back as an equal copy.
    """
    known: dict[int, list[int]] = {}
    for at, item in enumerate(before):
        known.setdefault(id(item), []).append(at)
    indexes: list[int | None] = []
    last = -1
    for entry in kept:
        spots = known.get(id(entry)) or [at for at in pins if before[at] == entry]
        if spots:
            last = next((at for at in spots if at > last), spots[0])
        indexes.append(last if spots else None)
    return indexes
