"""What a sandbox promises here, told from what its template reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tinyagent.execution.protocol import Guarantee


def describe_guarantees(
    engine: str, report: Mapping[str, Any], checkpoints: int
) -> tuple[Guarantee, ...]:
    """Each promise, whether it is kept on this machine, and by what."""
    apart, landlock = report["namespaces"], report["landlock"]
    outside = "" if engine == "kernel" else engine
    unseen = "a root of its own, read-only" if apart else outside
    nothing = "nothing here"

    def by(*locks: str) -> str:
        return ", ".join(lock for lock in locks if lock) or nothing

    files = by(unseen, f"Landlock ABI {landlock}" if landlock else "")
    filters = "system-call filter" if report["seccomp"] else ""
    network = by("network namespace" if apart else outside, filters)
    rows = (
        ("no host file but Python's", files),
        ("not even the names of host files", by(unseen)),
        ("nothing written outside the working folder", files),
        ("no network", network),
        ("no other program is started", by(filters)),
        ("no other process is seen", by("process namespace" if apart else outside)),
        ("no other process is signalled", by("process namespace" if apart else outside, filters)),
        (
            "no privileges, no other kernel interfaces",
            by("capabilities dropped", filters) if filters else nothing,
        ),
        ("none of the host's environment", "started with its own"),
        ("time limit", "killed by the host"),
        ("memory limit", by("RLIMIT_DATA", "watched over all processes" if checkpoints else "")),
        ("process limit", "RLIMIT_NPROC in a user namespace" if apart else nothing),
        ("limit of each file", "RLIMIT_FSIZE"),
        ("limit of all files", "a folder in memory of that size" if apart else nothing),
        (
            "sessions are hidden from each other",
            by("mount and process namespaces" if apart else "", "Landlock" if landlock else ""),
        ),
        (
            "a step that fails loses only itself",
            f"each step in a fork, {checkpoints} states kept" if checkpoints else nothing,
        ),
        ("ends with its host", "process namespace" if apart else "parent-death signal"),
    )
    return tuple(Guarantee(promise, how != nothing, how) for promise, how in rows)
