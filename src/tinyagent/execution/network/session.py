"""The network of one executor's sessions."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tinyagent.core.execution import ExecutionResult
from tinyagent.execution.network.access import NetworkAccess
from tinyagent.execution.network.gate import Gate, receive_listeners
from tinyagent.execution.network.rules import Allow
from tinyagent.execution.network.secrets import ApiKey, Bearer
from tinyagent.execution.trust import NETWORK_IMPORTS

PRELOADED = ("http.client", "ssl", "urllib.request")
"""Loaded before sessions fork. Other clients read the trusted certificates when they are loaded."""


class SessionNetwork:
    """Opens the network of each session of an executor, one after another, and serves its steps.

    Args:
        items: what may be reached.
        secrets: for hosts of the list.
        max_bytes: that a step may send and receive.

    Raises:
        ConfigurationError: an item or a secret cannot be used, or the extra is not installed.
    """

    def __init__(
        self,
        items: Iterable[str | Allow],
        secrets: Mapping[str, Bearer | ApiKey],
        max_bytes: int,
    ) -> None:
        self._access = NetworkAccess(items, secrets, max_bytes)
        self._listeners: list[socket.socket] = []

    def preload(self, modules: Iterable[str]) -> tuple[str, ...]:
        """The modules to load before sessions fork, of those that the code will use."""
        others = [name for name in modules if name.partition(".")[0] not in NETWORK_IMPORTS]
        return (*others, *PRELOADED)

    def order(self) -> dict[str, Any]:
        """What a new session gets to know."""
        return self._access.order()

    async def attach(self, sock: socket.socket) -> None:
        """Take the listening sockets of a new session, before any other frame of it is read.

        Raises:
            TimeoutError: it sends nothing.
        """
        self.close()
        self._listeners = await receive_listeners(sock, len(self._access.ports))

    async def serve(self, step: Awaitable[ExecutionResult]) -> ExecutionResult:
        """Serve the session while a step runs; the result says what the code asked for."""
        async with Gate(self._access, self._listeners) as gate:
            result = await step
        return replace(result, requests=tuple(gate.records))

    def close(self) -> None:
        """Close the sockets of the session: whatever is left of it reaches nothing any more."""
        while self._listeners:
            self._listeners.pop().close()
