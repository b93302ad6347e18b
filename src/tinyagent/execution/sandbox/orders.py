"""The order that a session gets for each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tinyagent.execution.sandbox.worker.codec.wire import Frame, Kind, pack


@dataclass(frozen=True, slots=True)
class StepOrder:
    """A step: its number, its code, and the tools and data it gets.

    Args:
        tools: Names of functions that are called on the host.
        values: Names of data, as encoded; their binary parts are in `blob`.
        brings: The injected data that the variables hold once the step has run.
        token: The last frame must repeat it; a frame that the code itself sends does not.
        task: "dump" or "load" in place of code.
        snapshot: What "load" reads, as encoded; its bytes are in `blob`.
    """

    step: int
    code: str
    tools: tuple[str, ...]
    values: dict[str, Any]
    blob: bytes
    brings: frozenset[tuple[str, int]]
    token: str
    task: str = ""
    snapshot: Any = None

    @property
    def changes_state(self) -> bool:
        """Whether the variables are different afterwards."""
        return self.task != "dump"

    def packed(self, *, fork: bool, seed: bool = False) -> bytes:
        """The frame that the session gets; `seed` makes random numbers differ from its parent's.

        Raises:
            WireError: It is too large.
        """
        body = {
            "step": self.step,
            "code": self.code,
            "tools": self.tools,
            "values": self.values,
            "fork": fork,
            "seed": seed,
            "token": self.token,
        }
        if self.task:
            body |= {"task": self.task, "snapshot": self.snapshot}
        return pack(Frame(Kind.RUN, body, self.blob))
