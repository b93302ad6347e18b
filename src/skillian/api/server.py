"""uvicorn, configured for this service: graceful, bounded and without its own log."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from skillian.api.limits import MAX_FRAME, MAX_HEAD
from skillian.errors import SkillianError

SHUTDOWN_SECONDS = 10
MAX_CONNECTIONS = 2000
BACKLOG = 512
_COLLECTED = 700, 10, 10
# Longer than proxies keep theirs, so that none sends into a connection that is being closed.
IDLE_SECONDS = 75
STALLED_MS = 60_000

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """Serves until a signal, then finishes the open requests within a time limit.

    Args:
        app: The application.
        started: Called once connections are accepted.
    """

    def __init__(self, app: ASGIApp, started: Callable[[], None] | None = None) -> None:
        self._on_started = started
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            http="h11",  # the only one that limits headers as they arrive
            h11_max_incomplete_event_size=MAX_HEAD,
            ws_max_size=MAX_FRAME,
            backlog=BACKLOG,
            timeout_keep_alive=IDLE_SECONDS,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then accept connections."""
        await super().startup(sockets)
        # What is imported by now stays. A full collection that looks at it holds up all requests.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_COLLECTED)  # the command collects less often while it starts
        if self.started and self._on_started is not None:
            self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish the open requests, and stop the application."""
        await super().shutdown(sockets)
        gc.unfreeze()  # the libraries clean up at the end of the process

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """End on a signal. uvicorn would raise it again, before the turns are stored."""
        loop = asyncio.get_running_loop()
        for each in _SIGNALS:
            loop.add_signal_handler(each, self.handle_exit, each, None)
        try:
            yield
        finally:
            for each in _SIGNALS:
                loop.remove_signal_handler(each)


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to this address, for the server to listen on.

    Raises:
        SkillianError: The address is in use, or not one of this machine.
    """
    bare = host.strip("[]")
    listening = socket.socket(socket.AF_INET6 if ":" in bare else socket.AF_INET)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # Otherwise clients that read nothing would keep their answers in memory for ever.
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED_MS)
        listening.bind((bare, port))
    except OSError as error:
        listening.close()
        raise SkillianError(f"cannot serve on {host}:{port}: {error.strerror}") from None
    listening.settimeout(0)
    return listening
