"""What is run, and what is refused, on kernels that lack some of the locks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.kernels import (
    FILTERS,
    LANDLOCK,
    LISTENERS,
    NAMESPACES,
    is_root,
    on_a_kernel_without,
)

from tinyagent import Sandbox
from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.sandbox.engines import ENGINES
from tinyagent.execution.sandbox.executor import ProcessExecutor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the kernel's locks")

# Tries each form of executor; `answer` gives the outcome, by the options.
TRY = """
async def work():
    for options in FORMS:
        async with ProcessExecutor(Sandbox(**options)) as executor:
            try:
                result = await executor.run("CODE")
                answer[str(options)] = ["ran", result.error or result.value]
            except SandboxUnavailable as error:
                answer[str(options)] = ["refused", str(error)]
"""
NOT_IN_CONTAINERS = ("S2", "S6", "S11", "S13", "S15", "S22")
ABOUT_FILES = ("S1", "S3", "S14")
CLOSED = any(not folder.stat().st_mode & 0o001 for folder in Path(sys.base_prefix).parents)


def tried(*lacks: str, code: str = "1 + 1", for_nobody: Path | None = None, **options: Any) -> Any:
    """What became of one executor: "ran" and the value, or "refused" and why."""
    program = TRY.replace("FORMS", repr([options])).replace("CODE", code)
    (found,) = on_a_kernel_without(*lacks, code=program, for_nobody=for_nobody).values()
    return found


def test_without_namespaces_isolated_runs_and_sandboxed_names_what_is_missing() -> None:
    assert tried(NAMESPACES) == ["ran", 2]
    verdict, reason = tried(NAMESPACES, level="sandboxed", engine="kernel")
    assert verdict == "refused"
    for promise in NOT_IN_CONTAINERS:
        assert f"{promise} (" in reason
    assert "S1 (" not in reason
    assert "to get it: user namespaces: " in reason
    assert "without=['S2', 'S6', 'S11', 'S13', 'S15', 'S22']" in reason


@pytest.mark.parametrize("level", ["isolated", "sandboxed"])
def test_without_namespaces_a_network_is_refused_with_the_fix(level: str) -> None:
    verdict, reason = tried(NAMESPACES, level=level, network=["localhost"])
    assert verdict == "refused"
    assert "a network needs namespaces; to get it: user namespaces: " in reason


def test_promises_that_are_named_are_done_without() -> None:
    without = [*NOT_IN_CONTAINERS[:-1], "not the name of the host"]
    options: dict[str, Any] = {"level": "sandboxed", "engine": "kernel", "without": without}
    assert tried(NAMESPACES, **options) == ["ran", 2]


def test_a_promise_that_is_required_is_missed_at_isolated_too() -> None:
    verdict, reason = tried(NAMESPACES, require=["s11"])
    assert verdict == "refused"
    assert "S11 (process limit)" in reason
    assert "S2 (" not in reason


@pytest.mark.skipif(bool(ENGINES["bubblewrap"].missing()), reason="needs bubblewrap")
def test_bubblewrap_alone_is_not_all_promises() -> None:
    verdict, reason = tried(NAMESPACES, level="sandboxed", engine="bubblewrap")
    assert verdict == "refused"
    if is_root():  # else bubblewrap itself cannot start
        for promise in ("S11 (process limit)", "S13 (limit of all files)", "S15 (a step"):
            assert promise in reason


def test_where_files_of_the_host_could_be_read_nothing_runs() -> None:
    verdict, reason = tried(NAMESPACES, LANDLOCK)
    assert verdict == "refused"
    for promise in ABOUT_FILES:
        assert f"{promise} (" in reason
    assert "user namespaces: " in reason
    assert "Landlock: Linux 5.13 or later" in reason


def test_whoever_names_the_files_gets_code_that_runs_as_nobody(tmp_path: Path) -> None:
    options: dict[str, Any] = {"without": list(ABOUT_FILES)}
    code = "import os; [os.geteuid(), os.access('/etc/shadow', os.R_OK), os.path.exists('/etc')]"
    if not is_root():
        verdict, value = tried(NAMESPACES, LANDLOCK, code=code, **options)
        assert (verdict, value[0]) != ("ran", 0)
        return
    found = tried(NAMESPACES, LANDLOCK, code=code, for_nobody=tmp_path, **options)
    assert found == ["ran", [65534, False, True]]


@pytest.mark.skipif(not is_root() or not CLOSED, reason="needs a Python that only root reads")
def test_code_of_root_does_not_run_as_root() -> None:
    verdict, reason = tried(NAMESPACES, LANDLOCK, without=list(ABOUT_FILES))
    assert verdict == "refused"
    assert "nobody here, who may not read Python's files" in reason


def test_without_filters_nothing_runs() -> None:
    verdict, reason = tried(FILTERS)
    assert verdict == "refused"
    assert "S5 (" in reason
    assert "S7 (" in reason


def test_where_forks_cannot_be_granted_there_are_none_and_no_states_are_kept() -> None:
    code = "import os; os.fork()"
    verdict, error = tried(LISTENERS, code=code)
    assert verdict == "ran"
    assert "Operation not permitted" in error
    verdict, reason = tried(LISTENERS, level="sandboxed", engine="kernel")
    assert verdict == "refused"
    assert "S15 (a step that fails loses only itself)" in reason
    assert "Linux 5.5" in reason
    assert tried(LISTENERS, level="sandboxed", engine="kernel", checkpoints=0) == ["ran", 2]


def test_without_landlock_the_kernel_alone_is_not_a_whole_boundary() -> None:
    assert tried(LANDLOCK) == ["ran", 2]
    verdict, reason = tried(LANDLOCK, level="sandboxed", engine="kernel")
    assert verdict == "refused"
    assert "no Landlock" in reason


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"without": ["S99"]}, "there is no promise 'S99'; there are: S1 (no host file"),
        ({"require": ["time"]}, "there is no promise 'time'"),
        ({"without": ["S1"], "require": ["no host file but Python's"]}, "S1 is in `without` and"),
    ],
)
def test_a_promise_that_does_not_exist_is_an_error(options: Any, words: str) -> None:
    with pytest.raises(ConfigurationError) as wrong:
        ProcessExecutor(Sandbox(**options))
    assert words in str(wrong.value)
