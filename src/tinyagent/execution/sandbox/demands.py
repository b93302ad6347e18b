"""The options of an executor, what they demand of a template, and whether one can give it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.advice import how_to_get
from tinyagent.execution.protocol import Guarantee
from tinyagent.execution.sandbox.templates import TemplateHandle
from tinyagent.execution.trust import (
    ExecutionLimits,
    TrustLevel,
    describe_guarantees,
    describe_local,
    describe_network,
    lacking,
)

if TYPE_CHECKING:
    from tinyagent.execution.network.rules import Allow
    from tinyagent.execution.network.secrets import ApiKey, Bearer
    from tinyagent.execution.network.session import SessionNetwork
    from tinyagent.execution.workspace.session import SessionWorkspace
    from tinyagent.execution.workspace.workspace import Workspace


class ProcessOptions(TypedDict, total=False):
    """The options of `ProcessExecutor`, besides its trust level."""

    limits: ExecutionLimits
    extra_imports: str | Iterable[str]
    files: Iterable[str | Path]
    checkpoints: int
    engine: str | None
    without: Iterable[str]
    require: Iterable[str]
    workspace: str | Path | Workspace | None
    packages: Iterable[str]
    lock: str | Path | None
    network: Iterable[str | Allow]
    secrets: Mapping[str, Bearer | ApiKey]


@dataclass(frozen=True, slots=True)
class Demands:
    """What an executor demands.

    Args:
        trust_level: how far the code is trusted.
        needed: the ids of the promises that must be enforced.
        checkpoints: how many earlier states it wants to keep.
    """

    trust_level: TrustLevel
    needed: frozenset[str]
    checkpoints: int

    def lacking(self, template: TemplateHandle) -> str:
        """Why the template cannot run this code, and how to change that; "" if it can."""
        if self.trust_level is TrustLevel.LOCAL:
            return ""
        engine, report = template.spec.engine.name, template.report
        if template.spec.network and not report["namespaces"]:
            return f"a network needs namespaces; to get it: {'; '.join(how_to_get(report))}"
        reason = lacking(self.described(template), self.needed)
        one_lock = not report["landlock"] and engine == "kernel"
        if not reason and one_lock and self.trust_level is TrustLevel.SANDBOXED:
            reason = "this kernel has no Landlock; use another engine"
        if not reason and not (report["namespaces"] or report["landlock"] or report["user"]):
            return (
                "code of root runs as nobody here, who may not read Python's files: install Python"
                " where all users may read it, or start as an ordinary user"
            )
        return f"{reason}; to get it: {'; '.join(how_to_get(report))}" if reason else ""

    def described(self, template: TemplateHandle) -> Sequence[Guarantee]:
        """Each promise, and whether this template keeps it."""
        checkpoints = self.checkpoints_of(template)
        if self.trust_level is TrustLevel.LOCAL:
            return describe_local(checkpoints)
        rows: Sequence[Guarantee]
        rows = describe_guarantees(template.spec.engine.name, template.report, checkpoints)
        if not template.spec.network:
            return rows
        name = "no network but the listed hosts"
        rows = [replace(row, promise=name) if row.id == "S4" else row for row in rows]
        return [*rows, *describe_network()]

    def checkpoints_of(self, template: TemplateHandle) -> int:
        """How many earlier states a session of this template can keep.

        Behind locks, steps in forks need a process namespace, or nothing could end what they start.
        They also need the kernel to ask before each fork, or nothing would limit their memory.
        """
        report = template.report
        are_bounded = report["namespaces"] and report["forks"]
        return self.checkpoints if are_bounded or self.trust_level is TrustLevel.LOCAL else 0


_OF_LOCKS = ("engine", "without", "require", "packages", "lock", "network", "secrets")


def read_level(name: TrustLevel | str) -> TrustLevel:
    """The trust level of this name.

    Raises:
        ConfigurationError: there is none.
    """
    try:
        return TrustLevel(name)
    except ValueError:
        levels = ", ".join(TrustLevel)
        raise ConfigurationError(f"trust level {name!r} is none of {levels}") from None


def refuse_without_locks(level: TrustLevel, options: Mapping[str, Any]) -> None:
    """Refuse the options of an executor that need locks, at a level that has none.

    Raises:
        ConfigurationError: such an option is given.
    """
    for name in _OF_LOCKS if level is TrustLevel.LOCAL else ():
        if options.get(name):
            raise ConfigurationError(
                f"trust level 'local' has no locks, so it has no option {name}"
            )


def workspace_of(
    folder: str | Path | Workspace | None, *, has_files: bool
) -> SessionWorkspace | None:
    """The workspace of an executor; None if it has none.

    Raises:
        ConfigurationError: there is no such folder, or files are given as well.
    """
    if folder is None:
        return None
    if has_files:
        raise ConfigurationError(
            "files and workspace are both given: put the files into the folder"
        )
    # Executors without a workspace do not need these.
    from tinyagent.execution.workspace.session import SessionWorkspace  # noqa: PLC0415
    from tinyagent.execution.workspace.workspace import Workspace  # noqa: PLC0415

    return SessionWorkspace(folder if isinstance(folder, Workspace) else Workspace(folder))


def network_of(options: Mapping[str, Any], max_bytes: int) -> SessionNetwork | None:
    """The network of an executor; None if it has none.

    Args:
        options: of the executor.
        max_bytes: that a step may send and receive.

    Raises:
        ConfigurationError: an item of the list or a secret cannot be used.
    """
    items, secrets = options.get("network"), options.get("secrets")
    if not items:
        if secrets:
            raise ConfigurationError("secrets are for hosts of `network`, which lists none")
        return None
    # Executors without a network need neither HTTP nor certificates.
    from tinyagent.execution.network.access import NetworkAccess  # noqa: PLC0415
    from tinyagent.execution.network.session import SessionNetwork  # noqa: PLC0415

    return SessionNetwork(NetworkAccess(items, secrets or {}, max_bytes))
