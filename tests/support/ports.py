"""A port of this machine that nobody else is given."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress


def own_port() -> int:
    """A free port below those that the kernel gives to whoever asks for any."""
    while True:
        number = secrets.randbelow(10_000) + 20_000
        with suppress(OSError), socket.create_server(("127.0.0.1", number)):
            return number
