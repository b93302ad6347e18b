"""The process that runs ClickHouse; it imports only the standard library and chDB.

chDB opens one data folder in a process, and cannot stop a statement that has not returned rows.
Here each folder has a process, and each statement a thread, a session and a socket:

    request   length (4 bytes), JSON: {"text", "parameters", "describe"}; one after the other
    reply     frames: kind (1 byte), length (4 bytes), content; the kinds are ROWS, ERROR and END

A statement whose socket is closed is killed. The process ends when its standard input, the socket
on which it receives the sockets of statements, is closed.
"""

import json
import os
import select
import socket
import struct
import sys
from contextlib import suppress
from threading import Event, Thread
from typing import Any
from uuid import uuid4

import chdb

ROWS, ERROR, END = b"R", b"E", b"."
LENGTH = struct.Struct(">I")

_KILL_INTERVAL_SECONDS = 0.05
_READ_ONLY = "SET readonly = 1"
_ERRORS = (chdb.ChdbError, RuntimeError)


def main() -> None:
    """Serve statements until the other side is closed; arguments: folder, settings as JSON."""
    folder, settings = sys.argv[1], json.loads(sys.argv[2])
    with socket.socket(fileno=0) as control:
        while sockets := socket.recv_fds(control, 1, 1)[1]:
            channel = socket.socket(fileno=sockets[0])
            Thread(target=_serve, args=(channel, folder, settings), daemon=True).start()
    os._exit(0)  # statements may still run


def _serve(channel: socket.socket, folder: str, settings: dict[str, Any]) -> None:
    identity, ended = str(uuid4()), Event()
    Thread(target=_watch, args=(channel, folder, identity, ended), daemon=True).start()
    with channel, suppress(OSError):
        try:
            session: Any = chdb.connect(folder)
            try:
                for name, value in {**settings, "log_comment": identity}.items():
                    session.query(f"SET {name} = {_literal(value)}")
                session.query(_READ_ONLY)
                while request := _received(channel):
                    _answer(channel, session, json.loads(request))
            finally:
                ended.set()
                session.close()
        except _ERRORS as error:
            _send(channel, ERROR, str(error).encode())
    ended.set()


def _answer(channel: socket.socket, session: Any, request: dict[str, Any]) -> None:
    text, parameters = request["text"], request["parameters"]
    try:
        if request["describe"]:
            columns = session.query(f"DESCRIBE TABLE ({text})", "JSONCompact", params=parameters)
            _send(channel, ROWS, columns.bytes())
            _send(channel, END, b"")
            return
        stream = session.send_query(text, "ArrowStream", params=parameters)
        while (chunk := stream.fetch()) is not None:
            try:
                _send(channel, ROWS, chunk.bytes())
            except OSError:
                stream.cancel()
                raise
    except _ERRORS as error:
        _send(channel, ERROR, str(error).encode())
    else:
        _send(channel, END, b"")


def _watch(channel: socket.socket, folder: str, identity: str, ended: Event) -> None:
    """Kill the statement of a socket when its other side is closed."""
    poll = select.poll()
    poll.register(channel, select.POLLRDHUP)
    while not ended.is_set() and not poll.poll(1000):
        pass
    if ended.is_set():
        return
    killer: Any = chdb.connect(folder)
    try:
        # Repeatedly, since the statement may not have started.
        while not ended.wait(_KILL_INTERVAL_SECONDS):
            killer.query(f"KILL QUERY WHERE Settings['log_comment'] = {_literal(identity)} ASYNC")
    finally:
        killer.close()


def _received(channel: socket.socket) -> bytes:
    """The next request; empty when the other side is closed."""
    head = _exactly(channel, LENGTH.size)
    return _exactly(channel, LENGTH.unpack(head)[0]) if head else b""


def _exactly(channel: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        piece = channel.recv(size - len(content))
        if not piece:
            return b""
        content += piece
    return content


def _send(channel: socket.socket, kind: bytes, content: bytes) -> None:
    channel.sendall(kind + LENGTH.pack(len(content)))
    channel.sendall(content)


def _literal(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


if __name__ == "__main__":
    main()
