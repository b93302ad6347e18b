from __future__ import annotations

from pathlib import Path

import pytest

from tinyagent.execution.local import LocalExecutor
from tinyagent.execution.protocol import Artifact, ExecutionResult, Executor


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("plot.png", "plot.png"),
        ("../../etc/passwd", "_.._etc_passwd"),
        (".hidden", "hidden"),
        ("a/b c.txt", "a_b_c.txt"),
        ("...", "artifact"),
        ("", "artifact"),
    ],
)
def test_an_artifact_is_saved_inside_the_folder(tmp_path: Path, name: str, saved: str) -> None:
    path = Artifact(name, b"data").save(tmp_path)
    assert path == tmp_path / saved
    assert path.read_bytes() == b"data"


def test_an_empty_result_is_a_step_that_did_nothing() -> None:
    result = ExecutionResult()
    assert (result.output, result.error, result.value) == ("", None, None)
    assert not result.is_final
    assert result.final_metadata == {}


def test_the_local_executor_is_an_executor() -> None:
    executor: Executor = LocalExecutor()
    assert all(promise.by for promise in executor.guarantees)
