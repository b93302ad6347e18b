"""Executor: what runs a model's code, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from tinyagent.core.execution import Artifact, ExecutionResult

__all__ = ["Artifact", "ExecutionResult", "Executor", "Guarantee"]


@dataclass(frozen=True, slots=True)
class Guarantee:
    """One promise, whether it is enforced on this machine, and by what (or what is missing).

    Args:
        promise: what is promised.
        enforced: whether it is kept here.
        by: what keeps it.
        id: its number in docs/security.md, such as `"S1"`.
    """

    promise: str
    enforced: bool
    by: str
    id: str = ""


class Executor(Protocol):
    """Runs code step by step; variables live on from step to step."""

    @property
    def guarantees(self) -> Sequence[Guarantee]:
        """What is enforced here, and by what."""
        ...

    def inject(self, name: str, value: Any) -> None:
        """Make `value` known to the code as `name`, from the next step on.

        A callable is called on the host, sync or async, while the code waits. At the levels with a
        process of their own, anything else crosses as data.

        Raises:
            ConfigurationError: the name is no identifier.
        """
        ...

    async def run(
        self, code: str, *, on_output: Callable[[str], None] | None = None
    ) -> ExecutionResult:
        """Run one step. What the code does wrong is in the result, never raised.

        Args:
            code: Python statements.
            on_output: called with each piece of printed text as it comes.

        Raises:
            SandboxUnavailable: this machine cannot give what the trust level promises.
        """
        ...

    async def reset(self) -> None:
        """Forget all variables; what was injected stays."""
        ...

    def kill(self) -> None:
        """End what runs now, at once, and forget all variables."""
        ...

    async def aclose(self) -> None:
        """End the session and give everything back."""
        ...

    async def __aenter__(self) -> Self:
        """The executor itself."""
        ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        ...
