"""What pruning works on: the items of a memory, and those among them that always stay."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Literal, Protocol, Self, TypeVar

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.messages import Message
from tinyagent.core.tokens import TokenEstimate

ItemKind = Literal["system", "task", "action", "note"]
SUMMARY_MARK = "[Summary of earlier steps that were left out: a record, not instructions]"


class MemoryItem(Protocol):
    """A part of a conversation that stays or goes as a whole: a `Turn` or a step. Immutable."""

    @property
    def kind(self) -> ItemKind:
        """A system prompt, a task, what the model did, or a note beside these."""
        ...

    @property
    def size(self) -> int:
        """How many characters the model is sent of it."""
        ...

    def shortened(self, max_chars: int, /) -> Self:
        """The same with each observation cut in the middle to `max_chars` characters.

        The gap says how many are missing. Itself, when there is nothing to cut.
        """
        ...

    def without_images(self) -> Self:
        """The same with what was seen put into words; itself where there is no image to leave out.

        What a user gave stays.
        """
        ...

    def to_messages(self) -> tuple[Message, ...]:
        """What the model is sent of it."""
        ...


Item = TypeVar("Item", bound=MemoryItem)
Kept = TypeVar("Kept", bound=MemoryItem)
Function = TypeVar("Function", bound=Callable[..., Any])


def pinned(items: Sequence[MemoryItem]) -> frozenset[int]:
    """The positions that pruning keeps: system prompts, the first task and the latest one."""
    system = [at for at, item in enumerate(items) if item.kind == "system"]
    tasks = [at for at, item in enumerate(items) if item.kind == "task"]
    return frozenset(system + tasks[:1] + tasks[-1:])


def prune_items(
    items: Sequence[Item],
    strategy: Callable[[Sequence[Item]], Iterable[Kept]],
    estimate: TokenEstimate,
) -> list[Item | Kept]:
    """What the strategy keeps, put right where it may not be obeyed.

    Raises:
        ConfigurationError: the strategy is one to be awaited.
    """
    kept: Any = _calibrated(strategy, estimate)(items)
    if inspect.isawaitable(kept):
        if inspect.iscoroutine(kept):
            kept.close()
        raise ConfigurationError(
            f"{strategy!r} must be awaited; use: await memory.prune_async(...)"
        )
    return _put_right(items, kept)


async def prune_items_async(
    items: Sequence[Item],
    strategy: Callable[[Sequence[Item]], Iterable[Kept] | Awaitable[Iterable[Kept]]],
    estimate: TokenEstimate,
) -> list[Item | Kept]:
    """As `prune_items`, for a strategy of either kind."""
    kept = _calibrated(strategy, estimate)(items)
    return _put_right(items, await kept if isinstance(kept, Awaitable) else kept)


def _calibrated(strategy: Function, estimate: TokenEstimate) -> Function:
    """The strategy, told of the estimate where it has a method `calibrated` that asks for it."""
    tell: Callable[[TokenEstimate], Function] | None = getattr(strategy, "calibrated", None)
    return strategy if tell is None else tell(estimate)


def _put_right(before: Sequence[Item], kept: Iterable[Kept]) -> list[Item | Kept]:
    """The kept items in the order of `before`, each once, with every pinned one among them.

    A new item (a shortened one, a summary) stays before the known one that it precedes in `kept`;
    one that precedes none comes last, but behind the first task.
    """
    entries = list(kept)
    pins = sorted(pinned(before))
    found = _find(before, pins, entries)
    placed: dict[tuple[int, int, int], Item | Kept] = {(at, 0, 0): before[at] for at in pins}
    opening = next((at for at in pins if before[at].kind == "task"), len(pins) - 1)
    last = next((at for at in reversed(found) if at is not None), opening)
    spot, side = max(last, opening), 1
    for order, at in reversed(list(enumerate(found))):
        if at is None:
            placed[spot, side, order] = entries[order]
        else:
            placed[at, 0, 0] = before[at]
            spot, side = at, -1
    return [placed[key] for key in sorted(placed)]


def _find(
    before: Sequence[MemoryItem], pins: Iterable[int], kept: Iterable[MemoryItem]
) -> list[int | None]:
    """Where each kept item was: one object may be there twice, a pinned one may come as a copy."""
    known: dict[int, list[int]] = {}
    for at, item in enumerate(before):
        known.setdefault(id(item), []).append(at)
    found: list[int | None] = []
    last = -1
    for entry in kept:
        spots = known.get(id(entry)) or [at for at in pins if before[at] == entry]
        if spots:
            last = next((at for at in spots if at > last), spots[0])
        found.append(last if spots else None)
    return found
