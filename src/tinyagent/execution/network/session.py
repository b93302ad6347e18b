"""The network of one executor's sessions."""

from __future__ import annotations

import os
import socket
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

from tinyagent.core.execution import ExecutionResult
from tinyagent.execution.network.access import NetworkAccess
from tinyagent.execution.network.gate import Gate
from tinyagent.execution.protocol import OnRequest
from tinyagent.execution.trust import NETWORK_IMPORTS

PRELOADED = ("http.client", "ssl", "urllib.request")
"""Loaded before sessions fork. Other clients read the trusted certificates when they are loaded."""


class SessionNetwork:
    """Opens the network of each session of an executor, one after another, and serves its steps.

    Args:
        access: What may be reached.
    """

    def __init__(self, access: NetworkAccess) -> None:
        self._access = access
        self._names = access.names()
        self._listeners: list[socket.socket] = []
        self._gate: Gate | None = None

    def renewed(self) -> Self:
        """Another for the same hosts, without this one's session."""
        return type(self)(self._access)

    def preload(self, modules: Iterable[str]) -> tuple[str, ...]:
        """The modules to load before sessions fork, of those that the code will use."""
        others = [name for name in modules if name.partition(".")[0] not in NETWORK_IMPORTS]
        return (*others, *PRELOADED)

    def describe(self, order: dict[str, Any]) -> None:
        """Add to a new session's order what it has to know."""
        self.close()
        self._names = self._access.names()
        order["network"] = self._access.order()

    def take(self, descriptors: Sequence[int]) -> None:
        """Take the listening sockets of a new session, which come with its first frame."""
        self._listeners = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        for listener in self._listeners:
            os.set_inheritable(listener.fileno(), False)  # noqa: FBT003 - os's own signature
            listener.setblocking(False)  # noqa: FBT003 - as above
        if self._gate is not None:
            self._gate.listen(self._listeners)

    async def serve(
        self,
        step: Awaitable[ExecutionResult],
        on_request: OnRequest,
    ) -> ExecutionResult:
        """Serve the session while a step runs; the result lists what the code asked for.

        Args:
            step: What to wait for.
            on_request: Called with each request once it has ended.
        """
        async with Gate(self._access, self._names, self._listeners, on_request) as gate:
            self._gate = gate
            try:
                result = await step
            finally:
                self._gate = None
        return replace(result, requests=tuple(gate.records))

    def close(self) -> None:
        """Close the sockets of the session: whatever is left of it reaches nothing any more."""
        if self._gate is not None:
            self._gate.listen([])
        while self._listeners:
            self._listeners.pop().close()
