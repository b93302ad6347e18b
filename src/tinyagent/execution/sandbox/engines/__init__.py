"""Engines, which start the template of a sandbox: the preferred one first."""

from __future__ import annotations

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.limits import TrustLevel
from tinyagent.execution.sandbox.engines.base import Engine
from tinyagent.execution.sandbox.engines.bubblewrap import BubblewrapEngine
from tinyagent.execution.sandbox.engines.container import ContainerEngine
from tinyagent.execution.sandbox.engines.kernel import KernelEngine, PlainEngine

_ALL: tuple[Engine, ...] = (
    KernelEngine(),
    BubblewrapEngine(),
    # Otherwise no process inside can mount a /proc, and so have namespaces.
    ContainerEngine("podman", ("--security-opt", "unmask=ALL")),
    ContainerEngine("docker"),
)
ENGINES: dict[str, Engine] = {engine.name: engine for engine in _ALL}
"""In the order in which SANDBOXED tries them."""


def engines_for(trust_level: TrustLevel, name: str | None) -> tuple[Engine, ...]:
    """The engines to try.

    Raises:
        ConfigurationError: no engine has this name.
    """
    if trust_level is TrustLevel.LOCAL:
        return (PlainEngine(),)
    if name is not None:
        if name not in ENGINES:
            raise ConfigurationError(f"engine {name!r} is none of {', '.join(ENGINES)}")
        return (ENGINES[name],)
    if trust_level is TrustLevel.ISOLATED:
        return (KernelEngine(),)
    return tuple(ENGINES.values())
