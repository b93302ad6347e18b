"""A ClickHouse server over HTTP, and the statements that it runs."""

import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from typing import Any
from uuid import uuid4

import clickhouse_connect as driver
from clickhouse_connect.driver.exceptions import ClickHouseError
from urllib3.exceptions import HTTPError

from skillian.connectors.arrow import arrow
from skillian.connectors.base import STREAM_TIMEOUT_SECONDS, ColumnType, columns_by_name
from skillian.connectors.clickhouse.errors import LOST, StatementError
from skillian.connectors.clickhouse.statement import Parameter, bound, checked, without_materialized
from skillian.connectors.clickhouse.types import column_type, needs_conversion, readable, typed
from skillian.connectors.servers import Session

clickhouse_connect: Any = driver  # its functions have parameters without types

# Otherwise its warnings, with the address of the server, would be printed.
logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())

_CONNECT_SECONDS = 10
# Standard SQL where ClickHouse has another default, and an error at the limits of a user, which may
# otherwise cut a result.
_SETTINGS: dict[str, str | int] = {
    "join_use_nulls": 1,
    "cast_keep_nullable": 1,
    "allow_suspicious_low_cardinality_types": 1,  # which tables may have already
    "aggregate_functions_null_for_empty": 1,
    "prefer_column_name_to_alias": 1,
    "enable_positional_arguments": 0,
    "transform_null_in": 0,
    "union_default_mode": "DISTINCT",
    "intersect_default_mode": "DISTINCT",
    "except_default_mode": "DISTINCT",
    "short_circuit_function_evaluation": "force_enable",
    "formatdatetime_parsedatetime_m_is_month_name": 0,
    "output_format_arrow_string_as_string": 0,
    "output_format_arrow_low_cardinality_as_dictionary": 0,
    "query_plan_remove_redundant_sorting": 0,
    "distinct_overflow_mode": "throw",
    "group_by_overflow_mode": "throw",
    "join_overflow_mode": "throw",
    "read_overflow_mode": "throw",
    "read_overflow_mode_leaf": "throw",
    "result_overflow_mode": "throw",
    "set_overflow_mode": "throw",
    "sort_overflow_mode": "throw",
    "timeout_overflow_mode": "throw",
    "timeout_overflow_mode_leaf": "throw",
    "transfer_overflow_mode": "throw",
}
_MATERIALIZED = "enable_materialized_cte"
_NO_SETTINGS = (
    "the user may not change the settings {names}; its profile needs readonly = 2 instead of 1, and"
    " no constraints on these"
)
_TAIL_BYTES = 1 << 16
_PIECE_BYTES = 1 << 20
_END = b"\xff\xff\xff\xff\0\0\0\0"
_KILL = "KILL QUERY WHERE query_id = '{identity}' ASYNC"


class ClickHouseServer:
    """Connects with the first statement; all methods may be called from any thread.

    Args:
        login: The driver's arguments for a connection, and the `timezone` of a time without one.
    """

    def __init__(self, login: Mapping[str, Any]) -> None:
        self._login = dict(login)
        self.timezone = str(self._login.pop("timezone"))
        self._lock = Lock()
        self._client: Any = None

    @property
    def client(self) -> Any:
        """The driver's client; raises its errors."""
        with self._lock:
            if self._client is None:
                self._client = clickhouse_connect.get_client(
                    **self._login,
                    autogenerate_session_id=False,
                    compress=False,  # Arrow is compressed itself
                    connect_timeout=_CONNECT_SECONDS,
                    send_receive_timeout=int(STREAM_TIMEOUT_SECONDS) + _CONNECT_SECONDS,
                    dedicated_pool=True,
                )
            return self._client

    @property
    def materializes(self) -> bool:
        """Whether it knows relations that are computed once for all of their uses."""
        return _MATERIALIZED in self.client.server_settings

    def settings(self, seconds: float) -> dict[str, str | int | float]:
        """The settings of a statement; raises `StatementError` if they are not the user's."""
        known: Mapping[str, Any] = self.client.server_settings
        wanted: dict[str, str | int | float] = {
            **_SETTINGS,
            "session_timezone": self.timezone,
            "max_execution_time": seconds,
            **({_MATERIALIZED: 1} if self.materializes else {}),
            # A user whose profile says 2 cannot write either, and may not change it.
            **({"readonly": 1} if known["readonly"].value == "0" else {}),
        }
        fixed = [
            name
            for name, value in wanted.items()
            if name in known and known[name].readonly and known[name].value != str(value)
        ]
        if fixed:
            raise StatementError(_NO_SETTINGS.format(names=", ".join(fixed)))
        return wanted

    def kill(self, identity: str) -> None:
        """Have the server stop a statement, if it can be reached."""
        client = self._client  # without one, no statement runs
        if client is not None:
            with suppress(ClickHouseError):
                client.command(_KILL.format(identity=identity))

    def close(self) -> None:
        """Disconnect; the next statement connects again."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()


class ClickHouseStatement(Session):
    """A SELECT that runs on a server."""

    def __init__(self, server: ClickHouseServer, seconds: float) -> None:
        super().__init__(seconds)
        self._server = server
        self._identity = str(uuid4())
        self._answer: Answer | None = None

    def describe(self, statement: str) -> dict[str, ColumnType]:
        """The columns of a SELECT without parameters, without running it."""
        return self._described(checked(statement, {}), {})

    def start(self, statement: str, parameters: Mapping[str, object]) -> None:
        """Start a SELECT; raises `QueryError` for any other statement, and the driver's errors."""
        values = bound(parameters)
        text = checked(statement, values)
        columns = self._described(text, values)
        self.columns = [*columns.items()]
        if any(needs_conversion(kind) for kind in columns.values()):
            text = readable(text, columns)
        answer = self._answer = Answer(self._asked("raw_stream", text, values, "ArrowStream"))
        timezone = self._server.timezone
        self.rows = (typed(each, self.columns, timezone) for each in iter(answer.batch, None))

    def kill(self) -> None:
        """Have the server stop the statement, if it can be reached."""
        self._server.kill(self._identity)

    def stop(self) -> None:
        """Have the server stop it, if it still runs."""
        if self._answer is not None and not self._answer.ended:
            self.kill()
            self._answer.close()

    def _described(self, text: str, parameters: Mapping[str, Parameter]) -> dict[str, ColumnType]:
        answer = self._asked("raw_query", f"DESCRIBE TABLE ({text})", parameters, "JSONCompact")
        return columns_by_name(
            (name, column_type(kind)) for name, kind, *_ in json.loads(answer)["data"]
        )

    def _asked(self, call: str, text: str, parameters: Mapping[str, Parameter], form: str) -> Any:
        self.check()
        settings = self._server.settings(self.seconds)
        return getattr(self._server.client, call)(
            text if self._server.materializes else without_materialized(text),
            parameters={name: each.value for name, each in parameters.items()},
            settings={**settings, "query_id": self._identity},
            fmt=form,
        )


class Answer:
    """The rows of an answer, which a server that fails ends with the text of an error."""

    def __init__(self, response: Any) -> None:
        self._response = response
        self._pieces = response.stream(_PIECE_BYTES)
        self._buffer = bytearray()
        self._tail = b""
        self._reader: Any = None
        self.ended = self.closed = False

    def batch(self) -> Any:
        """The next rows, None after the last; raises `StatementError`."""
        try:
            self._reader = self._reader or arrow.ipc.open_stream(self)
            batch = next(self._reader, None)
            if batch is None:
                self.read(1)  # what comes after the rows
        except (arrow.ArrowInvalid, OSError, HTTPError):
            raise self._failure() from None
        if batch is None and not self._tail.endswith(_END):
            raise self._failure()
        self.ended = batch is None
        return batch

    def read(self, size: int) -> bytes:
        """So many bytes, fewer at the end; pyarrow calls it."""
        while len(self._buffer) < size and (piece := next(self._pieces, b"")):
            self._buffer += piece
            self._tail = (self._tail + piece)[-_TAIL_BYTES:]
        read = bytes(self._buffer[:size])
        del self._buffer[:size]
        return read

    def close(self) -> None:
        """Disconnect, whatever was not read."""
        self.closed = True
        self._response.close()

    def _failure(self) -> StatementError:
        with suppress(OSError, HTTPError):
            while self.read(_PIECE_BYTES):
                pass
        self.ended = True
        self.close()
        text = self._tail.decode(errors="replace")
        return StatementError(text if "DB::Exception" in text else LOST)
