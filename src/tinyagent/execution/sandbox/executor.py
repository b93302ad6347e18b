"""ProcessExecutor: runs code in a separate process, at each trust level."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tinyagent.core.errors import CallerError, ConfigurationError
from tinyagent.core.threads import run_in_thread
from tinyagent.execution.definition import Sandbox
from tinyagent.execution.protocol import ExecutionResult, Executor, Guarantee, OnOutput, OnRequest
from tinyagent.execution.sandbox.collector import StepCollector
from tinyagent.execution.sandbox.demands import (
    Demands,
    network_of,
    workspace_of,
)
from tinyagent.execution.sandbox.injected import Injected
from tinyagent.execution.sandbox.session import SandboxSession
from tinyagent.execution.sandbox.snapshots import Snapshot, names_of, read_snapshot, write_snapshot
from tinyagent.execution.sandbox.starter import SessionStarter
from tinyagent.execution.sandbox.templates import engines_for
from tinyagent.execution.sandbox.worker.codec.wire import WireError
from tinyagent.execution.trust import ExecutionLimits, TrustLevel
from tinyagent.options import checks_options

if TYPE_CHECKING:
    from tinyagent.core.execution import Change
    from tinyagent.execution.packages.store import PackageSet
    from tinyagent.execution.workspace.session import SessionWorkspace

MAX_CODE = 1_000_000
"""Characters of one step."""
_CHECKPOINTS = 8


@checks_options()
class ProcessExecutor:
    """Runs code in its own session: a process forked from a warm template.

    Time in a tool beyond 2 ms does not count as the code's time; the session is stopped meanwhile.

    Args:
        sandbox: What the code may use, and what it is promised.

    Raises:
        ConfigurationError: A package, a host or a promise of the sandbox cannot be used.
    """

    def __init__(self, sandbox: Sandbox = Sandbox()) -> None:  # noqa: B008 - it is frozen
        self.limits = sandbox.limits or ExecutionLimits()
        self.sandbox = sandbox = sandbox.with_defaults(self.limits, _CHECKPOINTS)
        level, checkpoints = TrustLevel(sandbox.level), sandbox.checkpoints or 0
        self._workspace = workspace_of(sandbox)
        self._starter = SessionStarter(
            sandbox,
            demands=Demands(level, sandbox.needed(), checkpoints),
            engines=engines_for(level, sandbox.engine),
            limits=self.limits,
            wanted=sandbox.wanted,
            workspace=self._workspace,
            network=network_of(sandbox, self.limits.max_network_bytes),
        )
        self._injected = Injected()
        self._session: SandboxSession | None = None
        self._steps = self._kills = 0
        self._is_running = False
        self._finalizer = weakref.finalize(self, _nothing)

    @property
    def guarantees(self) -> Sequence[Guarantee]:
        """What is enforced here, and by what; starts the template if it does not run yet.

        Raises:
            SandboxUnavailable: This machine cannot keep what the trust level promises.
        """
        return self._starter.demands.described(self._starter.start(()))

    @property
    def packages(self) -> PackageSet | None:
        """The packages of its own, with their lock, fetched if needed; None if it has none.

        Raises:
            ConfigurationError: A package is refused.
        """
        return self._starter.packages

    def inject(self, name: str, value: Any) -> None:
        """Make `value` available to the code as `name`, from the next step on.

        A callable, sync or async, is called on the host while the code waits. Any other value
        crosses as data.

        Raises:
            ConfigurationError: The name is not an identifier or is reserved, or the value is too
                large to cross.
        """
        self._injected.add(name, value)

    async def run(
        self, code: str, *, on_output: OnOutput = None, on_request: OnRequest = None
    ) -> ExecutionResult:
        """Run one step. An error of the code is in the result, never raised.

        Raises:
            SandboxUnavailable: This machine cannot keep what the trust level promises.
            CallerError: Another step is running.
        """
        with self._alone():
            return await self._run(code, on_output, on_request)

    async def dump(self, path: str | Path) -> Snapshot:
        """Write the variables of the code to a file, which `load` reads in any session.

        Values, tables and arrays are written as data, functions and classes as their source.
        Files of the code are not in it. What cannot be kept is named in the result.

        Returns:
            The names that are in the file, and why the others are not.

        Raises:
            SandboxUnavailable: This machine cannot keep what the trust level promises.
            ExecutionError: Nothing could be written, such as more than 32 MB.
            CallerError: A step is running.
        """
        with self._alone():
            result = await self._do("dump", b"")
        lock = self._lock_digest
        return await run_in_thread(write_snapshot, result=result, path=path, packages=lock)

    async def load(self, path: str | Path, *, allow_other: bool = False) -> tuple[str, ...]:
        """Start a new session with the variables of a file that `dump` has written.

        The file is as trusted as code: its functions and classes run, in the session only.

        Args:
            path: Of the file.
            allow_other: Whether it may be of another minor version of Python or of other packages.

        Returns:
            The names of the variables.

        Raises:
            SandboxUnavailable: This machine cannot keep what the trust level promises.
            ExecutionError: The file is damaged, or of another Python or other packages; the
                session has no variables if its content is wrong.
            CallerError: A step is running.
        """
        with self._alone():
            lock = None if allow_other else self._lock_digest
            data = await run_in_thread(read_snapshot, path=path, packages=lock)
            self.kill()
            return names_of(await self._do("load", data), path)

    def rewind(self, steps: int = 1) -> None:
        """Go back to the variables as they were `steps` steps ago. Files stay as they are.

        Raises:
            CallerError: That many earlier states are not kept, or a step is running.
        """
        session = self._session
        count = session.kept if session is not None and session.is_open else 0
        if self._is_running or not 0 < steps <= count:
            raise CallerError(
                f"cannot rewind {steps} steps: {count} are kept, and no step may be running"
            )
        if session is not None:
            session.rewind(steps)

    async def reset(self) -> None:
        """Forget all variables and files of the code; injected values and tools stay.

        What the last result has shown of a workspace can be committed until the next step.
        """
        self.kill()

    async def fork(self, n: int) -> tuple[Self, ...]:
        """Make `n` executors that continue from here, each with its own variables and files.

        Their processes share the memory that nobody changes. They and this executor are branches of
        one session: steps take turns, and the limits of memory and files hold for all together.
        Each has other random numbers. This executor continues as before.

        Raises:
            CallerError: A step is running, the code has a file open or has changed its working
                directory, or there is no room for so many.
            ConfigurationError: `n` is less than 1, or this executor cannot have branches: it has a
                workspace, or no checkpoints.
            SandboxUnavailable: This machine cannot keep what the trust level promises.
        """
        if n < 1:
            raise ConfigurationError(f"fork: n must be 1 or more, got {n}")
        if self._workspace is not None:
            raise ConfigurationError("fork: an executor with a workspace has no branches")
        if self._starter.demands.checkpoints == 0:
            raise ConfigurationError("fork: an executor with checkpoints=0 has no branches")
        with self._alone():
            session = await self._opened("")
            async with session.turn():
                known, copies = session.known, [self._injected.copy() for _ in range(n)]
                orders = [each.order(self._steps, "", known) for each in copies]
                branches = await session.fork(orders, self._injected.answer)
        return tuple(map(self._branch, branches, copies))

    async def commit(self, paths: Iterable[str] | None = None) -> tuple[Change, ...]:
        """Write what the code has changed in its workspace to the folder: all of it or nothing.

        What is written is what the last result has shown.

        Args:
            paths: Of the changes to write, or of folders; None writes all that are not withheld.

        Returns:
            What was written.

        Raises:
            CallerError: There is no workspace, no code has run in it, or a step is running.
            ConfigurationError: No change has such a path, or a commit never writes it.
            WorkspaceConflict: The folder has changed there meanwhile; nothing is written.
        """
        return await self._idle_workspace().commit(paths)

    async def discard(self) -> None:
        """Forget what the code has changed in its workspace, and its variables; as `reset`.

        Raises:
            CallerError: There is no workspace, or a step is running.
        """
        self._idle_workspace().discard()
        self.kill()

    def _idle_workspace(self) -> SessionWorkspace:
        if self._workspace is None or self._is_running:
            raise CallerError("there is no workspace, or a step is running in it")
        return self._workspace

    def kill(self) -> None:
        """End the running step at once, and forget all variables."""
        self._steps = 0
        self._kills += 1
        network, session = self._starter.network, self._session
        if session is not None:
            session.close()
            self._finalizer.detach()
        if network is not None and session is not None and session.first.is_open:
            self._starter.network = network.renewed()  # other branches use this one
        elif network is not None:
            network.close()

    async def aclose(self) -> None:
        """End the session and release everything; a later `run` starts a new one."""
        self.kill()
        self._session = None
        if self._workspace is not None:
            self._workspace.discard()

    async def __aenter__(self) -> Self:
        """The executor itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.aclose()

    async def _run(self, code: str, on_output: OnOutput, on_request: OnRequest) -> ExecutionResult:
        most = self.limits.max_steps
        if most is not None and self._steps >= most:
            return ExecutionResult(error=f"all {most} steps of this session are used up")
        if len(code) > MAX_CODE:
            return ExecutionResult(error=f"the code has more than {MAX_CODE:,} characters")
        session = await self._opened(code)
        network = self._starter.network
        self._steps += 1
        try:
            order = self._injected.order(self._steps, code, session.known)
            turn = StepCollector(self.limits, on_output, order.token)
            async with session.turn():
                step = session.run(order, turn, self._injected.answer)
                result = await (step if not network else network.serve(step, on_request))
        except WireError as fault:
            raise ConfigurationError(f"the step is too large to cross: {fault}") from None
        if self._workspace is not None:
            result = await self._workspace.finish(session, result, turn.latest)
        return result

    async def _do(self, task: str, data: bytes) -> ExecutionResult:
        """Let the session write or read a snapshot."""
        session = await self._opened("")
        order = self._injected.task(self._steps, task, data)
        turn = StepCollector(self.limits, None, order.token)
        async with session.turn():
            return await session.run(order, turn, self._injected.answer)

    @contextmanager
    def _alone(self) -> Generator[None]:
        if self._is_running:
            raise CallerError("this executor already runs a step; use one executor for each run")
        self._is_running = True
        try:
            yield
        finally:
            self._is_running = False

    @property
    def _lock_digest(self) -> str:
        packages = self.packages
        return "" if packages is None else packages.lock.digest

    async def _opened(self, code: str) -> SandboxSession:
        """The session, which is started if there is none."""
        session = self._session
        if session is None or not session.is_open:
            self._finalizer.detach()
            kills = self._kills
            session = self._session = await self._starter.open(code, self._close_with_this)
            if kills != self._kills:
                session.close()
        return session

    def _close_with_this(self, session: SandboxSession) -> None:
        self._finalizer = weakref.finalize(self, session.close)

    def _branch(self, session: SandboxSession, injected: Injected) -> Self:
        branch = copy.copy(self)
        vars(branch).update(_starter=copy.copy(self._starter), _injected=injected, _session=session)
        vars(branch)["_finalizer"] = weakref.finalize(branch, session.close)
        return branch


def _nothing() -> None:
    """Do nothing: there is no session to close."""


@checks_options()
def get_executor(sandbox: Sandbox = Sandbox()) -> Executor:  # noqa: B008 - it is frozen
    """The executor of a sandbox.

    Args:
        sandbox: What the code may use, and what it is promised; by default `"isolated"`.

    Raises:
        ConfigurationError: A package, a host or a promise of the sandbox cannot be used.
    """
    return ProcessExecutor(sandbox)
