"""A commit is whole: in every file always, and in the folder after the next use, even if killed."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.trees import Tree, full_state, tree_of, write_tree

from tinyagent.core import ConfigurationError, WorkspaceConflict
from tinyagent.execution.workspace.names import STAGING
from tinyagent.execution.workspace.workspace import OpenWorkspace, Workspace

BEFORE: Tree = {
    "stays": b"as it was",
    "edited": b"old\n" * 2000,
    "removed": b"to be removed",
    "moved": b"to be moved",
    "folder/": None,
    "folder/inner": b"inner",
    "swapped/": None,
    "swapped/deep": b"deep",
}
AFTER: Tree = {
    "stays": b"as it was",
    "edited": b"new\n" * 3000,
    "new/": None,
    "new/moved": b"to be moved",
    "new/empty": b"",
    "swapped": b"now a file",
    "folder/": None,
    "folder/second": b"second",
}
_CALLS = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "open"}


_opened: list[OpenWorkspace] = []


@pytest.fixture(autouse=True)
def close_all() -> Generator[None]:
    yield
    while _opened:
        _opened.pop().close()


def changed(folder: Path, before: Tree = BEFORE, after: Tree = AFTER) -> OpenWorkspace:
    """A workspace in which code has made AFTER of BEFORE."""
    opened = Workspace(folder).open()
    report = opened.new_report(1 << 20)
    for name in before.keys() - after.keys():
        _send(report.take, name.rstrip("/"), "gone", b"")
    for name in sorted(after.keys()):
        content = after[name]
        if content is None:
            if name not in before:
                _send(report.take, name.rstrip("/"), "folder", b"")
        elif before.get(name) != content:
            report.found.pop(name.encode(), None)
            _send(report.take, name, "file", content)
    opened.settle(report)
    _opened.append(opened)
    return opened


def _send(
    take: Callable[[Mapping[str, object], bytes], None], name: str, kind: str, data: bytes
) -> None:
    path = name.encode()
    body = {"name": len(path), "kind": kind, "executable": False, "known": False, "last": True}
    take(body, path + data)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "folder"
    place.mkdir()
    write_tree(place, BEFORE)
    return place


def in_a_fork(work: Callable[[], None]) -> int:
    """The wait status of a child that does the work."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except WorkspaceConflict:
            os._exit(3)
        finally:
            os._exit(4)
    return os.waitpid(child, 0)[1]


def at_call(number: int, act: Callable[[], None]) -> None:
    """Act before the numberth call of this process that changes the folder."""
    left = [number]

    def watch(event: str, _arguments: tuple[Any, ...]) -> None:
        if event in _CALLS:
            left[0] -= 1
            if left[0] == 0:
                act()

    sys.addaudithook(watch)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def is_whole(name: str, content: bytes | None) -> bool:
    known = {BEFORE.get(name), AFTER.get(name)}
    return name.startswith(STAGING.decode()) or content in known


def killed_commit(folder: Path, number: int) -> bool:
    """Whether a commit was killed before its numberth call."""

    def work() -> None:
        opened = changed(folder)
        at_call(number, die)
        opened.commit(None)
        os._exit(0)

    status = in_a_fork(work)
    assert status in {0, signal.SIGKILL}
    return status != 0


def test_a_commit_writes_what_was_shown(folder: Path) -> None:
    opened = changed(folder)
    before = full_state(folder)
    written = opened.commit(None)
    assert tree_of(folder) == AFTER
    assert {(change.kind, change.path, change.old_path) for change in written} == {
        ("changed", "edited", ""),
        ("deleted", "removed", ""),
        ("renamed", "new/moved", "moved"),
        ("added", "new/", ""),
        ("added", "new/empty", ""),
        ("deleted", "folder/inner", ""),
        ("added", "folder/second", ""),
        ("deleted", "swapped/", ""),
        ("deleted", "swapped/deep", ""),
        ("added", "swapped", ""),
    }
    assert full_state(folder)[str(folder / "stays")] == before[str(folder / "stays")]


@pytest.mark.parametrize("number", [1, 8, 12, 16, 20, 24, 28])
def test_a_commit_that_is_killed_is_finished_or_undone_at_the_next_use(
    folder: Path, number: int
) -> None:
    check_kill(folder, number)


def test_a_commit_that_is_killed_anywhere_is_finished_or_undone(tmp_path: Path) -> None:
    outcomes: list[Tree] = []
    for number in range(1, 200):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_tree(folder, BEFORE)
        if not check_kill(folder, number):
            break
        outcomes.append(tree_of(folder))
    else:
        pytest.fail("the commit never ended")
    assert BEFORE in outcomes
    assert AFTER in outcomes


def check_kill(folder: Path, number: int) -> bool:
    was_killed = killed_commit(folder, number)
    assert all(is_whole(name, content) for name, content in tree_of(folder).items())
    Workspace(folder).open().close()
    assert tree_of(folder) in (BEFORE, AFTER)
    return was_killed


def test_a_recovery_that_is_killed_too_is_completed_by_the_next(tmp_path: Path) -> None:
    for first in range(4, 60, 5):
        for second in range(1, 40, 4):
            folder = tmp_path / f"{first}-{second}"
            folder.mkdir()
            write_tree(folder, BEFORE)
            killed_commit(folder, first)

            def work(folder: Path = folder, second: int = second) -> None:
                at_call(second, die)
                Workspace(folder).open()
                os._exit(0)

            in_a_fork(work)
            assert all(is_whole(name, content) for name, content in tree_of(folder).items())
            Workspace(folder).open().close()
            assert tree_of(folder) in (BEFORE, AFTER), (first, second)


@pytest.mark.parametrize("number", [13, 17, 22, 26])
def test_an_edit_in_the_middle_of_a_commit_undoes_it(folder: Path, number: int) -> None:
    check_edit(folder, number, 0)


def test_an_edit_anywhere_in_a_commit_is_never_lost(tmp_path: Path) -> None:
    for number in range(1, 45):
        for kill in (0, 3, 9, 14):
            folder = tmp_path / f"{number}-{kill}"
            folder.mkdir()
            write_tree(folder, BEFORE)
            check_edit(folder, number, kill)


def check_edit(folder: Path, number: int, kill: int) -> None:
    """Somebody replaces a file in the middle of a commit, which may also be killed after that."""
    edit = b"somebody's edit"
    was_made = folder.with_name(f"{folder.name} was edited")

    def act() -> None:
        fresh = folder / "somebody's"
        fresh.write_bytes(edit)
        fresh.rename(folder / ("moved" if (folder / "swapped").is_dir() else "swapped"))
        was_made.touch()
        if kill:
            at_call(kill, die)

    def work() -> None:
        opened = changed(folder)
        at_call(number, act)
        opened.commit(None)
        os._exit(0)

    in_a_fork(work)
    with suppress(WorkspaceConflict):  # what cannot be undone is reported once
        Workspace(folder).open().close()
    Workspace(folder).open().close()
    after = tree_of(folder)
    if was_made.exists():
        assert edit in after.values()
    kept = {data for name, data in after.items() if is_staging_name(name)}
    for name in ("edited", "removed", "folder/inner", "swapped/deep"):
        is_done = name not in AFTER and name not in after
        assert is_done or after.get(name) in (BEFORE[name], AFTER.get(name)) or BEFORE[name] in kept


def is_staging_name(name: str) -> bool:
    return name.startswith(STAGING.decode())


def test_a_part_can_be_committed_and_then_the_rest(folder: Path) -> None:
    opened = changed(folder)
    written = opened.commit(["new/moved", "edited"])
    assert {change.path for change in written} == {"new/", "new/moved", "edited"}
    middle = dict(BEFORE)
    middle |= {"edited": AFTER["edited"], "new/": None, "new/moved": b"to be moved"}
    del middle["moved"]
    assert tree_of(folder) == middle
    opened.commit(None)
    assert tree_of(folder) == AFTER
    assert opened.commit(None) == ()


def test_a_path_without_a_change_is_refused(folder: Path) -> None:
    opened = changed(folder)
    with pytest.raises(ConfigurationError, match="no change of 'stays'"):
        opened.commit(["stays"])
    assert tree_of(folder) == BEFORE


def _edit(folder: Path) -> None:
    (folder / "edited").write_bytes(b"mine")


def _remove(folder: Path) -> None:
    (folder / "removed").unlink()


def _make(folder: Path) -> None:
    (folder / "new").mkdir()


def _link(folder: Path) -> None:
    (folder / "new").symlink_to(folder.parent)


def _add_to_removed(folder: Path) -> None:
    (folder / "swapped" / "more").write_bytes(b"")


def _set_back(folder: Path) -> None:
    """A change that keeps the size and the time of change."""
    status = (folder / "edited").stat()
    (folder / "edited").write_bytes(b"old\n" * 1999 + b"odd\n")
    os.utime(folder / "edited", ns=(status.st_atime_ns, status.st_mtime_ns))


def _set_mode(folder: Path) -> None:
    (folder / "edited").chmod(0o600)


def _add(folder: Path) -> None:
    (folder / "folder" / "second").write_bytes(b"")


OUTSIDE = (_edit, _remove, _make, _link, _add_to_removed, _set_back, _set_mode, _add)


@pytest.mark.parametrize("outside", OUTSIDE)
def test_what_has_changed_meanwhile_is_named_and_nothing_is_written(
    folder: Path, outside: Callable[[Path], None]
) -> None:
    opened = changed(folder)
    outside(folder)
    state = full_state(folder)
    with pytest.raises(WorkspaceConflict) as conflict:
        opened.commit(None)
    assert conflict.value.paths
    assert full_state(folder) == state


def test_a_folder_that_has_taken_the_place_of_the_workspace_is_not_written(folder: Path) -> None:
    opened = changed(folder)
    folder.rename(folder.with_name("elsewhere"))
    folder.mkdir()
    with pytest.raises(WorkspaceConflict, match="another folder"):
        opened.commit(None)
    assert tree_of(folder) == {}


def test_a_link_that_has_taken_the_place_of_a_folder_is_not_followed(
    folder: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    opened = changed(folder)
    (folder / "folder").rename(elsewhere)
    (folder / "folder").symlink_to(elsewhere)
    state = full_state(elsewhere)
    with pytest.raises(WorkspaceConflict, match="folder/"):
        opened.commit(None)
    assert full_state(elsewhere) == state


def test_modes_and_second_names_are_kept_apart(folder: Path, tmp_path: Path) -> None:
    (folder / "edited").chmod(0o4750)
    os.link(folder / "edited", tmp_path / "second name")
    opened = changed(folder)
    opened.commit(None)
    assert (folder / "edited").stat().st_mode & 0o7777 == 0o750
    assert (tmp_path / "second name").read_bytes() == BEFORE["edited"]


def test_one_commit_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinyagent.execution.workspace.commit._LOCK_SECONDS", 0.0)
    opened = changed(folder)
    other = os.open(folder, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    for use in (partial(opened.commit, None), Workspace(folder).open):
        with pytest.raises(WorkspaceConflict, match="another commit"):
            use()
    fcntl.flock(other, fcntl.LOCK_SH)  # it only reads
    Workspace(folder).open().close()
    with pytest.raises(WorkspaceConflict, match="another commit"):
        opened.commit(None)
    os.close(other)
    assert tree_of(folder) == BEFORE


def test_a_journal_that_came_with_the_folder_writes_nothing(folder: Path) -> None:
    """An archive may hold a staging folder that nobody's commit has made."""
    staging = folder / STAGING.decode()
    for path in (".git/hooks/pre-commit", "../outside", "planted", "/etc/planted"):
        staging.mkdir()
        (staging / "new-0").write_bytes(b"planted")
        step = {
            "action": "put",
            "path": path,
            "before": None,
            "staged": [1, 7, 1],
            "is_folder": False,
        }
        body = {"direction": "do", "steps": [step]}
        (staging / "journal").write_text(json.dumps(body))
        with pytest.raises(WorkspaceConflict):
            Workspace(folder).open()
        rest = {name: data for name, data in tree_of(folder).items() if not is_staging_name(name)}
        assert rest == BEFORE
        assert not (folder.parent / "outside").exists()
        shutil.rmtree(staging, ignore_errors=True)
