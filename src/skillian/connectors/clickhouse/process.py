"""The process of one ClickHouse folder, from the side that starts it, and its statements."""

import json
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

from skillian.connectors.base import ArrowBatch, ColumnType
from skillian.connectors.clickhouse.errors import ClickHouseError
from skillian.connectors.clickhouse.statement import Parameter
from skillian.connectors.clickhouse.types import (
    arrow_schema,
    column_type,
    needs_conversion,
    readable,
    typed,
)

arrow: Any = pa  # pyarrow carries no types

# As in `worker`, which this process does not import: it would load ClickHouse.
_ROWS, _ERROR = b"R", b"E"
_LENGTH_BYTES = 4
_WORKER = Path(__file__).with_name("worker.py")
_STOP_SECONDS = 5.0


class ClickHouseProcess:
    """Starts the process with the first statement, and again after it has ended.

    Args:
        folder: ClickHouse's data folder.
        settings: The settings of each session.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str | int]) -> None:
        self._folder = folder
        self._settings = settings
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    @property
    def timezone(self) -> str:
        """The zone of a time without one of its own."""
        return str(self._settings["session_timezone"])

    def channel(self) -> socket.socket:
        """The socket of a new session; raises `OSError`."""
        ours, theirs = socket.socketpair()
        with self._lock, theirs:
            if self._process is None or self._process.poll() is not None:
                self._start()
            if self._control is not None:
                socket.send_fds(self._control, [b"s"], [theirs.fileno()])
        return ours

    def stop(self) -> None:
        """End the process and the statements that it runs."""
        with self._lock:
            process, self._process = self._process, None
            control, self._control = self._control, None
        if control is not None:
            control.close()
        if process is not None:
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self) -> None:
        if self._control is not None:
            self._control.close()
        self._control, theirs = socket.socketpair()
        arguments = [str(self._folder), json.dumps(self._settings)]
        with theirs:
            # Isolated, and in a session of its own: Ctrl-C reaches only the process that stops it.
            self._process = subprocess.Popen(  # noqa: S603 - our own file
                [sys.executable, "-I", str(_WORKER), *arguments],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"TZ": "UTC"},
                start_new_session=True,
            )


class ClickHouseStatement:
    """A SELECT that runs, and its rows; its methods block, `interrupt` stops them.

    Args:
        process: Where it runs.
    """

    def __init__(self, process: ClickHouseProcess) -> None:
        self._process = process
        self._channel: socket.socket | None = None
        self._stopped = False
        self._batches: Any = iter(())
        self.columns: dict[str, ColumnType] = {}

    def describe(self, text: str, parameters: Mapping[str, Parameter]) -> None:
        """Fill `columns`, without running the statement; raises `ClickHouseError`."""
        if self._channel is None:
            self._channel = self._process.channel()
        self._check()
        self._request(text, parameters, describe=True)
        answer = b"".join(iter(self._chunk, b""))
        self.columns = {name: column_type(kind) for name, kind, *_ in json.loads(answer)["data"]}

    def start(self, text: str, parameters: Mapping[str, Parameter]) -> None:
        """Run the statement; raises `ClickHouseError`."""
        self.describe(text, parameters)
        if any(needs_conversion(kind) for kind in self.columns.values()):
            text = readable(text, self.columns)
        self._request(text, parameters, describe=False)

    def batch(self) -> ArrowBatch | None:
        """The next rows, None after the last; raises `ClickHouseError` or `QueryError`."""
        self._check()
        batch = next(self._batches, None)
        while batch is None:
            chunk = self._chunk()
            if not chunk:
                return None
            self._batches = iter(arrow.ipc.open_stream(chunk).read_all().to_batches())
            batch = next(self._batches, None)
        return typed(batch, self.columns, self._process.timezone)

    @property
    def schema(self) -> Any:
        """The `pyarrow.Schema` of its rows."""
        return arrow_schema(self.columns)

    def interrupt(self) -> None:
        """Stop it, whether it has started or not; safe to call from any thread."""
        self._stopped = True
        if self._channel is not None:
            with suppress(OSError):
                self._channel.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop it and close its session; no other thread may be using it."""
        self.interrupt()
        if self._channel is not None:
            self._channel.close()

    def _request(self, text: str, parameters: Mapping[str, Parameter], *, describe: bool) -> None:
        values = {name: each.text for name, each in parameters.items()}
        request = json.dumps({"text": text, "parameters": values, "describe": describe}).encode()
        if self._channel is not None:
            with suppress(BrokenPipeError):  # reading reports why it was closed
                self._channel.sendall(len(request).to_bytes(_LENGTH_BYTES) + request)

    def _chunk(self) -> bytes:
        """The next part of the answer; empty after the last."""
        kind = self._received(1)
        content = self._received(int.from_bytes(self._received(_LENGTH_BYTES)))
        if kind == _ERROR:
            raise ClickHouseError(content.decode(errors="replace"))
        return content if kind == _ROWS else b""

    def _received(self, size: int) -> bytes:
        content = bytearray(size)
        view, received = memoryview(content), 0
        while received < size and self._channel is not None:
            count = self._channel.recv_into(view[received:])
            if not count:
                self._check()
                raise ClickHouseError("its process ended")
            received += count
        return bytes(content)

    def _check(self) -> None:
        if self._stopped:
            raise ClickHouseError("the statement was stopped")
