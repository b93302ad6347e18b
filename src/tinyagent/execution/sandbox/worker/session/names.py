"""Names of hosts that the session's hosts file lacks: the host answers for them.

This is a convenience, not a lock: whatever the code does with names, it reaches the host only,
which decides about each request.
"""

from __future__ import annotations

import socket
from typing import Any

_SECONDS = 10.0
_MOST = 2000  # bytes of an answer


def ask_the_host(door: tuple[str, int], known: frozenset[str]) -> None:
    """Make `socket.getaddrinfo` ask at `door` for what the files do not say.

    Args:
        door: The address and port at which the host answers.
        known: Addresses that are listed.
    """
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *rest: Any, **options: Any) -> Any:
        fault: OSError | None = None
        places: list[Any] = []
        try:
            places = real(host, port, *rest, **options)
        except socket.gaierror as error:
            fault = error
        if places and all(_is_listed(place[4][0], known) for place in places):
            return places
        if isinstance(host, str | bytes) and host:
            return real(_ask(door, host), port, *rest, **options)
        if fault is not None:
            raise fault
        return places

    socket.getaddrinfo = getaddrinfo


def _is_listed(address: Any, known: frozenset[str]) -> bool:
    return str(address).startswith("127.") or address in known


def _ask(door: tuple[str, int], host: str | bytes) -> str:
    """The address of a name.

    Raises:
        gaierror: The host knows none; its words say why.
    """
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError:
            name = ascii(name)
    try:
        with socket.create_connection(door, _SECONDS) as sock:
            sock.sendall(f"{name[:300]}\n".encode("ascii", "replace"))
            answer = b""
            while len(answer) < _MOST and (piece := sock.recv(_MOST)):
                answer += piece
    except OSError:
        answer = b""
    text = answer.decode("ascii", "replace")
    if text.startswith("+"):
        return text[1:]
    raise socket.gaierror(socket.EAI_NONAME, text[1:] or f"{name} is not known here")
