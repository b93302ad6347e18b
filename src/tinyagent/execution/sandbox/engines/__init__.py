"""Engines, which start the template of a sandbox: the preferred one first."""

from __future__ import annotations

from tinyagent.execution.sandbox.engines.base import Engine
from tinyagent.execution.sandbox.engines.bubblewrap import BubblewrapEngine
from tinyagent.execution.sandbox.engines.container import ContainerEngine
from tinyagent.execution.sandbox.engines.kernel import KernelEngine

_ALL: tuple[Engine, ...] = (
    KernelEngine(),
    BubblewrapEngine(),
    # Otherwise no process inside can mount a /proc, and so have namespaces.
    ContainerEngine("podman", ("--security-opt", "unmask=ALL")),
    ContainerEngine("docker"),
)
ENGINES: dict[str, Engine] = {engine.name: engine for engine in _ALL}
"""In the order in which SANDBOXED tries them."""
