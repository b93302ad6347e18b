"""What starts the sessions of an executor: the template, the order, the files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinyagent.core.errors import SandboxUnavailable
from tinyagent.core.threads import run_in_thread
from tinyagent.execution.definition import Sandbox
from tinyagent.execution.packages.wanted import WantedPackages
from tinyagent.execution.sandbox.channel import Channel
from tinyagent.execution.sandbox.demands import Demands
from tinyagent.execution.sandbox.engines.base import Engine
from tinyagent.execution.sandbox.engines.kernel import KernelEngine
from tinyagent.execution.sandbox.files import send_files
from tinyagent.execution.sandbox.first import FirstProcess
from tinyagent.execution.sandbox.host_folders import HostFolder
from tinyagent.execution.sandbox.session import SandboxSession
from tinyagent.execution.sandbox.templates import (
    Spec,
    TemplateHandle,
    modules_for,
    running_template,
    template_for,
)
from tinyagent.execution.trust import ExecutionLimits

if TYPE_CHECKING:
    from tinyagent.execution.network.session import SessionNetwork
    from tinyagent.execution.packages.store import PackageSet
    from tinyagent.execution.workspace.session import SessionWorkspace


@dataclass(slots=True)
class SessionStarter:
    """Starts sessions, all of one kind.

    Args:
        sandbox: What the code may use.
        demands: What a template must enforce.
        engines: To try, in this order.
        limits: Of the code.
        wanted: Packages of its own.
        workspace: A folder that the code sees a copy of.
        network: What the code may reach.
    """

    sandbox: Sandbox
    demands: Demands
    engines: Sequence[Engine]
    limits: ExecutionLimits
    wanted: WantedPackages | None
    workspace: SessionWorkspace | None
    network: SessionNetwork | None

    @property
    def packages(self) -> PackageSet | None:
        """The packages of its own, with their lock, fetched if needed; None if it has none.

        Raises:
            ConfigurationError: A package is refused.
        """
        return None if self.wanted is None else self.wanted.prepare()

    async def open(self, code: str, note: Callable[[SandboxSession], None]) -> SandboxSession:
        """A session of a template that has loaded the modules that the code starts with.

        Args:
            code: Of its first step.
            note: Called with the session before it has its files.

        Raises:
            SandboxUnavailable: This machine cannot keep what the trust level promises.
        """
        preload = modules_for(self.sandbox.imports, code, packages=self.wanted is not None)
        if self.network is not None:
            preload = self.network.preload(preload)
        template = self._running(preload)
        if template is None:
            template = await run_in_thread(self.start, preload=preload)
        files = tuple(map(Path, self.sandbox.files))
        room = self.limits.max_file_bytes + sum(path.stat().st_size for path in files)
        checkpoints = self.demands.checkpoints_of(template)
        modules = frozenset[str]() if self.wanted is None else self.wanted.prepare().modules
        order = {
            "limits": {
                "cpu_seconds": math.ceil(self.limits.timeout_seconds * (os.cpu_count() or 1)) + 2,
                "max_output_bytes": self.limits.max_output_bytes,
                "max_memory_bytes": self.limits.max_memory_bytes,
                "max_processes": self.limits.max_processes,
                "max_file_bytes": room,
                "checkpoints": checkpoints,
            },
            "imports": sorted(self.sandbox.allowed_imports(modules)),
        }
        if self.network is not None:
            self.network.describe(order)

        def start(order: dict[str, Any], folders: Sequence[HostFolder] = ()) -> SandboxSession:
            number, sock = template.spawn(order, folders)
            first = FirstProcess(template, number, Channel(sock))
            session = SandboxSession(first, self.limits, checkpoints)
            note(session)
            if self.network is not None:
                session.first.channel.take_descriptors(self.network.take)
            return session

        if self.workspace is not None:
            return await self.workspace.start(order, start, layered=self._layers(template))
        session = start(order)
        await send_files(session, files)
        return session

    def _layers(self, template: TemplateHandle) -> bool:
        """Whether sessions of this template can have a workspace without a copy of it."""
        is_own = template.spec.engine == KernelEngine()
        has_warden = self.demands.checkpoints_of(template) > 0
        return is_own and has_warden and bool(template.report["namespaces"])

    def _running(self, preload: tuple[str, ...]) -> TemplateHandle | None:
        """The template that `_start` would return, if it runs already."""
        if self.wanted is not None and self.wanted.prepared is None:
            return None
        template = running_template(self._spec(self.engines[0], preload))
        if template is None or self.demands.lacking(template):
            return None
        return template

    def _spec(self, engine: Engine, preload: tuple[str, ...]) -> Spec:
        keeper = self.workspace is not None and os.geteuid() != 0  # root makes mounts itself
        packages = self.packages
        folder = "" if packages is None else str(packages.folder)
        network = self.network is not None
        return Spec(engine, preload, keeper=keeper, packages=folder, network=network)

    def start(self, preload: tuple[str, ...]) -> TemplateHandle:
        """The template of the first engine that can keep what the trust level promises."""
        reasons: list[str] = []
        for engine in self.engines:
            reason = engine.missing()
            if not reason:
                try:
                    template = template_for(self._spec(engine, preload))
                except SandboxUnavailable as error:
                    reason = str(error)
                else:
                    reason = self.demands.lacking(template)
                    if not reason:
                        return template
            reasons.append(f"{engine.name}: {reason}")
        raise SandboxUnavailable(
            f"nothing here can run code at {self.demands.trust_level}: " + "; ".join(reasons)
        )
