"""The keeper: a process of a template that still sees the host's folders, and hands over mounts.

A template that has left the host's root cannot reach a folder that a later session is to see, and a
descriptor of the host's cannot be mounted in another mount namespace. So a template whose sessions
get folders forks a keeper first. It runs nothing of the code's, sees no session, and ends with its
template. A host with root's rights needs none: it makes the mounts itself (`mounts.clone`).
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any, NoReturn

from . import linux, mounts

_MOST_BYTES = 1 << 16


class Keeper:
    """Forks a keeper, in a copy of this process's mount namespace; call before leaving the root.

    Raises:
        OSError: The kernel refuses.
    """

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            if os.fork() == 0:
                self._socket.close()
                _keep(theirs)
        if not self._socket.recv(1):  # before that, it would lose its root with this process
            raise OSError("the keeper of the host's folders does not start")

    def mount(self, folder: dict[str, Any]) -> int:
        """A detached mount of a folder of the host.

        Args:
            folder: Its `path`, the `device` and `inode` that the host has seen there, and whether
                it is `read_only`.

        Raises:
            OSError: It is not there, is another one now, or the kernel refuses.
        """
        self._socket.send(json.dumps(folder).encode())
        answer, descriptors, _flags, _address = socket.recv_fds(self._socket, _MOST_BYTES, 1)
        if not descriptors:
            raise OSError(answer.decode() or "the keeper of the host's folders has ended")
        return descriptors[0]


def _keep(orders: socket.socket) -> NoReturn:
    """Answer requests until the template has ended."""
    status = 1
    try:
        linux.set_name("keeper")
        linux.unshare(linux.CLONE_NEWNS)
        keep = orders.fileno()
        for first, last in ((3, keep - 1), (keep + 1, 2**32 - 1)):
            if first <= last:
                linux.close_range(first, last)
        orders.send(b".")
        while order := orders.recv(_MOST_BYTES):
            _answer(orders, json.loads(order))
        status = 0
    finally:
        os._exit(status)


def _answer(orders: socket.socket, folder: dict[str, Any]) -> None:
    descriptors: list[int] = []
    reason = ""
    try:
        descriptors.append(mounts.open_folder(folder["path"]))
        status = os.fstat(descriptors[0])
        if (status.st_dev, status.st_ino) == (folder["device"], folder["inode"]):
            descriptors.append(mounts.clone(descriptors[0], read_only=folder["read_only"]))
        else:
            reason = f"{folder['path']} is another folder now"
    except OSError as error:
        reason = str(error)
    socket.send_fds(orders, [reason.encode() or b"."], descriptors[1:])
    for descriptor in descriptors:
        os.close(descriptor)
