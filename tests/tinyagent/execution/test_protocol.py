from __future__ import annotations

from pathlib import Path

import pytest

from tinyagent import ConfigurationError, Sandbox, TrustLevel, get_executor
from tinyagent.core import ArtifactError
from tinyagent.execution.protocol import Artifact, ExecutionResult


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


def test_an_artifact_overwrites_nothing_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"mine")
    (tmp_path / "a-1.png").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "a-2.png").mkdir()
    path = Artifact("a.png", b"data").save(tmp_path)
    assert path == tmp_path / "a-3.png"
    assert path.read_bytes() == b"data"
    assert (tmp_path / "a.png").read_bytes() == b"mine"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("name", ["x" * 1000 + ".csv", "é" * 1000 + ".csv", "x." + "y" * 1000])
def test_an_artifact_with_a_long_name_is_saved_twice(tmp_path: Path, name: str) -> None:
    paths = {Artifact(name, b"data").save(tmp_path) for _ in range(2)}
    assert [path.read_bytes() for path in paths] == [b"data", b"data"]
    if name.endswith(".csv"):
        assert {path.suffix for path in paths} == {".csv"}


def test_an_artifact_that_cannot_be_saved_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ArtifactError, match="artifact 'a' cannot be saved: "):
        Artifact("a", b"").save(tmp_path / "file")


def test_the_folder_of_an_artifact_is_made(tmp_path: Path) -> None:
    assert Artifact("a", b"1").save(tmp_path / "new" / "folder").read_bytes() == b"1"


RESERVED = {
    "final_answer": "is reserved",
    "ﬁnal_answer": "is reserved",
    "__builtins__": "is reserved",
    "for": "cannot be a name",
    "None": "cannot be a name",
    "a b": "cannot be a name",
    "ﬁle": "Python reads it as 'file'",
}


@pytest.mark.parametrize(("name", "reason"), RESERVED.items())
@pytest.mark.parametrize("level", TrustLevel)
def test_reserved_names_are_refused_at_every_level(
    level: TrustLevel, name: str, reason: str
) -> None:
    executor = get_executor(Sandbox(level))
    for value in (1, print):
        with pytest.raises(ConfigurationError, match=reason):
            executor.inject(name, value)


def test_an_empty_result_is_a_step_that_did_nothing() -> None:
    result = ExecutionResult()
    assert (result.output, result.error, result.value) == ("", None, None)
    assert not result.is_final
    assert result.final_metadata == {}
