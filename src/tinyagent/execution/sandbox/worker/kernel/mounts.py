"""A separate root for the template, which holds only what Python needs, read-only.

The folders are attached with the kernel's file-descriptor mount calls (open_tree(2), move_mount(2),
mount_setattr(2), fsopen(2)).
"""

from __future__ import annotations

import os
import struct
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from . import linux

SANDBOX = "/sandbox"
"""The working folder of each session."""
PACKAGES = "/packages"
"""Where a template for locked packages has them."""
PROC = SANDBOX
"""Where the template has its /proc: each session's working folder covers it."""

_FSCONFIG_SET_STRING, _FSCONFIG_CMD_CREATE = 1, 6
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_OPEN_TREE_CLONE = 1
_AT_EMPTY_PATH = 0x1000
_MOVE_MOUNT_F_EMPTY_PATH = 4
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID, _MOUNT_ATTR_NODEV = 1, 2, 4
_MOUNT_ATTR_IDMAP = 0x10_0000
_FILES = linux.MS_NOSUID | linux.MS_NODEV

DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")


class Tree(NamedTuple):
    """A folder or file of the host, held by a descriptor, and the path it is to have."""

    path: str
    descriptor: int
    is_folder: bool


def python_paths(*, packages: bool = True) -> list[str]:
    """The folders and files that CPython and its packages are read from at run time.

    Args:
        packages: Whether the packages installed on the host are wanted.
    """
    places = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    if packages:
        places += [sysconfig.get_path(name) for name in ("purelib", "platlib")]
        places += [entry for entry in sys.path if os.path.isdir(entry) and "-packages" in entry]
    machine = sysconfig.get_config_var("MULTIARCH")
    places += [f"/lib/{machine}", f"/usr/lib/{machine}"] if machine else ["/lib", "/usr/lib"]
    places += ["/lib64", "/usr/lib64", "/usr/lib/locale", sysconfig.get_config_var("LIBDIR")]
    places += ["/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", *DEVICES]
    return _outermost(place for place in places if place and os.path.exists(place))


def _outermost(paths: Iterable[str]) -> list[str]:
    """Without those that lie within another, parents first."""
    outermost: list[str] = []
    for path in sorted({os.path.normpath(path) for path in paths}):
        if not any(path.startswith(parent + "/") for parent in outermost):
            outermost.append(path)
    return outermost


def hold(paths: Iterable[str], packages: str = "") -> list[Tree]:
    """Hold the paths by descriptors, with the caller's present rights.

    `packages` is the folder that is to be at `PACKAGES`; "" for none.
    """
    places = {**{path: path for path in paths}, **({PACKAGES: packages} if packages else {})}
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE
    return [
        Tree(
            place,
            linux.syscall("open_tree", _AT_FDCWD, os.fsencode(path), flags),
            os.path.isdir(path),
        )
        for place, path in places.items()
    ]


def open_folder(path: linux.Path) -> int:
    """A descriptor that stands for a folder of the host; a link is not followed.

    Raises:
        OSError: There is no such folder.
    """
    return os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def clone(folder: int, *, read_only: bool, users: int | None = None) -> int:
    """A detached mount of an open folder and what is mounted below it; no device works there.

    Args:
        folder: As `open_folder` returns it, of a mount of this mount namespace.
        read_only: Whether nothing can be changed through it.
        users: A user namespace whose map of users applies to the owners of files (Linux 5.12).

    Raises:
        OSError: The kernel refuses.
    """
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE | _AT_EMPTY_PATH
    tree = linux.syscall("open_tree", folder, b"", flags)
    add = _MOUNT_ATTR_NOSUID | _MOUNT_ATTR_NODEV
    add |= _MOUNT_ATTR_RDONLY if read_only else 0
    add |= 0 if users is None else _MOUNT_ATTR_IDMAP
    attributes = struct.pack("=4Q", add, 0, 0, users or 0)
    try:
        _set(tree, "", _AT_RECURSIVE | _AT_EMPTY_PATH, attributes)
    except OSError:
        os.close(tree)
        raise
    return tree


def attach(tree: int, target: str) -> None:
    """Put a detached mount at a place of this mount namespace, and close its descriptor."""
    there = (_AT_FDCWD, os.fsencode(target), _MOVE_MOUNT_F_EMPTY_PATH)
    linux.syscall("move_mount", tree, b"", *there)
    os.close(tree)


def enter_root(trees: Iterable[Tree]) -> None:
    """Enter a new root that holds only the trees, all of them read-only."""
    stage = "/tmp"  # noqa: S108 - only a place that exists: an empty root is mounted over it
    linux.mount("tmpfs", stage, "tmpfs", _FILES, "size=1m,mode=755")
    os.chdir(stage)
    os.mkdir(SANDBOX[1:])
    # Before leaving the host's /proc: without one, the kernel allows no new one.
    linux.mount("proc", PROC[1:], "proc", _FILES | linux.MS_NOEXEC)
    for tree in trees:
        target = tree.path[1:]
        folder = target if tree.is_folder else os.path.dirname(target)
        os.makedirs(folder, exist_ok=True)
        if not tree.is_folder:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        attach(tree.descriptor, target)
    linux.pivot_root(".", ".")
    linux.umount2(".")
    os.chdir("/")
    _set_attributes("/", _AT_RECURSIVE, _MOUNT_ATTR_RDONLY | _MOUNT_ATTR_NOSUID, 0)
    _set_attributes(PROC, 0, 0, _MOUNT_ATTR_RDONLY)  # each session maps its user there


def keep_to_ourselves() -> None:
    """Keep the host's namespace free of mounts made here."""
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_SLAVE)


def open_proc() -> int:
    """A descriptor of the mounted /proc."""
    return os.open(PROC if os.path.ismount(PROC) else "/proc", _FOLDER)


def open_own_proc() -> int:
    """A descriptor of a /proc of this process namespace, which is mounted nowhere."""
    context = linux.syscall("fsopen", b"proc", 0)
    with suppress(OSError):  # only processes, where the kernel can (5.8): that is quicker to list
        linux.syscall("fsconfig", context, _FSCONFIG_SET_STRING, b"subset", b"pid", 0)
    linux.syscall("fsconfig", context, _FSCONFIG_CMD_CREATE, None, None, 0)
    mount = linux.syscall("fsmount", context, 0, 0)
    descriptor = os.open(".", _FOLDER, dir_fd=mount)
    os.close(mount)
    os.close(context)
    return descriptor


class WorkingFolders(NamedTuple):
    """Descriptors of a session's folder, and of one in the same mount that no path leads to."""

    shown: int
    hidden: int


def make_working_folder(max_bytes: int) -> None:
    """An empty folder in memory, of this size, at `SANDBOX`, over the template's /proc.

    It belongs to the session's own mount namespace, and disappears with it.
    """
    names = max(max_bytes >> 12, 256)  # an empty file takes a kilobyte of the kernel's memory
    options = f"size={max_bytes},nr_inodes={names},mode=755"
    linux.mount("tmpfs", SANDBOX, "tmpfs", _FILES, options)


def cover_working_folder() -> WorkingFolders:
    """Show only a folder of the working folder in its place, and hide another."""
    places = [f"{SANDBOX}/{name}" for name in ("shown", "hidden")]
    for place in places:
        os.mkdir(place, 0o755)
    folders = WorkingFolders(*(os.open(place, _FOLDER) for place in places))
    linux.mount(places[0], SANDBOX, None, linux.MS_BIND)
    return folders


def make_read_only(path: str) -> None:
    """Let nothing be written below a mount."""
    _set_attributes(path, 0, _MOUNT_ATTR_RDONLY, 0)


def _set_attributes(path: str, flags: int, add: int, clear: int) -> None:
    _set(_AT_FDCWD, path, flags, struct.pack("=4Q", add, clear, 0, 0))


def _set(folder: int, path: str, flags: int, attributes: bytes) -> None:
    size = len(attributes)
    linux.syscall("mount_setattr", folder, os.fsencode(path), flags, attributes, size)
