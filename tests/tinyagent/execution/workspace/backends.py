"""Executors with a workspace, one for each way in which code gets its view."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.execution import within

from tinyagent import Sandbox
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.execution.workspace.workspace import Workspace

BACKENDS = ("overlay", "copy", "local")
EACH = pytest.mark.parametrize("backend", BACKENDS)


def executor_of(backend: str, folder: Path | Workspace) -> ProcessExecutor:
    """An executor whose code works on the folder."""
    level = "local" if backend == "local" else "isolated"
    extra = [
        "ctypes",
        "fcntl",
        "os",
        "shutil",
        "pathlib",
        "sqlite3",
        "mmap",
        "socket",
        "stat",
        "threading",
    ]
    executor = ProcessExecutor(Sandbox(level, workspace=folder, limits=within(), imports=extra))
    assert executor._workspace is not None
    executor._workspace.uses_layers = backend == "overlay"
    return executor


def check_backend(backend: str, executor: ProcessExecutor) -> None:
    """Check that the code had this kind of view."""
    assert executor._workspace is not None
    assert executor._workspace.uses_layers == (backend == "overlay")
