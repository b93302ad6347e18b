"""What a sandbox demands of a template, whether one can give it, and what else it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tinyagent.execution.advice import how_to_get
from tinyagent.execution.definition import Sandbox
from tinyagent.execution.protocol import Guarantee
from tinyagent.execution.sandbox.templates import TemplateHandle
from tinyagent.execution.trust import (
    TrustLevel,
    describe_guarantees,
    describe_local,
    describe_network,
    lacking,
)

if TYPE_CHECKING:
    from tinyagent.execution.network.session import SessionNetwork
    from tinyagent.execution.workspace.session import SessionWorkspace


@dataclass(frozen=True, slots=True)
class Demands:
    """The demands of an executor on its template.

    Args:
        trust_level: How far the code is trusted.
        needed: The ids of the promises that must be enforced.
        checkpoints: How many earlier states it wants to keep.
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


def workspace_of(sandbox: Sandbox) -> SessionWorkspace | None:
    """The workspace of an executor; None if it has none.

    Raises:
        ConfigurationError: There is no such folder.
    """
    folder = sandbox.workspace
    if folder is None:
        return None
    # Executors without a workspace do not need these.
    from tinyagent.execution.workspace.session import SessionWorkspace  # noqa: PLC0415
    from tinyagent.execution.workspace.workspace import Workspace  # noqa: PLC0415

    return SessionWorkspace(folder if isinstance(folder, Workspace) else Workspace(folder))


def network_of(sandbox: Sandbox, max_bytes: int) -> SessionNetwork | None:
    """The network of an executor; None if it has none.

    Args:
        sandbox: Its hosts and secrets.
        max_bytes: That a step may send and receive.

    Raises:
        ConfigurationError: An item of the list or a secret cannot be used.
    """
    if not sandbox.network:
        return None
    # Executors without a network need neither HTTP nor certificates.
    from tinyagent.execution.network.access import NetworkAccess  # noqa: PLC0415
    from tinyagent.execution.network.session import SessionNetwork  # noqa: PLC0415

    return SessionNetwork(NetworkAccess(sandbox.network, sandbox.secrets, max_bytes))
