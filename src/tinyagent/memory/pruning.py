"""Pruning strategies: each is a function from the items of a memory to those that stay.

They work on the steps of a `MemoryManager` and on the message groups of a `Memory`. The memory
ensures that the system prompt, the first task and the latest task stay and that no call is
separated from its result, so a strategy does not have to.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tinyagent.core.errors import ConfigurationError
from tinyagent.memory.items import AnyItem, pinned
from tinyagent.memory.memory import TokenEstimate


class Strategy(Protocol):
    """A function from items, oldest first, to those that stay."""

    def __call__(self, items: Sequence[AnyItem], /) -> Sequence[AnyItem]:
        """The items that stay."""
        ...


def no_pruning(items: Sequence[AnyItem], /) -> Sequence[AnyItem]:
    """Keep everything."""
    return items


def keep_last_n_steps(n: int) -> Strategy:
    """Keep the newest `n` actions, and the notes and tasks that come after the oldest of them.

    Raises:
        ConfigurationError: `n` is negative.
    """
    _check(n=n)

    def keep(items: Sequence[AnyItem], /) -> Sequence[AnyItem]:
        actions = [at for at, item in enumerate(items) if item.kind == "action"]
        if n >= len(actions):
            return items
        first = actions[-n] if n else len(items)
        return _with_pinned(items, range(first, len(items)))

    return keep


def keep_system_and_recent(n: int) -> Strategy:
    """Keep the newest `n` items of any kind.

    Raises:
        ConfigurationError: `n` is negative.
    """
    _check(n=n)

    def keep(items: Sequence[AnyItem], /) -> Sequence[AnyItem]:
        return _with_pinned(items, range(max(len(items) - n, 0), len(items)))

    return keep


def prune_old_observations(keep: int = 3, max_chars: int = 200) -> Strategy:
    """Keep every item; cut all observations but those of the newest `keep` actions.

    They are cut to `max_chars` characters.

    Raises:
        ConfigurationError: A number is negative.
    """
    _check(keep=keep, max_chars=max_chars)

    def shorten(items: Sequence[AnyItem], /) -> Sequence[AnyItem]:
        actions = [at for at, item in enumerate(items) if item.kind == "action"]
        old = set(actions[: max(len(actions) - keep, 0)])
        return [item.shortened(max_chars) if at in old else item for at, item in enumerate(items)]

    return shorten


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The strategy that `token_budget` returns."""

    max_tokens: int
    estimate: TokenEstimate

    def calibrated(self, estimate: TokenEstimate) -> TokenBudget:
        """The same budget with the estimate of the memory."""
        return replace(self, estimate=estimate)

    def __call__(self, items: Sequence[AnyItem], /) -> Sequence[AnyItem]:
        """Keep the newest items that fit; the newest of all is cut rather than dropped.

        Old images are dropped first.
        """
        pins = pinned(items)
        items = _without_old_images(items, self.estimate.characters(self.max_tokens))
        room = self.estimate.characters(self.max_tokens) - sum(items[at].size for at in pins)
        kept = {at: items[at] for at in pins}
        for at in reversed(range(len(items))):
            if at in pins:
                continue
            item = items[at] if len(kept) > len(pins) else _fit(items[at], room)
            room -= item.size
            if room < 0:
                break
            kept[at] = item
        return [kept[at] for at in sorted(kept)]


def token_budget(max_tokens: int) -> TokenBudget:
    """Keep the newest items that fit into `max_tokens` together with the pinned ones.

    Characters are counted. The memory learns the characters per token from the numbers of the
    server; until then it assumes 4. If not even the newest item fits, its observation is cut in
    the middle, so that the model does not repeat the action.

    Raises:
        ConfigurationError: The number is negative.
    """
    _check(max_tokens=max_tokens)
    return TokenBudget(max_tokens, TokenEstimate())


def _without_old_images(items: Sequence[AnyItem], room: int) -> Sequence[AnyItem]:
    """The items with images described in words, oldest first, until the rest fits."""
    excess = sum(item.size for item in items) - room
    lighter = list(items)
    for at, item in enumerate(items):
        if excess <= 0:
            break
        lighter[at] = item.without_images()
        excess -= item.size - lighter[at].size
    return lighter


def _fit(item: AnyItem, room: int) -> AnyItem:
    """The item with its observation cut to fit into `room`, if possible."""
    if item.size <= room:
        return item
    sizes = range(max(room, 0) + 1)
    fitting = bisect_right(sizes, room, key=lambda max_chars: item.shortened(max_chars).size)
    return item.shortened(max(fitting - 1, 0))


def _with_pinned(items: Sequence[AnyItem], positions: Iterable[int]) -> Sequence[AnyItem]:
    return [items[at] for at in sorted(pinned(items).union(positions))]


def _check(**numbers: int) -> None:
    for name, number in numbers.items():
        if number < 0:
            raise ConfigurationError(f"{name} must be 0 or more, got {number}")
