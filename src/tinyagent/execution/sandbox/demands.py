"""What an executor demands of a template, and whether a template can give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinyagent.execution.advice import how_to_get
from tinyagent.execution.protocol import Guarantee
from tinyagent.execution.sandbox.templates import TemplateHandle
from tinyagent.execution.trust import TrustLevel, describe_guarantees, describe_local, lacking


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
        return describe_guarantees(template.spec.engine.name, template.report, checkpoints)

    def checkpoints_of(self, template: TemplateHandle) -> int:
        """How many earlier states a session of this template can keep.

        Behind locks, steps in forks need a process namespace, or nothing could end what they start.
        They also need the kernel to ask before each fork, or nothing would limit their memory.
        """
        report = template.report
        are_bounded = report["namespaces"] and report["forks"]
        return self.checkpoints if are_bounded or self.trust_level is TrustLevel.LOCAL else 0
