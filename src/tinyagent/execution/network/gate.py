"""The host's side of a sandbox's network: accepts its connections and serves them.

The listening sockets live in the session's network namespace, so nobody else can connect. The local
address of a connection says which host of the list it is for.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Self

from tinyagent.core.execution import NetworkRequest
from tinyagent.execution.network.access import NAME_DOOR, NetworkAccess, SessionNames
from tinyagent.execution.network.exchange import ByteBudget, Exchange, Progress, Services
from tinyagent.execution.network.heads import RequestRefused, read_head
from tinyagent.execution.network.rules import Target
from tinyagent.execution.network.streams import HEAD_SECONDS, Stream, open_stream, readable
from tinyagent.execution.network.upstream import open_client
from tinyagent.execution.protocol import OnRequest

MAX_CONNECTIONS = 64
_MOST_WAITING = 1024
_MOST_ACCEPTED = MAX_CONNECTIONS + 16  # those beyond the limit get an error
MAX_REQUESTS = 10_000
"""Requests of a step that are answered and reported, lookups of names included."""
MAX_REFUSALS = 1_000
"""Refused requests that the result of a step lists."""
_CLOSE_SECONDS = 0.2  # everything is cut: only callbacks are still to come
_SNIFF_SECONDS = 10.0
_MAX_NAME_LINE = 400
_TLS_HANDSHAKE = b"\x16"


class Gate:
    """Serves the connections of a session during one step.

    Args:
        access: What may be reached.
        names: Of the session.
        listeners: Of the session; `listen` brings those of one that only starts.
        on_request: Called with each request once it has ended.
    """

    def __init__(
        self,
        access: NetworkAccess,
        names: SessionNames,
        listeners: list[socket.socket],
        on_request: OnRequest,
    ) -> None:
        self._access = access
        self._names = names
        self._listeners = listeners
        self._on_request = on_request
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = 0
        self._is_listening = self._is_closing = False
        self._requests = self._refused = 0
        self.records: list[NetworkRequest] = []
        """What the code asked for, oldest first: all that was allowed, and the first refusals."""

    async def __aenter__(self) -> Self:
        """Begin to serve; what tried to connect between steps is dropped."""
        self._loop = asyncio.get_running_loop()
        self._drop_waiting()
        access = self._access
        client = open_client(access.policy, access.lookups)
        budget = ByteBudget(access.max_bytes)
        self._services = Services(access.policy, access.secrets, client, budget)
        self._listen(on=True)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close all connections, and wait until they are closed."""
        self._is_closing = True
        self._listen(on=False)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CLOSE_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._services.client.close()
        self._drop_waiting()

    def _drop_waiting(self) -> None:
        for listener in self._listeners:
            with suppress(OSError):
                for _ in range(_MOST_WAITING):
                    listener.accept()[0].close()

    def _accept(self, listener: socket.socket) -> None:
        if len(self._tasks) >= _MOST_ACCEPTED:
            self._listen(on=False)
            return
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        sock.setblocking(False)  # noqa: FBT003 - the socket module's own signature
        task = self._loop.create_task(self._serve(sock))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not self._is_closing and not self._is_listening:
            self._listen(on=True)

    def listen(self, listeners: list[socket.socket]) -> None:
        """Accept connections from these sockets only; the others may then be closed."""
        self._listen(on=False)
        self._listeners = listeners
        self._listen(on=True)

    def _listen(self, *, on: bool) -> None:
        self._is_listening = on
        for listener in self._listeners:
            if on:
                self._loop.add_reader(listener.fileno(), self._accept, listener)
            else:
                self._loop.remove_reader(listener.fileno())

    async def _serve(self, sock: socket.socket) -> None:
        """Serve one connection until it ends, however it ends."""
        address, port = sock.getsockname()
        self._open += 1
        try:
            if address == NAME_DOOR:
                await self._answer_names(sock)
                return
            host = self._names.host_at(address)
            if host is not None:
                await self._serve_host(sock, host, port)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the code has gone, or sent nothing in time
        finally:
            self._open -= 1
            sock.close()

    async def _answer_names(self, sock: socket.socket) -> None:
        """Answer one question for the address of a name."""
        line = b""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(_SNIFF_SECONDS):
            while b"\n" not in line and len(line) < _MAX_NAME_LINE:
                piece = await loop.sock_recv(sock, _MAX_NAME_LINE)
                if not piece:
                    return
                line += piece
            text = line.partition(b"\n")[0].decode("latin-1")
            try:
                self._check_limits()
                self._services.budget.take(len(line))
                address, reason = self._names.find(text)
            except RequestRefused as fault:
                address, reason = "", fault.reason
            if reason:
                shown = text[:100].encode("unicode_escape").decode("ascii")
                self._note(NetworkRequest("LOOKUP", shown, "", allowed=False, reason=reason))
            answer = f"+{address}" if address else f"-{reason}"
            await loop.sock_sendall(sock, answer[: _MAX_NAME_LINE * 4].encode("ascii", "replace"))

    async def _serve_host(self, sock: socket.socket, host: str, port: int) -> None:
        async with asyncio.timeout(HEAD_SECONDS):
            await readable(sock)
        is_tls = sock.recv(1, socket.MSG_PEEK) == _TLS_HANDSHAKE
        target = Target("https" if is_tls else "http", host, port)
        context = self._access.authority.context(host) if is_tls else None
        stream = await open_stream(sock, context)
        if stream is None:
            reason = (
                "the TLS of this connection names another host, or does not trust the certificate"
                f" of this sandbox, which is in {_CERTIFICATE_VARIABLES}"
            )
            self._note(NetworkRequest("?", str(target), "", allowed=False, reason=reason))
            return
        try:
            while await self._answer_one(stream, target):
                pass
            await stream.close()
        finally:
            stream.abort()

    async def _answer_one(self, stream: Stream, target: Target) -> bool:
        """Answer the next request; returns whether another may follow."""
        progress = Progress(target)
        data = b""
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                data = await stream.read_head()
            if not data:
                return False
            self._check_limits()
            self._services.budget.take(len(data))
            head = read_head(data)
            exchange = Exchange(self._services, progress, stream.reader, stream)
            return await exchange.answer(head) and not stream.reader.at_eof()
        except RequestRefused as fault:
            progress.status, progress.reason = fault.status, fault.reason
            if not progress.has_answer:
                await stream.write(_refusal(fault))
                await stream.drain_input()
            return False
        except ConnectionAbortedError as fault:
            progress.reason = progress.reason or str(fault)
            stream.abort()
            return False
        except BaseException:
            progress.reason = progress.reason or "the connection ended before the answer did"
            stream.abort()
            raise
        finally:
            if data or progress.status is not None:
                self._note(progress.record())

    def _check_limits(self) -> None:
        self._requests += 1
        if self._open > MAX_CONNECTIONS:
            raise RequestRefused(
                503, f"{MAX_CONNECTIONS} connections are open: close some, or reuse them"
            )
        if self._requests > MAX_REQUESTS:
            raise RequestRefused(429, f"a step may make {MAX_REQUESTS:,} requests")

    def _note(self, record: NetworkRequest) -> None:
        """Report a request that has ended; a flood of refused ones is cut off, and hides none."""
        self._refused += not record.allowed
        if record.allowed or self._refused <= MAX_REFUSALS:
            self.records.append(record)
        if self._on_request is not None and (record.allowed or self._refused <= MAX_REQUESTS):
            # Not from within this task, which would swallow an error of the listener.
            self._loop.call_soon(self._on_request, record)


_CERTIFICATE_VARIABLES = "the file that SSL_CERT_FILE names"


def _refusal(fault: RequestRefused) -> bytes:
    body = f"{fault.reason}\n".encode("utf-8", "replace")
    return (
        b"HTTP/1.1 %d Refused by the sandbox\r\nContent-Type: text/plain; charset=utf-8\r\n"
        b"Content-Length: %d\r\nConnection: close\r\nX-Refused-By: sandbox\r\n\r\n%b"
        % (fault.status, len(body), body)
    )
