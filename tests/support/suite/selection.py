"""Which items run: by what they cost, not by how many there are.

`make test` runs the items of a function whose items take up to `CHEAP` seconds (`CHEAP_IF_EXACT`
for what must be exact): all, or as many in turn as take `MOST` seconds (`MOST_IF_EXACT`). Of the
other functions it runs one item of as many in turn as fit, the cheaper the more often. The turn is
the number of commits, so that each landing tries another share. What no time is known of runs
whole.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Sequence
from enum import StrEnum
from math import ceil
from pathlib import Path
from typing import NamedTuple, TypeVar

from tests.support.suite.groups import EXACT, is_in
from tests.support.suite.times import Cost, Times

CHEAP = 0.2
"""The most seconds of an item, in the mean, where all items of a function run."""
CHEAP_IF_EXACT = 0.5
"""The same for the files of `EXACT`."""
MOST = 2.0
"""The seconds that the items of one function take together at most, where each is cheap."""
MOST_IF_EXACT = 4.0
"""The same for the files of `EXACT`."""
UNIT = 0.08
"""The most seconds of an item of `make test-unit`."""
UNKNOWN = 5.0
"""The seconds that a file is expected to take of which nothing is known."""
MORE_EXAMPLES = 4
"""How many times as many examples of a property `make test-all` tries."""

_NAMES = re.compile(
    r"^\s*(?:async )?(?:def (?=test_)|class (?=Test)|(?=Test\w+ =))(\w+)", re.MULTILINE
)
"""The names of tests in a file."""

Item = TypeVar("Item")


class Mode(StrEnum):
    """What is run."""

    GATE = "gate"
    UNIT = "unit"
    ALL = "all"
    TIMES = "times"


class Selection(NamedTuple):
    """What runs in a mode.

    Args:
        mode: the mode.
        times: the recorded costs.
        turn: chooses the item of a function, and the functions of the costly rest.
        rest: the functions of that rest which run, as `path::name`.
    """

    mode: Mode
    times: Times
    turn: int = 0
    rest: frozenset[str] = frozenset()

    def chosen(self, path: str, name: str, items: Sequence[Item]) -> list[Item]:
        """The items of a function that run."""
        cost = self.times.get(path, {}).get(name)
        if cost is None or self.mode in {Mode.ALL, Mode.TIMES}:
            return list(items)
        if self.mode is Mode.UNIT:
            return list(items) if cost.is_own and cost.seconds <= UNIT else []
        is_exact = is_in(path, EXACT)
        if cost.seconds <= (CHEAP_IF_EXACT if is_exact else CHEAP):
            most = MOST_IF_EXACT if is_exact else MOST
            parts = max(1, ceil(len(items) * cost.seconds / most))
            return list(items[self.turn % parts :: parts])
        if f"{path}::{name}" in self.rest:
            return [items[self.turn % len(items)]]
        return []

    def runs_nothing(self, path: str) -> bool:
        """Whether no test of a file runs, and the time of each is known."""
        functions = self.times.get(path, {})
        if not functions or self.seconds(path):
            return False
        known = {part for name in functions for part in name.split("::")}
        return known.issuperset(_NAMES.findall(Path(path).read_text()))

    def seconds(self, path: str) -> float:
        """How long a file is expected to take."""
        functions = self.times.get(path)
        if functions is None:
            return UNKNOWN
        more = MORE_EXAMPLES if self.mode is Mode.ALL else 1
        return sum(
            cost.seconds
            * (more if cost.is_property else 1)
            * len(self.chosen(path, name, range(cost.items)))
            for name, cost in functions.items()
        )


def select(mode: Mode, times: Times, *, turn: int = 0, budget: float = 0.0) -> Selection:
    """The selection of a mode.

    Args:
        mode: the mode.
        times: the recorded costs of the files that are run.
        turn: see `Selection`.
        budget: the seconds that all together should take at most; what is cheap runs in any case.
    """
    selection = Selection(mode, times, turn)
    if mode is not Mode.GATE:
        return selection
    left = budget - sum(selection.seconds(path) for path in times)
    rest = [
        (f"{path}::{name}", cost)
        for path, functions in sorted(times.items())
        for name, cost in sorted(functions.items())
        if not selection.chosen(path, name, range(cost.items))
    ]
    chance = random.Random(turn)  # noqa: S311 - a share, not a secret
    rest.sort(key=lambda each: chance.random() * each[1].seconds)
    return selection._replace(rest=frozenset(_fitting(rest, left)))


def _fitting(rest: Sequence[tuple[str, Cost]], left: float) -> list[str]:
    chosen: list[str] = []
    for function, cost in rest:
        if cost.seconds <= left:
            chosen.append(function)
            left -= cost.seconds
    return chosen


def commits() -> int:
    """How many commits lead here; 0 where there is no history."""
    line = ["git", "rev-list", "--count", "HEAD"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=False)
    except OSError:
        return 0
    return int(done.stdout) if done.returncode == 0 else 0
