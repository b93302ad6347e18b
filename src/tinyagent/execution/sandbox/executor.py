"""ProcessExecutor: runs code in a separate process, at each trust level."""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from tinyagent.core.errors import CallerError, ConfigurationError, SandboxUnavailable
from tinyagent.core.threads import run_in_thread
from tinyagent.execution.packages.wanted import wanted_packages
from tinyagent.execution.protocol import ExecutionResult, Executor, Guarantee
from tinyagent.execution.sandbox.collector import StepCollector
from tinyagent.execution.sandbox.demands import (
    Demands,
    network_of,
    read_level,
    refuse_without_locks,
    workspace_of,
)
from tinyagent.execution.sandbox.engines.base import Engine
from tinyagent.execution.sandbox.engines.kernel import KernelEngine
from tinyagent.execution.sandbox.files import existing_file, send_file
from tinyagent.execution.sandbox.host_folders import HostFolder
from tinyagent.execution.sandbox.injected import Injected
from tinyagent.execution.sandbox.session import SandboxSession
from tinyagent.execution.sandbox.templates import (
    Spec,
    TemplateHandle,
    engines_for,
    modules_for,
    running_template,
    template_for,
)
from tinyagent.execution.sandbox.worker.codec.wire import WireError
from tinyagent.execution.trust import (
    ExecutionLimits,
    TrustLevel,
    imports_at,
    needed_promises,
)

if TYPE_CHECKING:
    from tinyagent.core.execution import Change
    from tinyagent.execution.network.rules import Allow
    from tinyagent.execution.network.secrets import ApiKey, Bearer
    from tinyagent.execution.packages.store import PackageSet
    from tinyagent.execution.workspace.session import SessionWorkspace
    from tinyagent.execution.workspace.workspace import Workspace

MAX_CODE = 1_000_000
"""Characters of one step."""
_CHECKPOINTS = 8


class ProcessOptions(TypedDict, total=False):
    """The options of `ProcessExecutor`, besides its trust level."""

    limits: ExecutionLimits
    extra_imports: Iterable[str]
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


class ProcessExecutor:
    """Runs code in its own session: a process forked from a warm template.

    Time in a tool beyond 2 ms does not count as the code's time; the session is stopped meanwhile.

    Args:
        trust_level: `TrustLevel.LOCAL` uses no lock; `TrustLevel.ISOLATED` uses each lock that this
            kernel has, and refuses to run where code could reach the host's files; at
            `TrustLevel.SANDBOXED` each promise that is not enforced refuses the run.
        limits: time, memory, processes, files and output that the code may use.
        extra_imports: modules that it may import besides the usual ones; `"*"` allows all, except
            at LOCAL.
        files: copied into its working folder.
        checkpoints: how many earlier states to keep for `rewind`. Each step then runs in a fork,
            and one whose process is lost loses only itself. 0: steps run in the session itself;
            the default with `packages`, because the threads that some keep survive no fork.
        engine: what SANDBOXED uses (`"kernel"`, `"bubblewrap"`, `"podman"`, `"docker"`); by default
            the first of these that is available.
        without: promises that may be missing, by their ids or names as in `guarantees`, such as
            `"S1"`.
        require: promises that must be enforced in addition to those of the trust level.
        workspace: a folder that the code sees a copy of, as its working folder; `commit` writes
            what it has changed there.
        packages: packages of an index that the code may import, such as `"polars>=2"`, in place of
            those installed here: wheels only, fetched once, checked by hashes.
        lock: a requirements file with the versions and hashes of all packages; written if it does
            not exist.
        network: hosts that the code may reach, such as `"api.example.com"`, or `Allow`; not at
            LOCAL, whose code reaches every host.
        secrets: keys that the host adds to requests, by the names of their hosts.

    Raises:
        ConfigurationError: an option is wrong, or a file does not exist.
    """

    def __init__(
        self,
        trust_level: TrustLevel | str = TrustLevel.ISOLATED,
        **options: Unpack[ProcessOptions],
    ) -> None:
        self.trust_level = read_level(trust_level)
        refuse_without_locks(self.trust_level, options)
        self.limits = options.get("limits", ExecutionLimits())
        extra = options.get("extra_imports", ())
        self._extra = (extra,) if isinstance(extra, str) else tuple(extra)
        imports_at(self.trust_level, self._extra)  # refuses "*" at LOCAL
        self._wanted = wanted_packages(options.get("packages", ()), options.get("lock"))
        self._files = [existing_file(path) for path in options.get("files", ())]
        checkpoints = options.get("checkpoints", 0 if self._wanted else _CHECKPOINTS)
        if checkpoints < 0:
            raise ConfigurationError(f"checkpoints must be 0 or more, got {checkpoints}")
        needed = needed_promises(
            self.trust_level, options.get("without", ()), options.get("require", ()), checkpoints
        )
        self._demands = Demands(self.trust_level, needed, checkpoints)
        self._engines = engines_for(self.trust_level, options.get("engine"))
        self._injected = Injected()
        self._session: SandboxSession | None = None
        self._steps = 0
        self._kills = 0
        self._is_running = False
        self._finalizer = weakref.finalize(self, _nothing)
        self._workspace = workspace_of(options.get("workspace"), has_files=bool(self._files))
        self._network = network_of(options, self.limits.max_network_bytes)

    @property
    def guarantees(self) -> Sequence[Guarantee]:
        """What is enforced here, and by what; starts the template if it does not run yet.

        Raises:
            SandboxUnavailable: this machine cannot keep what the trust level promises.
        """
        return self._demands.described(self._start(()))

    @property
    def packages(self) -> PackageSet | None:
        """The packages of its own, with their lock, fetched if needed; None if it has none.

        Raises:
            ConfigurationError: a package is refused.
        """
        return None if self._wanted is None else self._wanted.prepare()

    def inject(self, name: str, value: Any) -> None:
        """Make `value` available to the code as `name`, from the next step on.

        A callable, sync or async, is called on the host while the code waits. Any other value
        crosses as data.

        Raises:
            ConfigurationError: the name is not an identifier or is reserved, or the value is too
                large to cross.
        """
        self._injected.add(name, value)

    async def run(
        self, code: str, *, on_output: Callable[[str], None] | None = None
    ) -> ExecutionResult:
        """Run one step. An error of the code is in the result, never raised.

        Raises:
            SandboxUnavailable: this machine cannot keep what the trust level promises.
            CallerError: another step is running.
        """
        if self._is_running:
            raise CallerError("this executor already runs a step; use one executor for each run")
        self._is_running = True
        try:
            return await self._run(code, on_output)
        finally:
            self._is_running = False

    def rewind(self, steps: int = 1) -> None:
        """Go back to the variables as they were `steps` steps ago. Files stay as they are.

        Raises:
            CallerError: that many earlier states are not kept, or a step is running.
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

    async def commit(self, paths: Iterable[str] | None = None) -> tuple[Change, ...]:
        """Write what the code has changed in its workspace to the folder: all of it or nothing.

        What is written is what the last result has shown.

        Args:
            paths: of the changes to write, or of folders; None writes all that are not withheld.

        Returns:
            What was written.

        Raises:
            CallerError: there is no workspace, no code has run in it, or a step is running.
            ConfigurationError: no change has such a path, or a commit never writes it.
            WorkspaceConflict: the folder has changed there meanwhile; nothing is written.
        """
        return await self._idle_workspace().commit(paths)

    async def discard(self) -> None:
        """Forget what the code has changed in its workspace, and its variables; as `reset`.

        Raises:
            CallerError: there is no workspace, or a step is running.
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
        if self._session is not None:
            self._session.close()
            self._finalizer.detach()
        if self._network is not None:
            self._network.close()

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

    async def _run(self, code: str, on_output: Callable[[str], None] | None) -> ExecutionResult:
        most = self.limits.max_steps
        if most is not None and self._steps >= most:
            return ExecutionResult(error=f"all {most} steps of this session are used up")
        if len(code) > MAX_CODE:
            return ExecutionResult(error=f"the code has more than {MAX_CODE:,} characters")
        session = self._session
        if session is None or not session.is_open:
            self._finalizer.detach()
            kills = self._kills
            session = self._session = await self._open(code)
            if kills != self._kills:
                session.close()
        self._steps += 1
        try:
            order = self._injected.order(self._steps, code, session.known)
            turn = StepCollector(self.limits, on_output, order.token)
            step = session.run(order, turn, self._injected.answer)
            result = await (step if self._network is None else self._network.serve(step))
        except WireError as fault:
            raise ConfigurationError(f"the step is too large to cross: {fault}") from None
        if self._workspace is not None:
            result = await self._workspace.finish(session, result)
        return result

    async def _open(self, code: str) -> SandboxSession:
        """A session of a template that has loaded the modules that the code starts with."""
        preload = modules_for(self._extra, code, packages=self._wanted is not None)
        if self._network is not None:
            preload = self._network.preload(preload)
        template = self._running(preload)
        if template is None:
            template = await run_in_thread(self._start, preload=preload)
        room = self.limits.max_file_bytes + sum(path.stat().st_size for path in self._files)
        checkpoints = self._demands.checkpoints_of(template)
        modules = None if self._wanted is None else self._wanted.prepare().modules
        order = {
            "limits": {
                "cpu_seconds": math.ceil(self.limits.timeout_seconds * (os.cpu_count() or 1)) + 2,
                "max_output_bytes": self.limits.max_output_bytes,
                "max_memory_bytes": self.limits.max_memory_bytes,
                "max_processes": self.limits.max_processes,
                "max_file_bytes": room,
                "checkpoints": checkpoints,
            },
            "imports": sorted(imports_at(self.trust_level, self._extra, modules)),
        }
        if self._network is not None:
            self._network.describe(order)

        def start(order: dict[str, Any], folders: Sequence[HostFolder] = ()) -> SandboxSession:
            number, sock = template.spawn(order, folders)
            session = SandboxSession(template, number, sock, self.limits, checkpoints)
            self._finalizer = weakref.finalize(self, session.close)
            if self._network is not None:
                session.take_descriptors(self._network.take)
            return session

        if self._workspace is not None:
            return await self._workspace.start(order, start, layered=self._layers(template))
        session = start(order)
        try:
            for path in self._files:
                await send_file(session, path)
        except BaseException:
            session.close()
            raise
        return session

    def _layers(self, template: TemplateHandle) -> bool:
        """Whether sessions of this template can have a workspace without a copy of it."""
        is_own = template.spec.engine == KernelEngine()
        has_warden = self._demands.checkpoints_of(template) > 0
        return is_own and has_warden and bool(template.report["namespaces"])

    def _running(self, preload: tuple[str, ...]) -> TemplateHandle | None:
        """The template that `_start` would return, if it runs already."""
        if self._wanted is not None and self._wanted.prepared is None:
            return None
        template = running_template(self._spec(self._engines[0], preload))
        if template is None or self._demands.lacking(template):
            return None
        return template

    def _spec(self, engine: Engine, preload: tuple[str, ...]) -> Spec:
        keeper = self._workspace is not None and os.geteuid() != 0  # root makes mounts itself
        packages = self.packages
        folder = "" if packages is None else str(packages.folder)
        network = self._network is not None
        return Spec(engine, preload, keeper=keeper, packages=folder, network=network)

    def _start(self, preload: tuple[str, ...]) -> TemplateHandle:
        """The template of the first engine that can keep what the trust level promises."""
        reasons: list[str] = []
        for engine in self._engines:
            reason = engine.missing()
            if not reason:
                try:
                    template = template_for(self._spec(engine, preload))
                except SandboxUnavailable as error:
                    reason = str(error)
                else:
                    reason = self._demands.lacking(template)
                    if not reason:
                        return template
            reasons.append(f"{engine.name}: {reason}")
        raise SandboxUnavailable(
            f"nothing here can run code at {self.trust_level}: " + "; ".join(reasons)
        )


def _nothing() -> None:
    """Do nothing: there is no session to close."""


def get_executor(
    trust_level: TrustLevel | str = TrustLevel.ISOLATED, **options: Unpack[ProcessOptions]
) -> Executor:
    """The executor of a trust level.

    Args:
        trust_level: `"local"`, `"isolated"` or `"sandboxed"`.
        options: as `ProcessExecutor` takes them.

    Raises:
        ConfigurationError: no such level, or an option that it does not have.
    """
    return ProcessExecutor(trust_level, **options)
