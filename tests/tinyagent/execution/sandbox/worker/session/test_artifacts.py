from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tinyagent.execution.sandbox.worker.codec.wire import Kind
from tinyagent.execution.sandbox.worker.session import artifacts

Handed = list[tuple[str, str, bytes]]


def deliver(folder: Path | artifacts.WorkingFolder) -> tuple[Handed, list[str]]:
    """What is handed over, and the remarks; of a path, all that there is."""
    handed: Handed = []

    def send(kind: Kind, body: dict[str, Any], blob: bytes) -> None:
        assert kind is Kind.ARTIFACT
        handed.append((body["name"], body["media_type"], blob))

    if isinstance(folder, Path):
        folder = artifacts.WorkingFolder(str(folder))
    remarks = folder.deliver(3, send)
    return handed, remarks


def names(folder: Path) -> list[str]:
    """Of the files that are handed over."""
    return [name for name, _, _ in deliver(folder)[0]]


def test_files_are_found_below_the_folder(tmp_path: Path) -> None:
    (tmp_path / "sub/deeper").mkdir(parents=True)
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "sub/deeper/b").write_text("bc")
    handed, _ = deliver(tmp_path)
    assert {name: data for name, _, data in handed} == {"a.txt": b"a", "sub/deeper/b": b"bc"}


def test_what_is_not_a_regular_file_or_hidden_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "folder").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".hidden").write_text("x")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache/file").write_text("x")
    assert deliver(tmp_path) == ([], [])


def test_a_folder_that_is_not_there_or_nested_too_deep_is_empty(tmp_path: Path) -> None:
    assert deliver(tmp_path / "nothing") == ([], [])
    where = os.open(tmp_path, os.O_RDONLY)
    try:
        for _ in range(1100):
            os.mkdir("d", dir_fd=where)
            inner = os.open("d", os.O_RDONLY, dir_fd=where)
            os.close(where)
            where = inner
        assert deliver(tmp_path) == ([], [])
    finally:
        os.close(where)
        remove_deep(tmp_path / "d")


def remove_deep(folder: Path) -> None:
    """Remove nested folders `d`, which shutil cannot: step by step, from the outside."""
    while folder.exists():
        inner = folder / "d"
        if inner.exists():
            inner.rename(folder.parent / "next")
            folder.rmdir()
            (folder.parent / "next").rename(folder)
        else:
            folder.rmdir()


def test_only_so_many_files_are_looked_at(tmp_path: Path) -> None:
    for number in range(artifacts.MAX_FILES + 20):
        (tmp_path / f"{number:03}").touch()
    assert len(names(tmp_path)) == artifacts.MAX_FILES


def test_what_is_new_or_changed_is_handed_over(tmp_path: Path) -> None:
    for name in ("same", "changed", "touched"):
        (tmp_path / name).write_text("x")
    folder = artifacts.WorkingFolder(str(tmp_path))
    folder.know_all()
    (tmp_path / "changed").write_text("xy")
    os.utime(tmp_path / "touched", ns=(1, 1))
    (tmp_path / "new.csv").write_text("a,b")
    handed, remarks = deliver(folder)
    assert handed == [
        ("changed", "application/octet-stream", b"xy"),
        ("new.csv", "text/csv", b"a,b"),
        ("touched", "application/octet-stream", b"x"),
    ]
    assert remarks == []
    assert deliver(folder) == ([], [])


def test_what_does_not_fit_is_reported(tmp_path: Path) -> None:
    half = artifacts.MAX_BYTES // 2 + 1
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(bytes(half if name < "c" else 1))
    handed, remarks = deliver(tmp_path)
    assert [(name, len(data)) for name, _, data in handed] == [("a", half), ("c", 1)]
    assert remarks == [f"b ({half:,} bytes) is too large to be handed over"]


def test_a_name_that_is_not_a_text_is_made_one(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).touch()
    assert names(tmp_path) == ["\\udcff"]


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads all")
    (tmp_path / "closed").touch(0o000)
    handed, remarks = deliver(tmp_path)
    assert handed == []
    assert "PermissionError" in remarks[0]


def test_open_figures_are_handed_over_and_closed(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.plot([1, 2])
    handed, remarks = deliver(tmp_path)
    assert [item[:2] for item in handed] == [("step-3-figure-1.png", "image/png")]
    assert handed[0][2].startswith(b"\x89PNG")
    assert remarks == []
    assert pyplot.get_fignums() == []


def test_a_figure_that_cannot_be_drawn_is_reported(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.title(r"$\nothing{$")
    (tmp_path / "file").write_text("x")
    handed, remarks = deliver(tmp_path)
    assert "could not be handed over" in remarks[0]
    assert [name for name, _, _ in handed] in ([], ["file"])
    pyplot.close("all")


def test_a_file_that_disappears_during_the_search_is_skipped(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("x")
    files = artifacts._files(str(tmp_path), "")
    assert next(files)[0] == "a"  # the folder is read, b has not been looked at
    (tmp_path / "b").unlink()
    assert [name for name, _ in files] == ["c"]
