"""Podman and Docker: what is missing, what starts, what is left of it."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.tinyagent.execution.sandbox.engines.conftest import Program

from tinyagent import Sandbox
from tinyagent.core.errors import SandboxUnavailable
from tinyagent.execution.sandbox.engines import ENGINES, container
from tinyagent.execution.sandbox.engines.base import ENVIRONMENT
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.execution.sandbox.templates import Spec, TemplateHandle
from tinyagent.execution.trust import ExecutionLimits, TrustLevel

VERSION = str(container._VERSION)
FIRST_PROCESS = "print(open('/proc/1/environ').read(), end='')"


@pytest.fixture(autouse=True)
def _looks_again() -> Generator[None]:
    container._check.cache_clear()
    yield
    container._check.cache_clear()


def sandboxed(engine: str) -> ProcessExecutor:
    limits = ExecutionLimits(timeout_seconds=20.0)
    return ProcessExecutor(Sandbox(TrustLevel.SANDBOXED, engine=engine, limits=limits))


def program_file(folder: Path, name: str, script: str) -> None:
    """A program of this name that does as the script says."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("name", ["podman", "docker"])
def test_an_engine_that_does_not_answer_is_missing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    program_file(tmp_path, name, "echo note >&2; echo is the daemon running? >&2; exit 1")
    assert ENGINES[name].missing() == "it does not answer: is the daemon running?"


@pytest.mark.parametrize("name", ["podman", "docker"])
def test_an_engine_that_hangs_is_missing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(container, "_ASK_SECONDS", 0.1)
    program_file(tmp_path, name, "exec sleep 60")
    assert "timed out after 0.1 seconds" in ENGINES[name].missing()


def test_an_image_that_is_missing_is_named(
    container_program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = ENGINES[container_program.name]
    assert engine.missing() == ""
    monkeypatch.setenv(container.IMAGE_VARIABLE, "localhost/none-such")
    message = engine.missing()
    assert f"{container_program.name} pull localhost/none-such" in message
    assert container.IMAGE_VARIABLE in message
    monkeypatch.delenv(container.IMAGE_VARIABLE)
    assert f"pull python:{container._VERSION[0]}.{container._VERSION[1]}-slim" in engine.missing()


def test_an_image_with_another_python_is_refused(
    container_program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = container_program.containers()
    monkeypatch.setattr(container, "_DIAL", container._DIAL.replace(VERSION, "(2, 7)"))
    with pytest.raises(SandboxUnavailable, match="the image has Python"):
        TemplateHandle(Spec(ENGINES[container_program.name], ()))
    assert container_program.containers() == there


def test_a_container_that_never_calls_is_ended(
    container_program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = container_program.containers()
    monkeypatch.setattr(container, "_START_SECONDS", 2.0)
    monkeypatch.setattr(container, "_DIAL", "import time; time.sleep(60)")
    with pytest.raises(SandboxUnavailable, match="does not start"):
        TemplateHandle(Spec(ENGINES[container_program.name], ()))
    assert container_program.containers() == there


def test_nothing_of_it_is_left(
    container_program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    there = container_program.containers()
    without = frozenset({"namespaces"})  # which Docker does not give
    template = TemplateHandle(Spec(ENGINES[container_program.name], (), without))
    assert not list(tmp_path.iterdir())
    assert len(container_program.containers() - there) == 1
    template.close()
    assert container_program.containers() == there


def test_the_first_process_has_no_variables_from_outside(
    container_program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://user:password@proxy")
    there = container_program.containers()
    without = frozenset({"namespaces"})
    template = TemplateHandle(Spec(ENGINES[container_program.name], (), without))
    (own,) = container_program.containers() - there
    held = container_program.run("exec", own, "python3", "-I", "-c", FIRST_PROCESS)
    template.close()
    names = {pair.partition("=")[0] for pair in held.split("\0") if pair}
    assert names == set(ENVIRONMENT)


async def test_a_container_that_is_killed_is_replaced(container_program: Program) -> None:
    async with sandboxed(container_program.name) as executor:
        there = container_program.containers()
        assert (await executor.run("x = 1")).error is None
        own = container_program.containers() - there or there
        await asyncio.to_thread(container_program.run, "kill", *own)
        lost = await executor.run("x")
        assert lost.state_lost
        again = await executor.run("x = 2\nx")
        assert again.value == 2
