"""What the host's /proc says of processes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def _parents() -> dict[int, int]:
    """Each living process and its parent; zombies have ended.

    A process that the sandbox's template has forked ahead is left out: it is nobody's yet.
    """
    found: dict[int, int] = {}
    templates: set[int] = set()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with suppress(OSError):  # it ended meanwhile
            head, _, tail = (folder / "stat").read_bytes().rpartition(b")")
            fields = tail.split()
            if fields[0] not in {b"Z", b"X"}:
                found[int(folder.name)] = int(fields[1])
            if head.endswith(b"(template"):  # and what it forks is called so until it has an order
                templates.add(int(folder.name))
    return {pid: parent for pid, parent in found.items() if not {pid, parent} <= templates}


def descendants(pid: int) -> set[int]:
    """All living processes that stem from this one, as far as their parents live."""
    parents = _parents()
    found: set[int] = set()
    new = {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


def is_running(pid: int) -> bool:
    """Whether it lives and is not a zombie."""
    return pid in _parents()


def uncollected(parent: int) -> set[int]:
    """The children of a process that have ended and that it has not collected."""
    zombies: set[int] = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it ended meanwhile
                state, child_of = (folder / "stat").read_bytes().rpartition(b")")[2].split()[:2]
                if state == b"Z" and int(child_of) == parent:
                    zombies.add(int(folder.name))
    return zombies
