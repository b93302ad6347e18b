"""Random edits inside and outside, compared with the same edits in a plain folder."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import os
import shutil
import tempfile
from contextlib import chdir
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.trees import (
    EDITS,
    Edit,
    Tree,
    apply_edits,
    full_state,
    tree_of,
    trees,
    write_tree,
)
from tests.tinyagent.execution.workspace.backends import BACKENDS, check_backend, executor_of

from tinyagent.core import Change, WorkspaceConflict

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]
CODE = """
import os, shutil
from contextlib import suppress
{function}
apply_edits({edits!r})
"""


def code_of(edits: list[Edit]) -> str:
    """The edits as a program."""
    function = inspect.getsource(apply_edits).replace("list[Edit]", "list")
    return CODE.format(function=function, edits=[tuple(edit) for edit in edits])


def plain_edits(folder: Path, edits: list[Edit]) -> Tree:
    """What the folder would hold after these edits."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place, "copy")
        shutil.copytree(folder, copy, symlinks=True)
        with chdir(copy):
            apply_edits(edits)
        return tree_of(copy)


def difference(before: Tree, after: Tree) -> dict[str, str]:
    """What happened to each path, a rename being a deletion and an addition."""
    kinds = dict.fromkeys(after.keys() - before.keys(), "added")
    kinds |= dict.fromkeys(before.keys() - after.keys(), "deleted")
    both = before.keys() & after.keys()
    return kinds | {path: "changed" for path in both if before[path] != after[path]}


def reported(changes: tuple[Change, ...]) -> dict[str, str]:
    """The same, as the changes say it."""
    kinds: dict[str, str] = {}
    for change in changes:
        if change.kind == "renamed":
            kinds |= {change.old_path: "deleted", change.path: "added"}
        else:
            kinds[change.path] = change.kind
    return kinds


def check_contents(changes: tuple[Change, ...], after: Tree) -> None:
    for change in changes:
        content = after.get(change.path)
        if content is not None:
            digest = hashlib.sha256(content).hexdigest()
            assert (change.size, change.digest) == (len(content), digest)


async def inside(backend: str, folder: Path, edits: list[Edit], outside: list[Edit]) -> None:
    """Edit a view, then perhaps the folder, and commit."""
    before, untouched = tree_of(folder), full_state(folder)
    expected = plain_edits(folder, edits)
    async with executor_of(backend, folder) as executor:
        result = await executor.run(code_of(edits))
        assert result.error is None
        check_backend(backend, executor)
        assert full_state(folder) == untouched
        assert reported(result.changes) == difference(before, expected)
        assert not any(change.conflict or change.withheld for change in result.changes)
        check_contents(result.changes, expected)
        with chdir(folder):
            apply_edits(outside)
        meanwhile = tree_of(folder)
        paths: set[str] = set()
        written: tuple[Change, ...] = ()
        try:
            written = await executor.commit()
        except WorkspaceConflict as conflict:
            paths = set(conflict.paths)
        if paths:
            assert paths <= reported(result.changes).keys()
            assert tree_of(folder) == meanwhile
            assert full_state(folder) != untouched
            return
        assert reported(written) == reported(result.changes)
        check_merged(before, expected, meanwhile, tree_of(folder))
        result = await executor.run("None")
        if not outside:
            assert result.changes == ()


def check_merged(before: Tree, expected: Tree, meanwhile: Tree, after: Tree) -> None:
    """A commit without a conflict: each path is as the one who changed it has left it."""
    changed = difference(before, expected)
    for path in before.keys() | expected.keys() | meanwhile.keys() | after.keys():
        source = expected if path in changed else meanwhile
        assert after.get(path, b"nothing") == source.get(path, b"nothing"), path
        if path in changed:
            assert meanwhile.get(path, b"nothing") == before.get(path, b"nothing"), path


def run(backend: str, tree: Tree, edits: list[Edit], outside: list[Edit]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "folder")
        folder.mkdir()
        write_tree(folder, tree)
        asyncio.run(inside(backend, folder, edits, outside))


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_shown_and_committed_is_what_a_plain_folder_would_hold(backend: str) -> None:
    @settings(max_examples=15, deadline=None, suppress_health_check=CHECKS)
    @given(trees(), EDITS)
    def check(tree: Tree, edits: list[Edit]) -> None:
        run(backend, tree, edits, [])

    check()


WHOLE_TREE: Tree = {"a/": None, "a/b/": None, "a/b/c d": b"one\n", "c d": b"", "é/": None}
AGAIN = {
    "a folder that is removed and made again": [("clear", "a", ""), ("make", "a/b", "")],
    "a folder whose place a file takes": [("clear", "a", ""), ("write", "a", "")],
    "an empty folder whose place a file takes": [("clear", "é", ""), ("write", "é", "")],
    "a file whose place a folder takes": [("remove", "c d", ""), ("make", "c d/a", "")],
    "a folder that is renamed": [("rename", "a", "b"), ("append", "b/b/c d", "")],
    "a folder that is renamed there and back": [("rename", "a", "b"), ("rename", "b", "a")],
    "a folder that replaces an empty one": [("rename", "a", "é")],
    "a file that replaces another": [("rename", "a/b/c d", "c d")],
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("edits", AGAIN.values(), ids=AGAIN)
def test_what_takes_the_place_of_something_else_is_compared_with_it(
    backend: str, edits: list[tuple[str, str, str]]
) -> None:
    run(backend, WHOLE_TREE, [Edit(*edit, b"new\n") for edit in edits], [])


@pytest.mark.parametrize("backend", BACKENDS)
def test_edits_outside_meanwhile_are_kept_or_are_conflicts(backend: str) -> None:
    examples = int(os.environ.get("WORKSPACE_EXAMPLES", "150"))

    @settings(max_examples=examples, deadline=None, suppress_health_check=CHECKS)
    @given(trees(), EDITS, EDITS | st.just([]))
    def check(tree: Tree, edits: list[Edit], outside: list[Edit]) -> None:
        run(backend, tree, edits, outside)

    check()
