"""Folders as values: what is in them, random ones, and random edits of them."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

Tree = dict[str, bytes | None]
"""Contents of files by path; None for a folder, whose path ends in a slash."""


def tree_of(folder: Path) -> Tree:
    """All that is in the folder, links as the text that they hold."""
    tree: Tree = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            tree[name] = b"-> " + os.fsencode(path.readlink())
        elif path.is_dir():
            tree[f"{name}/"] = None
        else:
            tree[name] = path.read_bytes() if path.is_file() else b"(special)"
    return tree


def full_state(folder: Path) -> dict[str, tuple[object, ...]]:
    """All that `lstat` shows of the folder and what is in it, except when it was read."""
    state: dict[str, tuple[object, ...]] = {}
    for path in [folder, *folder.rglob("*")]:
        status = path.lstat()
        owner = status.st_uid, status.st_gid, status.st_mode, status.st_nlink
        content = path.read_bytes() if path.is_file() else b""
        times = status.st_mtime_ns, status.st_ctime_ns, status.st_ino
        state[str(path)] = (*owner, *times, content)
    return state


def write_tree(folder: Path, tree: Tree) -> None:
    """Make what the tree says in an empty folder."""
    for name in sorted(tree):
        content = tree[name]
        path = folder / name
        if content is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


class Edit(NamedTuple):
    """One edit: what to do, where, and with what."""

    action: str
    path: str
    other: str
    content: bytes


def apply_edits(edits: list[Edit]) -> None:
    """Do the edits in the present folder; one that the system refuses changes nothing."""
    for action, path, other, content in edits:
        with suppress(OSError):
            if action == "write":
                with open(path, "wb") as file:  # noqa: PTH123 - also run in a sandbox
                    file.write(content)
            elif action == "append":
                with open(path, "ab") as file:  # noqa: PTH123 - as above
                    file.write(content)
            elif action == "remove":
                os.unlink(path)  # noqa: PTH108 - as above
            elif action == "make":
                os.makedirs(path)  # noqa: PTH103 - as above
            elif action == "clear":
                shutil.rmtree(path)
            elif action == "rename":
                os.rename(path, other)  # noqa: PTH104 - as above
            elif action == "move":
                shutil.move(path, other)


NAMES = st.sampled_from(["a", "b", "c d", "é"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
CONTENTS = st.sampled_from([b"", b"one\n", b"one\ntwo\n", b"\0\xff", b"x" * 5000])
ACTIONS = st.sampled_from("write append remove make clear rename move".split())  # noqa: SIM905
EDITS = st.lists(st.builds(Edit, ACTIONS, PATHS, PATHS, CONTENTS), max_size=8)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """A random folder with files, folders and empty folders."""
    tree: Tree = {}
    for path, content in draw(st.dictionaries(PATHS, st.none() | CONTENTS, max_size=8)).items():
        parents = [path[: place + 1] for place, sign in enumerate(path) if sign == "/"]
        taken = any(parent.rstrip("/") in tree for parent in parents)
        if taken or f"{path}/" in tree:
            continue
        tree |= dict.fromkeys(parents)
        tree[path if content is not None else f"{path}/"] = content
    return tree
