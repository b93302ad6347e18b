"""The engines that this machine has, each with what it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.podman import offline_podman
from tests.support.rootfs import write_rootfs

from tinyagent.execution.sandbox.engines.container import IMAGE_VARIABLE
from tinyagent.execution.sandbox.templates import close_templates

_IMAGE = "tinyagent-tests"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "podman: needs podman (apt-get install podman runc uidmap)")
    config.addinivalue_line("markers", "docker: needs a running Docker engine")


class Program(NamedTuple):
    """A container engine that has the image, and the variables that it is to be run with."""

    name: str
    environment: dict[str, str]

    def run(self, *arguments: str) -> str:
        """What the command prints; it must go well."""
        done = subprocess.run(
            [self.name, *arguments],
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def containers(self) -> set[str]:
        """The identifiers of all that there are."""
        return set(self.run("ps", "--all", "--quiet", "--no-trunc").split())

    def pid(self, container: str) -> int:
        """Of its first process, on the host."""
        return int(self.run("inspect", "--format", "{{.State.Pid}}", container))


@pytest.fixture(scope="session")
def rootfs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rootfs") / "rootfs.tar"
    write_rootfs(path)
    return path


@pytest.fixture(scope="session")
def podman() -> Generator[Program]:
    """Podman with its own store, as it runs on machines without systemd."""
    if shutil.which("podman") is None:
        pytest.skip("there is no podman: apt-get install podman runc uidmap")
    with offline_podman() as variables:
        yield Program("podman", variables)
        close_templates()


@pytest.fixture(scope="session")
def docker(rootfs: Path) -> Generator[Program]:
    program = Program("docker", {IMAGE_VARIABLE: _IMAGE})
    try:
        program.run("info")
    except (OSError, AssertionError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"no Docker engine answers: {str(error).splitlines()[-1]}")
    program.run("import", str(rootfs), _IMAGE)
    yield program
    close_templates()
    program.run("image", "rm", "--force", _IMAGE)


def _use(program: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    for variable, value in program.environment.items():
        monkeypatch.setenv(variable, value)
    return program


@pytest.fixture(
    params=[
        pytest.param("podman", marks=pytest.mark.podman),
        pytest.param("docker", marks=pytest.mark.docker),
    ]
)
def container_program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Program:
    return _use(request.getfixturevalue(request.param), monkeypatch)


@pytest.fixture(
    params=[
        "kernel",
        "bubblewrap",
        pytest.param("podman", marks=pytest.mark.podman),
        pytest.param("docker", marks=pytest.mark.docker),
    ]
)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of each engine in turn, ready for use."""
    if request.param in {"podman", "docker"}:
        _use(request.getfixturevalue(request.param), monkeypatch)
    return str(request.param)
