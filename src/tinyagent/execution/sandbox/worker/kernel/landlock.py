"""Landlock: a process gives up all files except some, permanently, for itself and all it starts."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable
from typing import NamedTuple

from . import linux

# The rights in the order of their bits, and those that came after version 1 of the interface.
_RIGHTS = (
    "execute", "write_file", "read_file", "read_dir", "remove_dir", "remove_file", "make_char",
    "make_dir", "make_reg", "make_sock", "make_fifo", "make_block", "make_sym", "refer",
    "truncate", "ioctl_dev",
)  # fmt: skip
_SINCE = {"refer": 2, "truncate": 3, "ioctl_dev": 5}
_READ = frozenset({"read_file", "read_dir"})
# Files and folders can be made, but no link, socket, pipe or device: one who looks into the
# folder from outside would follow or open them.
_WRITE = _READ | {
    "write_file", "truncate", "make_reg", "make_dir", "remove_file", "remove_dir", "refer",
}  # fmt: skip
_OF_FILES = frozenset({"execute", "write_file", "read_file", "truncate", "ioctl_dev"})
_SINKS = {os.makedev(1, 3), os.makedev(1, 5), os.makedev(1, 7)}  # /dev/null, zero and full

_NETWORK = 0b11  # bind and connect, of TCP
_SCOPED = 0b11  # abstract Unix sockets, signals
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH, _RULE_NET_PORT = 1, 2
_CONNECT_TCP = 0b10
_SINCE_NETWORK = 4


class Enforced(NamedTuple):
    """The restrictions of the kernel, by the version of its Landlock (0: it has none).

    Args:
        abi: The version.
        files: Opening, making and removing files outside the given folders; running programs.
        truncate: Emptying files outside them; else seccomp must refuse it.
        network: TCP.
        devices: Ioctl on devices.
        scope: Signals to, and abstract Unix sockets of, processes that are not confined with it.
    """

    abi: int
    files: bool
    truncate: bool
    network: bool
    devices: bool
    scope: bool


def abi() -> int:
    """The version of Landlock that the kernel offers; 0 when there is none."""
    try:
        return linux.syscall("landlock_create_ruleset", None, 0, _CREATE_RULESET_VERSION)
    except OSError:  # not built in, switched off at boot, or refused by a container's filter
        return 0


def restrict(
    readable: Iterable[int], writable: Iterable[int], ports: Iterable[int] = ()
) -> Enforced:
    """Confine this thread, and those it starts, to the files below the given descriptors.

    No program can be run from anywhere, and nothing is reached by TCP but `ports`. Shared libraries
    can still be loaded: mapping a file asks for the right to read it only.

    Args:
        readable: Folders and files to read, open with `O_PATH`. The devices that swallow all that
            is written to them (/dev/null) may be written, too.
        writable: Folders in which files and folders may also be made, changed and removed.
        ports: That may be connected to by TCP.

    Raises:
        OSError: A descriptor is not open, or the kernel refuses.
    """
    version = abi()
    if version > 0:
        ruleset = _create(version)
        try:
            for descriptor in readable:
                _allow(ruleset, descriptor, _READ, version)
            for descriptor in writable:
                _allow(ruleset, descriptor, _WRITE, version)
            for port in ports if version >= _SINCE_NETWORK else ():
                rule = struct.pack("=QQ", _CONNECT_TCP, port)
                linux.syscall("landlock_add_rule", ruleset, _RULE_NET_PORT, rule, 0)
            linux.set_no_new_privs()
            linux.syscall("landlock_restrict_self", ruleset, 0)
        finally:
            os.close(ruleset)
    return Enforced(version, *(version >= since for since in (1, 3, 4, 5, 6)))


def _create(version: int) -> int:
    every = _bits(_RIGHTS, version)
    fields = [every]
    if version >= _SINCE_NETWORK:
        fields.append(_NETWORK)
    if version >= 6:  # noqa: PLR2004 - scopes came with version 6
        fields.append(_SCOPED)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    return linux.syscall("landlock_create_ruleset", attributes, len(attributes), 0)


def _allow(ruleset: int, descriptor: int, rights: frozenset[str], version: int) -> None:
    status = os.fstat(descriptor)
    if not stat.S_ISDIR(status.st_mode):
        rights &= _OF_FILES
    if stat.S_ISCHR(status.st_mode) and status.st_rdev in _SINKS:
        rights |= {"write_file"}
    rule = struct.pack("=Qi", _bits(rights, version), descriptor)
    linux.syscall("landlock_add_rule", ruleset, _RULE_PATH_BENEATH, rule, 0)


def _bits(rights: Iterable[str], version: int) -> int:
    known = {right for right in rights if version >= _SINCE.get(right, version)}
    return sum(1 << _RIGHTS.index(right) for right in known)
