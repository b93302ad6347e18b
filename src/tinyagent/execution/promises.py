"""What each trust level promises here, and which promises code needs to run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.limits import TrustLevel
from tinyagent.execution.protocol import Guarantee

PROMISES = {
    "S1": "no host file but Python's",
    "S2": "not even the names of host files",
    "S3": "nothing written outside the working folder",
    "S4": "no network",
    "S5": "no other program is started",
    "S6": "no other process is seen",
    "S7": "no privileges, no other kernel interfaces",
    "S8": "none of the host's environment",
    "S9": "time limit",
    "S10": "memory limit",
    "S11": "process limit",
    "S12": "limit of each file",
    "S13": "limit of all files",
    "S14": "sessions are hidden from each other",
    "S15": "a step that fails loses only itself",
    "S16": "ends with its host",
    "S21": "no other process is signalled",
    "S22": "not the name of the host",
}
"""What a sandbox is promised, by the ids of docs/security.md."""

_LOCAL_PROMISES = {
    "S9": "killed by the host",
    "S17": "cut in the process and again on the host",
    "S18": "checked in the syntax tree and at import; a guard against accidents",
}
_OTHERS = {"S17": "output limit", "S18": "imports from a list"}

# Without these, code can read or change what belongs to the host. The promises that ISOLATED may
# lack (names of files, limits of all processes and files together) are missing in most containers.
_AT_ISOLATED = frozenset({"S1", "S3", "S4", "S5", "S7", "S14", "S21"})
_OF_CHECKPOINTS = "S15"


def promise_ids(names: Iterable[str]) -> frozenset[str]:
    """The ids of promises, which may be named by id or in words.

    Raises:
        ConfigurationError: no promise has this name.
    """
    ids = {promise: key for key, promise in PROMISES.items()}
    chosen: set[str] = set()
    for name in [names] if isinstance(names, str) else names:
        key = name.upper() if name.upper() in PROMISES else ids.get(name)
        if key is None:
            known = ", ".join(f"{key} ({promise})" for key, promise in PROMISES.items())
            raise ConfigurationError(f"there is no promise {name!r}; there are: {known}")
        chosen.add(key)
    return frozenset(chosen)


def needed_promises(
    level: TrustLevel, without: Iterable[str], require: Iterable[str], checkpoints: int
) -> frozenset[str]:
    """The ids of the promises that must be enforced for code to run.

    Args:
        level: decides which promises are needed by default.
        without: promises that may be missing.
        require: promises that are needed in addition.
        checkpoints: how many earlier states the caller wants to keep.

    Raises:
        ConfigurationError: no promise has such a name, or one is in both lists.
    """
    needed = {
        TrustLevel.LOCAL: frozenset[str](),
        TrustLevel.ISOLATED: _AT_ISOLATED,
        TrustLevel.SANDBOXED: frozenset(PROMISES),
    }[level]
    if not checkpoints:
        needed -= {_OF_CHECKPOINTS}
    dropped, required = promise_ids(without), promise_ids(require)
    both = sorted(dropped & required)
    if both:
        raise ConfigurationError(f"{both[0]} is in `without` and in `require`: name it in one")
    return needed - dropped | required


def lacking(guarantees: Sequence[Guarantee], needed: frozenset[str]) -> str:
    """A text that names the promises that are needed and not enforced; "" for none."""
    missing = [each for each in guarantees if each.id in needed and not each.enforced]
    if not missing:
        return ""
    names = ", ".join(f"{each.id} ({each.promise})" for each in missing)
    ids = ", ".join(repr(each.id) for each in missing)
    return f"it cannot keep {names}; to run without them: without=[{ids}]"


def describe_local(checkpoints: int) -> tuple[Guarantee, ...]:
    """What a process without locks promises, and what it does not promise."""
    held = dict(_LOCAL_PROMISES)
    if checkpoints:
        held[_OF_CHECKPOINTS] = _states(checkpoints)
    names = {**PROMISES, **_OTHERS}
    others = {key: "nothing here" for key in PROMISES if key not in held}
    return tuple(
        Guarantee(names[key], enforced=key in held, by=how, id=key)
        for key, how in {**held, **others}.items()
    )


def _states(checkpoints: int) -> str:
    return f"each step in a fork, {checkpoints} states kept"


def describe_guarantees(
    engine: str, report: Mapping[str, Any], checkpoints: int
) -> tuple[Guarantee, ...]:
    """Each promise, whether it holds on this machine, and what enforces it."""
    apart, landlock = report["namespaces"], report["landlock"]
    outside = "" if engine == "kernel" else engine
    unseen = "a separate root, read-only" if apart else outside
    nothing = "nothing here"

    def by(*locks: str) -> str:
        return ", ".join(lock for lock in locks if lock) or nothing

    files = by(unseen, f"Landlock ABI {landlock}" if landlock else "")
    filters = "system-call filter" if report["seccomp"] else ""
    network = by("network namespace" if apart else outside, filters)
    rows = (
        ("S1", files),
        ("S2", by(unseen)),
        ("S3", files),
        ("S4", network),
        ("S5", by(filters)),
        ("S6", by("process namespace" if apart else outside)),
        ("S21", by("process namespace" if apart else outside, filters)),
        (
            "S7",
            by("capabilities dropped", filters) if filters else nothing,
        ),
        ("S8", "a separate environment"),
        ("S9", "killed by the host"),
        ("S10", by("RLIMIT_DATA", "forks granted from one budget" if checkpoints else "")),
        ("S11", "RLIMIT_NPROC in a user namespace" if apart else nothing),
        ("S12", "RLIMIT_FSIZE"),
        ("S13", "a folder in memory of that size" if apart else nothing),
        (
            "S14",
            by("mount and process namespaces" if apart else "", "Landlock" if landlock else ""),
        ),
        (
            "S15",
            _states(checkpoints) if checkpoints else nothing,
        ),
        ("S22", by("a separate host name" if apart else outside)),
        ("S16", "process namespace" if apart else "parent-death signal"),
    )
    return tuple(Guarantee(PROMISES[key], how != nothing, how, key) for key, how in rows)
