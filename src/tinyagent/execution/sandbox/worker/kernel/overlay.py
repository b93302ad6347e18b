"""An overlay: a folder of the host with a layer over it that takes all changes (overlayfs).

The layers are not in the code's reach: the code's own folder is mounted over the place where they
are, and only the process that holds a descriptor of the upper layer can read it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from . import linux, mounts

WORKSPACE = "workspace"
"""The folder of the overlay within the session's own folder."""

_FSCONFIG_SET_FLAG, _FSCONFIG_SET_STRING, _FSCONFIG_CMD_CREATE = 0, 1, 6
_MOUNT_ATTR_NOSUID, _MOUNT_ATTR_NODEV = 2, 4
_AT_FDCWD = -100
_OPEN_TREE_CLONE = 1
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def mount(lower: int, masks: Iterable[bytes]) -> int:
    """Mount the overlay in the session's folder in memory, which must be empty.

    Args:
        lower: A detached mount of the host's folder, which is closed.
        masks: Paths in it that are not to be seen.

    Returns:
        A descriptor of the upper layer.

    Raises:
        OSError: The kernel refuses (it is older than 6.6, or the file system cannot be a layer).
    """
    top = mounts.SANDBOX
    for name in ("lower", "masks", "upper", "work", "home", f"home/{WORKSPACE}"):
        os.mkdir(f"{top}/{name}", 0o755)
    mounts.attach(lower, f"{top}/lower")
    _copy_mode(f"{top}/lower", f"{top}/upper")
    for path in masks:
        _mask(os.fsencode(f"{top}/masks"), os.fsencode(f"{top}/lower"), path)
    overlay = _overlay(top)
    upper = os.open(f"{top}/upper", _FOLDER)
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC
    home = linux.syscall("open_tree", _AT_FDCWD, os.fsencode(f"{top}/home"), flags)
    mounts.attach(home, top)
    mounts.attach(overlay, f"{top}/{WORKSPACE}")
    return upper


def _overlay(top: str) -> int:
    """A detached mount of the overlay."""
    context = linux.syscall("fsopen", b"overlay", 0)
    try:
        for name, value in (
            ("lowerdir", f"{top}/masks:{top}/lower"),
            ("upperdir", f"{top}/upper"),
            ("workdir", f"{top}/work"),
        ):
            text = (name.encode(), value.encode())
            linux.syscall("fsconfig", context, _FSCONFIG_SET_STRING, *text, 0)
        linux.syscall("fsconfig", context, _FSCONFIG_SET_FLAG, b"userxattr", None, 0)
        linux.syscall("fsconfig", context, _FSCONFIG_CMD_CREATE, None, None, 0)
        return linux.syscall("fsmount", context, 0, _MOUNT_ATTR_NOSUID | _MOUNT_ATTR_NODEV)
    finally:
        os.close(context)


def _mask(masks: bytes, lower: bytes, path: bytes) -> None:
    """Put a mark into the layer of masks that says that nothing is at the path."""
    *folders, _ = path.split(b"/")
    place = b""
    for folder in folders:
        place += b"/" + folder
        if not os.path.isdir(masks + place):
            os.mkdir(masks + place, 0o755)
            _copy_mode(lower + place, masks + place)
    os.mknod(masks + b"/" + path, stat.S_IFCHR, os.makedev(0, 0))


def _copy_mode(source: str | bytes, target: str | bytes) -> None:
    """The topmost layer's mode of a folder is the one that counts."""
    os.chmod(target, stat.S_IMODE(os.stat(source).st_mode) | stat.S_IRWXU)
