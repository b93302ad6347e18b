"""Folders of the host that a session sees: how their mounts are made and handed over."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class HostFolder:
    """A folder of the host, and how a session sees it.

    Args:
        path: Of the folder itself, not of a link to it.
        name: What it is called in the session's working folder.
        read_only: Whether the mount refuses changes.
        owned: Whether root's files belong to the session's user, who is otherwise nobody; matters
            to a host that runs as root only.
    """

    path: Path
    name: str
    read_only: bool = True
    owned: bool = False


class Offer:
    """The host's part of handing over folders; close it once the session has its order.

    A host with root's rights makes the mounts itself and sends them along. Any other host names the
    folders, and the keeper of the template makes the mounts.

    Args:
        folders: To hand over.
        pid: A process in the user namespace of the template.

    Raises:
        OSError: A folder does not exist, or the kernel refuses its mount.
    """

    def __init__(self, folders: Iterable[HostFolder], pid: int) -> None:
        self.requests: list[dict[str, Any]] = []
        self.descriptors: list[int] = []
        self._held = ExitStack()
        with ExitStack() as stack:
            for folder in folders:
                self._add(folder, pid, stack)
            self._held = stack.pop_all()

    def close(self) -> None:
        """Close the host's descriptors of the mounts."""
        self._held.close()

    def _add(self, folder: HostFolder, pid: int, stack: ExitStack) -> None:
        # It loads on Linux only.
        from tinyagent.execution.sandbox.worker.kernel import mounts  # noqa: PLC0415

        path = folder.path.absolute()
        opened = mounts.open_folder(path)
        stack.callback(os.close, opened)
        if os.geteuid() != 0:
            status = os.fstat(opened)
            seen = {"path": os.fspath(path), "device": status.st_dev, "inode": status.st_ino}
            self.requests.append({**seen, "name": folder.name, "read_only": folder.read_only})
            return
        users = None
        if folder.owned:
            users = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, users)
        tree = mounts.clone(opened, read_only=folder.read_only, users=users)
        stack.callback(os.close, tree)
        self.descriptors.append(tree)
        self.requests.append({"name": folder.name})
