"""A session's own network: a namespace with loopback only, in which only the host listens."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from contextlib import suppress
from typing import NamedTuple

from . import linux, mounts

_SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C
_UP = 0x1 | 0x8 | 0x40  # IFF_UP, IFF_LOOPBACK, IFF_RUNNING
_BACKLOG = 16
_MS_BIND, _MS_MOVE = 0x1000, 0x2000
_ETC = "/etc"
_CERTIFICATE = "sandbox-ca.pem"
_SETTINGS = {
    # The kernel counts what sockets hold to no process: so they hold little. Least, usual, most.
    "tcp_rmem": "4096 65536 131072",
    "tcp_wmem": "4096 65536 131072",
    "tcp_tw_reuse": "1",
}


class NetworkOrder(NamedTuple):
    """The addresses, ports and certificate of a session's network.

    Args:
        ports: On which the host listens.
        hosts: Listed names, each with its loopback address.
        addresses: Listed addresses outside 127.0.0.0/8.
        certificate: Of the authority that signs for the listed hosts; PEM.
        variables: Environment variables, for clients that look there for a key.
        names: The address at which the host answers for names that `hosts` lacks.
    """

    ports: list[int]
    hosts: dict[str, str]
    addresses: list[str]
    certificate: str
    variables: dict[str, str]
    names: str


def enter(proc: int) -> None:
    """Enter a new network namespace, and switch its loopback device on.

    Args:
        proc: A descriptor of a /proc in which this process is.
    """
    linux.unshare(linux.CLONE_NEWNET)
    for name, text in _SETTINGS.items():
        descriptor = os.open(f"sys/net/ipv4/{name}", os.O_WRONLY, dir_fd=proc)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _UP))


def listen(order: NetworkOrder) -> list[int]:
    """Listen on the order's ports; gives the descriptors, which are the host's from then on."""
    listeners: list[socket.socket] = []
    try:
        for number, address in enumerate(order.addresses):
            _add_address(f"lo:{number}", address)
        for port in order.ports:
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            listeners.append(listener)
            listener.bind(("0.0.0.0", port))  # noqa: S104 - of a namespace without a way out
            listener.listen(_BACKLOG)
        return [listener.detach() for listener in listeners]
    finally:
        for listener in listeners:
            listener.close()


def show_files(order: NetworkOrder) -> None:
    """Cover /etc with a read-only copy that also holds the hosts and the certificate.

    It is built where the working folder will be, and moved.
    """
    stage = mounts.SANDBOX
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    linux.mount("tmpfs", stage, "tmpfs", flags, "size=1m,mode=755")
    for name in os.listdir(_ETC):
        source, target = f"{_ETC}/{name}", f"{stage}/{name}"
        if os.path.isdir(source):
            os.mkdir(target)
        else:
            _write(target, "")
        linux.mount(source, target, None, _MS_BIND | linux.MS_REC)
    lines = [f"{address} {name}\n" for name, address in order.hosts.items()]
    _write(f"{stage}/hosts", "".join(lines))
    _write(f"{stage}/nsswitch.conf", "hosts: files\n")
    _write(f"{stage}/{_CERTIFICATE}", order.certificate)
    linux.mount(stage, _ETC, None, _MS_MOVE)
    mounts.make_read_only(_ETC)
    path = f"{_ETC}/{_CERTIFICATE}"
    names = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    os.environ.update(order.variables)
    os.environ.update(dict.fromkeys(names, path))


def _add_address(label: str, address: str) -> None:
    """Give the loopback device one more address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        for request, value in ((_SIOCSIFADDR, address), (_SIOCSIFNETMASK, "255.255.255.255")):
            body = struct.pack(
                "16sHH4s8x", label.encode(), socket.AF_INET, 0, socket.inet_aton(value)
            )
            with suppress(FileExistsError):
                fcntl.ioctl(sock, request, body)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
