"""uvicorn as this service wants it: graceful, bounded, and quiet about itself."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from skillian.api.bounds import MAX_HEAD
from skillian.api.limits import MAX_FRAME
from skillian.errors import SkillianError

SHUTDOWN_SECONDS = 10
MAX_CONNECTIONS = 2000
BACKLOG = 512
# Longer than proxies keep theirs, so that none sends into a connection that is just closed.
IDLE_SECONDS = 75
STALLED_MS = 60_000

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """Serves until a signal; then answers what was asked, for a while.

    Args:
        app: what is served.
        started: is called once connections are let in.
    """

    def __init__(self, app: ASGIApp, started: Callable[[], None] | None = None) -> None:
        self._on_started = started
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            http="h11",  # the only one that bounds headers while they come
            h11_max_incomplete_event_size=MAX_HEAD,
            ws_max_size=MAX_FRAME,
            backlog=BACKLOG,
            timeout_keep_alive=IDLE_SECONDS,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then let connections in."""
        await super().startup(sockets)
        if self.started and self._on_started is not None:
            self._on_started()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """End on a signal. uvicorn would raise it again, before the turns are written down."""
        loop = asyncio.get_running_loop()
        for each in _SIGNALS:
            loop.add_signal_handler(each, self.handle_exit, each, None)
        try:
            yield
        finally:
            for each in _SIGNALS:
                loop.remove_signal_handler(each)


def listen(host: str, port: int) -> socket.socket:
    """A socket at this address, which the server will listen on.

    Raises:
        SkillianError: the address is taken, or none of this machine's.
    """
    bare = host.strip("[]")
    listening = socket.socket(socket.AF_INET6 if ":" in bare else socket.AF_INET)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # Clients that read nothing would keep what was sent to them for ever.
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED_MS)
        listening.bind((bare, port))
    except OSError as error:
        listening.close()
        raise SkillianError(f"cannot serve on {host}:{port}: {error.strerror}") from None
    listening.settimeout(0)
    return listening
