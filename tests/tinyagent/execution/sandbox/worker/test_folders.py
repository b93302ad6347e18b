"""Folders of any depth are removed."""

from __future__ import annotations

import os
from pathlib import Path

from tinyagent.execution.sandbox.worker.folders import remove_folder


def _dig(folder: Path, levels: int) -> None:
    folder.mkdir()
    here = os.getcwd()  # noqa: PTH109 - a path this deep is too long to be named
    try:
        os.chdir(folder)
        for _ in range(levels):
            os.mkdir("deeper")  # noqa: PTH102 - as above
            os.chdir("deeper")
        Path("file").write_text("x")
    finally:
        os.chdir(here)


def test_more_levels_than_python_can_go_down(tmp_path: Path) -> None:
    _dig(tmp_path / "deep", 3000)
    remove_folder(str(tmp_path / "deep"))
    assert list(tmp_path.iterdir()) == []


def test_files_links_and_many_folders(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("kept")
    folder = tmp_path / "folder"
    for name in ("a/b/c", "a/d", "e"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text("x")
    (folder / "a" / "link").symlink_to(kept)
    (folder / "to-folder").symlink_to(tmp_path, target_is_directory=True)
    remove_folder(str(folder))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert kept.read_text() == "kept"


def test_a_folder_that_does_not_exist_is_not_a_fault(tmp_path: Path) -> None:
    remove_folder(str(tmp_path / "none"))
