"""Executor: runs a model's code, and returns its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from tinyagent.core.execution import Artifact, ExecutionResult, NetworkRequest

if TYPE_CHECKING:
    from tinyagent.execution.definition import Sandbox

__all__ = ["Artifact", "ExecutionResult", "Executor", "Guarantee"]

OnOutput = Callable[[str], None] | None
"""Called with each piece of text that code prints, as it prints it."""
OnRequest = Callable[[NetworkRequest], None] | None
"""Called with each network request of code, once it has ended."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A promise, whether it is enforced on this machine, and by what (or what is missing).

    Args:
        promise: What is promised.
        enforced: Whether it holds on this machine.
        by: What enforces it.
        id: Its number in docs/security.md, such as `"S1"`.
    """

    promise: str
    enforced: bool
    by: str
    id: str = ""


class Executor(Protocol):
    """Runs code step by step; variables live on from step to step."""

    @property
    def sandbox(self) -> Sandbox | None:
        """What the code may use, as the prompt of an agent says it; None says nothing."""
        ...

    @property
    def guarantees(self) -> Sequence[Guarantee]:
        """What is enforced here, and by what."""
        ...

    def inject(self, name: str, value: Any) -> None:
        """Make `value` available to the code as `name`, from the next step on.

        A callable, sync or async, is called on the host while the code waits. Any other value
        crosses as data.

        Raises:
            ConfigurationError: The name is not an identifier, or is reserved, such as
                `final_answer` and `__x`.
        """
        ...

    async def run(
        self, code: str, *, on_output: OnOutput = None, on_request: OnRequest = None
    ) -> ExecutionResult:
        """Run one step. An error of the code is in the result, never raised.

        Args:
            code: Python statements.
            on_output: Called with each piece of printed text as it comes.
            on_request: Called with each network request of the code once it has ended.

        Raises:
            SandboxUnavailable: This machine cannot keep what the trust level promises.
        """
        ...

    async def reset(self) -> None:
        """Forget all variables; injected values and tools stay."""
        ...

    def kill(self) -> None:
        """End the running step at once, and forget all variables."""
        ...

    async def aclose(self) -> None:
        """End the session and release everything."""
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


@runtime_checkable
class Forkable(Protocol):
    """An executor that can be copied with its variables and files."""

    async def fork(self, n: int) -> tuple[Executor, ...]:
        """Make `n` executors that continue from here."""
        ...
