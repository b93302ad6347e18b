"""How the files of a run are divided between processes.

Each shard is run by a process of its own, which collects nothing else, and whose memory is given
back when it ends. Files of one folder stay together, since they share fixtures; those that need
the same costly server are one shard, whatever it takes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import PurePosixPath
from typing import NamedTuple

from tests.support.suite.groups import is_in


class Shard(NamedTuple):
    """Files that one process runs.

    Args:
        name: of a server, or the folder of the first file.
        files: paths from the root.
        seconds: how long they are expected to take.
    """

    name: str
    files: tuple[str, ...]
    seconds: float


def group_of(path: str, groups: Mapping[str, Sequence[str]]) -> str:
    """The server whose tests are in a file, else its folder."""
    for name, paths in groups.items():
        if is_in(path, paths):
            return name
    return str(PurePosixPath(path).parent)


def divide(
    files: Iterable[str],
    seconds: Callable[[str], float],
    groups: Mapping[str, Sequence[str]],
    largest: float,
) -> list[Shard]:
    """The shards, longest first.

    Args:
        files: paths from the root.
        seconds: how long a file is expected to take.
        groups: the files or folders that need one costly server, by its name.
        largest: the seconds after which a shard is full, unless it is a group.
    """
    together: dict[str, list[str]] = {}
    for file in sorted(files):
        together.setdefault(group_of(file, groups), []).append(file)
    shards = [_shard(name, together.pop(name), seconds) for name in groups if name in together]
    rest = [file for folder in together.values() for file in folder]
    while rest:
        loads = list(accumulate(map(seconds, rest)))
        count = max(1, bisect_right(loads, largest))
        shards.append(_shard(str(PurePosixPath(rest[0]).parent), rest[:count], seconds))
        rest = rest[count:]
    return sorted(shards, key=lambda shard: -shard.seconds)


def part_of(shards: Sequence[Shard], part: int, parts: int) -> list[Shard]:
    """The shards of one part of several that take the same time; `part` counts from 1."""
    loads = [0.0] * parts
    chosen: list[Shard] = []
    for shard in shards:
        least = loads.index(min(loads))
        loads[least] += shard.seconds
        if least == part - 1:
            chosen.append(shard)
    return chosen


def _shard(name: str, files: Sequence[str], seconds: Callable[[str], float]) -> Shard:
    return Shard(name, tuple(files), sum(map(seconds, files)))
