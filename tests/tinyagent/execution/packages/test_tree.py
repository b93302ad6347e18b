from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.support.wheels import line_of, make_wheel

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.packages.lockfile import LockedPackage, PackageLock
from tinyagent.execution.packages.tree import check_tree

CODE = "A = 1\n"
LOCK = PackageLock((LockedPackage("thing", "1.0", ("0" * 64,)),))


def unpacked(folder: Path, name: str = "thing", **options: Any) -> Path:
    """A wheel unpacked as an installer would that changes no record."""
    target = folder / "tree"
    options.setdefault("files", {"thing.py": CODE})
    with zipfile.ZipFile(make_wheel(folder, name, **options)) as archive:
        archive.extractall(target)
    return target


def test_a_tree_that_is_as_recorded_is_accepted(tmp_path: Path) -> None:
    files = {"thing/__init__.py": CODE, "_thing.abi3.so": b"x", "thing.libs/a.so": b"y"}
    assert check_tree(unpacked(tmp_path, files=files), LOCK) == {"thing", "_thing"}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([line_of("gone.py", b"")], "gone.py is in the record of thing-1.0.dist-info, but not"),
        ([line_of("thing.py", b"other")], "thing.py is in the record of thing-1.0.dist-info twice"),
        ([line_of("../outside.py", b"")], "has the line '../outside.py"),
        ([line_of("/etc/passwd", b"")], "has the line '/etc/passwd"),
        ([line_of("a/./b.py", b"")], "has the line 'a/./b.py"),
        ([line_of("a\\b.py", b"")], "has the line 'a"),
        (["thing.py"], "has the line 'thing.py'"),
        (["more.py,md5=abc,1"], "more.py has no strong hash"),
    ],
)
def test_a_record_that_is_wrong_is_refused(tmp_path: Path, lines: list[str], words: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        check_tree(unpacked(tmp_path, lines=lines), LOCK)
    assert words in str(error.value)


@pytest.mark.parametrize(
    "kind", ["unlisted", "link", "pipe", "changed", "no record", "no metadata"]
)
def test_files_that_are_not_as_recorded_are_refused(tmp_path: Path, kind: str) -> None:
    tree = unpacked(tmp_path)
    info = tree / "thing-1.0.dist-info"
    if kind == "unlisted":
        (tree / "more.py").write_text(CODE)
    elif kind == "link":
        (tree / "more.py").symlink_to("thing.py")
    elif kind == "pipe":
        os.mkfifo(tree / "more.py")
    elif kind == "changed":
        (tree / "thing.py").write_text("A = 2\n")
    else:
        (info / kind.removeprefix("no ").upper()).unlink()
    with pytest.raises(ConfigurationError, match="nothing of this set is used"):
        check_tree(tree, LOCK)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "other"}, "other 1.0 is not in the lock"),
        ({"version": "2.0"}, "thing 2.0 is not in the lock"),
    ],
)
def test_a_package_that_is_not_in_the_lock_is_refused(
    tmp_path: Path, options: dict[str, str], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        check_tree(unpacked(tmp_path, **options), LOCK)


def test_a_package_that_was_not_unpacked_is_named(tmp_path: Path) -> None:
    lock = PackageLock((*LOCK.packages, LockedPackage("more", "3.1", ())))
    with pytest.raises(ConfigurationError, match=r"more 3.1 was not unpacked"):
        check_tree(unpacked(tmp_path), lock)


def test_all_may_read_the_tree_and_no_file_changes_its_user(tmp_path: Path) -> None:
    tree = unpacked(tmp_path)
    (tree / "thing.py").chmod(0o4711)
    tree.chmod(0o700)
    check_tree(tree, LOCK)
    assert [(tree / "thing.py").stat().st_mode & 0o7777, tree.stat().st_mode & 0o777] == [
        0o644,
        0o755,
    ]
