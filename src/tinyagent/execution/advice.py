"""What to install or switch on so that more is enforced on this machine."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinyagent.execution.sandbox.engines import ENGINES
from tinyagent.execution.trust import TrustLevel

if TYPE_CHECKING:
    from tinyagent.execution.doctor.examine import Examination

_SYSCTL = Path("/proc/sys")
_LATEST_LANDLOCK = 6
_APPARMOR = "an AppArmor profile with `userns,` for this Python, or for everybody"
_FILTERS = "the system-call filter: a kernel with CONFIG_SECCOMP_FILTER"
_SCOPES = "from Linux 6.12 on, Landlock also holds back signals and abstract sockets"


def advise(examinations: Sequence[Examination], settings: Path = _SYSCTL) -> list[str]:
    """How to get more promises enforced, a line each; empty if all are.

    Args:
        examinations: The doctor's results.
        settings: The kernel's settings, as `/proc/sys`.
    """
    if sys.platform != "linux":
        return ["isolated and sandboxed need Linux: run the program in a Linux container or in WSL"]
    return [
        *_about_filters(),
        *_about_landlock(),
        *_about_namespaces(examinations, settings),
        *_about_engines(examinations),
    ]


def how_to_get(report: Mapping[str, Any], settings: Path = _SYSCTL) -> list[str]:
    """How to get the locks that a template lacks.

    Args:
        report: Of the template.
        settings: As `advise` takes them.
    """
    advice: list[str] = []
    if not report["seccomp"]:
        advice += list(_about_filters()) or [_FILTERS]
    elif report["namespaces"] and not report["forks"]:
        advice.append("forks in steps: Linux 5.5 or later, and no other such filter")
    if not report["namespaces"]:
        advice.append(_namespaces(settings))
    if not report["landlock"]:
        advice += _about_landlock()
    return advice or ["ask for checkpoints"]


def _about_landlock() -> Iterator[str]:
    # It loads on Linux only.
    from tinyagent.execution.sandbox.worker.kernel import landlock  # noqa: PLC0415

    version = landlock.abi()
    if version == 0:
        yield (
            "Landlock: Linux 5.13 or later, with landlock in the kernel's list of security modules "
            "(boot with lsm=landlock,...); in a container, a seccomp profile that allows it"
        )
    elif version < _LATEST_LANDLOCK:
        yield f"Landlock is of version {version}: {_SCOPES}"


def _about_filters() -> Iterator[str]:
    # As above.
    from tinyagent.execution.sandbox.worker.kernel import syscalls  # noqa: PLC0415

    try:
        syscalls.machine()
    except OSError:
        known = " and ".join(syscalls.machines())
        yield (f"the system-call filter: 64-bit Python on {known}; this is {platform.machine()}")


def _about_namespaces(examinations: Sequence[Examination], settings: Path) -> Iterator[str]:
    own = [each for each in examinations if each.trust_level is TrustLevel.ISOLATED]
    if not all(each.enforces("not even the names of host files") for each in own):
        yield _namespaces(settings)


def _namespaces(settings: Path) -> str:
    reasons = {
        "kernel/unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
        "user/max_user_namespaces": ("0", "sysctl user.max_user_namespaces=10000"),
        "kernel/apparmor_restrict_unprivileged_userns": (
            "1",
            f"{_APPARMOR}: sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    }
    changes = [
        change for name, (bad, change) in reasons.items() if _setting(settings / name) == bad
    ]
    inside = "in a container, a seccomp profile that allows unshare, mount and pivot_root"
    return f"user namespaces: {'; '.join(changes) or inside}"


def _about_engines(examinations: Sequence[Examination]) -> Iterator[str]:
    for examination in examinations:
        lacking = ENGINES[examination.engine].missing() if examination.engine else ""
        if lacking and examination.engine != "kernel":
            yield f"{examination.engine}: {lacking}"


def _setting(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:  # this kernel has no such setting
        return ""
