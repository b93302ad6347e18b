"""What the template has forked ahead: it waits for an order, locks itself up and is a session."""

from __future__ import annotations

import json
import os
import random
import socket
import sys
import tempfile
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from . import confine, linux, mounts
from .adapt import pipes_for_sockets
from .confine import Cell, Limits
from .link import Link
from .session import Session
from .step import Namespace, Rules
from .warden import Warden
from .wire import Kind

MAX_MESSAGE = 1 << 16


def wait_for_order(orders: socket.socket, cell: Cell, base: str, parent: int) -> NoReturn:
    """Do what hangs on no order, wait for one, and serve as it says; never returns.

    Args:
        orders: gives one order, and with it the session's end of its socket to the host.
        cell: what the template has prepared.
        base: the folder of all working folders, where there are no namespaces.
        parent: the template.
    """
    descriptors: list[int] = []
    try:
        _close_all_but({orders.fileno(), cell.proc, *cell.readable})
        _draw_anew()
        confine.stand_alone(cell.proc)
        own_proc = None
        if cell.namespaces:
            own_proc = confine.part_from_others()
        else:
            confine.die_with_parent(parent)  # else it ends with the template's process namespace
        Namespace(Rules("", frozenset("*"), 0))  # the pages that the real one will write to
        message, descriptors = _receive(orders)
        order = json.loads(message)
        link = Link(socket.socket(fileno=descriptors[0]))
        linux.set_name("session")
        _lock_up(order, link, cell, base, own_proc).serve()
    except BaseException as error:  # noqa: BLE001 - told to the host, there is nobody else
        for descriptor in descriptors or _receive(orders)[1]:  # none: the template is gone
            tell_failure(descriptor, error)
    finally:
        os._exit(0)


def _receive(orders: socket.socket) -> tuple[bytes, list[int]]:
    message, descriptors, _flags, _address = socket.recv_fds(orders, MAX_MESSAGE, 1)
    return message, descriptors


def _lock_up(
    order: dict[str, Any], link: Link, cell: Cell, base: str, own_proc: int | None
) -> Session:
    limits = Limits(**order["limits"])
    if cell.namespaces:
        folder = mounts.SANDBOX
        confine.settle_in(cell, limits)
    else:
        folder = os.path.join(base, str(order["id"]))
        os.mkdir(folder, 0o700)
        make_home(folder)
    os.chdir(folder)
    pipes_for_sockets()
    if not limits.checkpoints:
        own_proc = None
    confine.limit_resources(cell, limits)
    confine.lock(cell, folder, own_proc)
    _close_all_but({link.sock.fileno(), *(() if own_proc is None else (own_proc,))})
    warden = None if own_proc is None else Warden(own_proc, limits.max_memory_bytes * 2)
    rules = Rules(folder, frozenset(order["imports"]), limits.max_output_bytes)

    return Session(link, rules, partial(confine.filter_calls, cell), warden)


def make_home(folder: str) -> None:
    """Have everything that looks for a place to write find this folder."""
    os.environ.update({"HOME": folder, "TMPDIR": folder, "MPLCONFIGDIR": f"{folder}/.config"})
    tempfile.tempdir = folder


def tell_failure(descriptor: int, error: BaseException) -> None:
    """Tell the host, over its socket, why there is no session."""
    link = Link(socket.socket(fileno=os.dup(descriptor)))
    with suppress(OSError):
        link.send(Kind.FAILED, {"error": f"{type(error).__name__}: {error}"})
    link.close()


def _draw_anew() -> None:
    """No two sessions have the same random numbers."""
    random.seed()
    numpy_random: Any = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(None)


def _close_all_but(keep: set[int]) -> None:
    first = 3
    for descriptor in sorted(keep):
        os.closerange(first, descriptor)
        first = descriptor + 1
    linux.close_range(first, 2**31 - 1)
