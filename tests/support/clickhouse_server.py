"""A stand-in for a ClickHouse server: the part of its HTTP interface that a reader uses, on chDB.

As ClickHouse documents it: a statement with its format is the body of a POST, or the field `query`
of a form; the database, the settings and the parameters `param_…` are in the address or the form. A
statement that fails at once has a status of its own and the header `X-ClickHouse-Exception-Code`;
one that fails after rows ends with the message between markers, without the end of the body.

Started as a process, since chDB opens one data folder in a process: the argument is the folder, and
the first line that it prints is the port.
"""

import re
import sys
from base64 import b64decode
from collections.abc import Iterator
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

import chdb
import pyarrow as pa

USER, PASSWORD = "reader", "s3cret/p@ss"

_FORMAT = re.compile(r"\sFORMAT (\w+)\s*\Z")
_CODE = re.compile(r"Code: (\d+)\. DB::Exception")
_TAG = "qwertyuiopasdfgh"
_TRANSPORT = frozenset(
    {"query", "database", "query_id", "default_format", "wait_end_of_query", "session_id"}
    | {"client_protocol_version", "compress", "decompress"}
)
_STATUS = {"60": 404, "81": 404, "164": 403, "497": 403, "516": 403}
_ERRORS = (chdb.ChdbError, RuntimeError)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        """Run a statement."""
        request = {
            **dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True)),
            **self._form(),
        }
        try:
            self._check_login()
            session: Any = chdb.connect(sys.argv[1])
            try:
                _prepare(session, request)
                self._answer(session, request)
            finally:
                session.close()
        except _ERRORS as error:
            self._fail(_text(error))

    def _form(self) -> dict[str, str]:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = self.headers.get("Content-Type", "")
        if not kind.startswith("multipart/form-data"):
            return {"query": body.decode()}
        form = message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
        return {
            str(part.get_param("name", header="content-disposition")): cast(
                "bytes", part.get_payload(decode=True)
            ).decode()
            for part in form.walk()
            if not part.is_multipart()
        }

    def _check_login(self) -> None:
        given = b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode()
        if given not in {"default:", f"{USER}:{PASSWORD}"}:
            user = given.partition(":")[0]
            raise chdb.ChdbError(
                f"Code: 516. DB::Exception: {user}: Authentication failed: password is incorrect,"
                " or there is no user with such name. (AUTHENTICATION_FAILED)"
            )

    def _answer(self, session: Any, request: dict[str, str]) -> None:
        text = request["query"]
        match = _FORMAT.search(text)
        form = match[1] if match else request.get("default_format", "TabSeparated")
        text = text[: match.start()] if match else text
        if text.startswith("KILL QUERY"):
            text = text.replace("query_id =", "Settings['log_comment'] =")
        values = {
            name.removeprefix("param_"): value
            for name, value in request.items()
            if name.startswith("param_")
        }
        if form == "ArrowStream":
            self._stream(session, text, values)
        else:
            answer = session.query(text, form, params=values).bytes()
            self._start(200, {"Content-Length": str(len(answer)), "X-ClickHouse-Format": form})
            self.wfile.write(answer)

    def _stream(self, session: Any, text: str, values: dict[str, str]) -> None:
        stream = session.send_query(text, "ArrowStream", params=values)
        pieces = iter(stream.fetch, None)
        first = next(pieces, None)
        if first is None:
            first = session.query(text, "ArrowStream", params=values)
        self._start(200, {"Transfer-Encoding": "chunked", "X-ClickHouse-Exception-Tag": _TAG})
        chunks = _Chunks(self.wfile)
        try:
            self._write(chunks, first.bytes(), pieces)
        except OSError:
            stream.cancel()
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")

    def _write(self, chunks: "_Chunks", first: bytes, pieces: Iterator[Any]) -> None:
        # chDB writes each block as a stream of its own, a server all of them as one.
        reader = pa.ipc.open_stream(first)
        writer = pa.ipc.new_stream(chunks, reader.schema)
        try:
            while True:
                for batch in reader:
                    writer.write_batch(batch)
                reader = pa.ipc.open_stream(next(pieces).bytes())
        except StopIteration:
            writer.close()
        except _ERRORS as error:
            message = _text(error)
            chunks.write(
                f"\r\n__exception__\r\n{_TAG}\r\n{message}\n"
                f"{len(message.encode()) + 1} {_TAG}\r\n__exception__\r\n".encode()
            )
            raise BrokenPipeError from None

    def _fail(self, message: str) -> None:
        match = _CODE.match(message)
        code = match[1] if match else "1000"
        body = message.encode()
        headers = {"X-ClickHouse-Exception-Code": code, "Content-Length": str(len(body))}
        self._start(_STATUS.get(code, 500), headers)
        self.wfile.write(body)

    def _start(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


class _Chunks:
    """A file whose writes are chunks of a body."""

    closed = False

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, content: Any) -> int:
        """Send one chunk."""
        piece = bytes(content)
        if piece:
            self._file.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
        return len(piece)

    def flush(self) -> None:
        """Nothing is kept."""


def _prepare(session: Any, request: dict[str, str]) -> None:
    if "database" in request:
        session.query(f"USE `{request['database']}`")
    settings = {
        name: value
        for name, value in request.items()
        if name not in _TRANSPORT and not name.startswith("param_")
    }
    if "query_id" in request:
        settings["log_comment"] = request["query_id"]
    for name in sorted(settings, key=lambda name: name == "readonly"):
        session.query(f"SET {name} = '{settings[name]}'")


def _text(error: Exception) -> str:
    return f"{str(error).removeprefix('Streaming query failed: ')} (version 26.9.0.1)"


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Clients that go are no errors."""


def main() -> None:
    """Serve until the process is ended."""
    kept = chdb.connect(sys.argv[1])  # otherwise each statement would open the folder again
    with _Server(("127.0.0.1", 0), _Handler) as server:
        sys.stdout.write(f"{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()
    kept.close()


if __name__ == "__main__":
    main()
