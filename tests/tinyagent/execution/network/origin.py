"""Servers that sandboxed code may or may not reach, and a name server; they note what they get."""

from __future__ import annotations

import base64
import codecs
import gzip
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

ZONE = {
    "api.example.com": ["93.184.216.34"],
    "other.example.com": ["93.184.216.34"],
    "xn--bcher-kva.example.com": ["93.184.216.34"],
    "a.example.org": ["93.184.216.35"],
    "b.c.example.org": ["93.184.216.35"],
    "example.org": ["93.184.216.35"],
    "evil.com": ["93.184.216.66"],
    "api.example.com.evil.com": ["93.184.216.66"],
    "badexample.org": ["93.184.216.66"],
    "inside.example.net": ["10.0.0.5"],
    "metadata.example.net": ["169.254.169.254"],
    "mixed.example.net": ["93.184.216.34", "10.0.0.5"],
    "changing.example.net": ["93.184.216.34"],
    "untrusted.example.net": ["93.184.216.67"],
    "loop.example.net": ["127.0.0.1"],
    "platform.example.net": ["168.63.129.16"],
    "carrier.example.net": ["100.100.100.200"],
    "benchmark.example.net": ["198.18.0.1"],
    "special.example.net": ["192.0.0.192"],
    "zero.example.net": ["0.0.0.0"],  # noqa: S104 - an address to refuse
    "reserved.example.net": ["240.0.0.1"],
    "mapped.example.net": ["::ffff:10.0.0.5"],
    "nat64.example.net": ["64:ff9b::a00:5"],
    "sixtofour.example.net": ["2002:a00:5::1"],
    "compatible.example.net": ["::a00:5"],
    "local6.example.net": ["fd00:ec2::254"],
    "link6.example.net": ["fe80::1"],
}
_NOT_FOR_A_DEVICE = {"127.0.0.1", "0.0.0.0", "240.0.0.1"}  # noqa: S104 - an address to refuse
ADDRESSES = sorted(
    {address for found in ZONE.values() for address in found if ":" not in address}
    - _NOT_FOR_A_DEVICE
)

asked: list[str] = []
"""Names that were looked up."""
requests: list[dict[str, Any]] = []
"""Requests that arrived, with what they said."""


class Origin(BaseHTTPRequestHandler):
    """Answers by its path."""

    protocol_version = "HTTP/1.1"
    timeout = 20
    disable_nagle_algorithm = True  # a head and its body are two packets

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Print nothing."""

    def read_body(self) -> bytes:
        """The body, in one piece or in chunks."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def handle_any(self) -> None:
        """Note the request, and answer it."""
        body = self.read_body()
        note = {
            "method": self.command,
            "path": self.path,
            "host": self.headers.get("Host"),
            "address": self.connection.getsockname()[0],
            "tls": isinstance(self.connection, ssl.SSLSocket),
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "size": len(body),
        }
        requests.append(note)
        parts = urlsplit(self.path)
        name = parts.path.strip("/").split("/")[0] or "index"
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        answer = getattr(self, f"answer_{name}", None)
        if answer is None:
            self.reply(200, json.dumps({**note, "body": body.decode("latin-1")}).encode())
        else:
            answer(query)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = do_TRACE = handle_any  # noqa: N815

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        """A whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_redirect(self, query: dict[str, str]) -> None:
        self.reply(302, b"", Location=query["to"])

    def answer_status(self, query: dict[str, str]) -> None:
        self.reply(int(query["code"]), b'{"error": "as asked"}')

    def answer_gzip(self, _: dict[str, str]) -> None:
        self.reply(200, gzip.compress(b'{"packed": true}'), Content_Encoding="gzip")

    def answer_bytes(self, query: dict[str, str]) -> None:
        self.reply(200, b"x" * int(query["size"]))

    def answer_slow(self, query: dict[str, str]) -> None:
        time.sleep(float(query["seconds"]))
        self.reply(200, b"{}")

    def answer_cookie(self, _: dict[str, str]) -> None:
        self.reply(200, b"{}", Set_Cookie="taste=sweet; Path=/")

    def answer_stream(self, query: dict[str, str]) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(int(query.get("pieces", "5"))):
            line = f"line {number}\n".encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
        self.wfile.write(b"0\r\n\r\n")

    def answer_cut(self, _: dict[str, str]) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"too little")
        self.close_connection = True

    def answer_endless(self, _: dict[str, str]) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        piece = b"x" * 65536
        try:
            while True:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        except OSError:
            self.close_connection = True

    def answer_second(self, _: dict[str, str]) -> None:
        self.reply(200, b"first")
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")

    def answer_hints(self, _: dict[str, str]) -> None:
        try:
            while True:
                self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nX: " + b"x" * 8000 + b"\r\n\r\n")
        except OSError:
            self.close_connection = True

    def answer_headers(self, _: dict[str, str]) -> None:
        try:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while True:
                self.wfile.write(b"X: " + b"x" * 8000 + b"\r\n")
        except OSError:
            self.close_connection = True

    def answer_trailers(self, _: dict[str, str]) -> None:
        key = (self.headers.get("authorization") or "none").removeprefix("Bearer ").encode()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        self.wfile.write(b"2\r\n{}\r\n0\r\nX-Key: " + key + b"\r\n\r\n")

    def answer_upgrade(self, _: dict[str, str]) -> None:
        self.wfile.write(
            b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello"
        )
        self.close_connection = True

    def answer_echo(self, query: dict[str, str]) -> None:
        """The key that came with the request, written in one of many ways."""
        header = query.get("header", "authorization")
        key = (self.headers.get(header) or "none").removeprefix("Bearer ")
        text, headers, status = _written(key, query["how"]), {}, 200
        if query["how"] == "header":
            text, headers = "{}", {"X-Echo": key}
        elif query["how"] == "name":
            text, headers = "{}", {f"X-{key.replace('/', '-')}": "1"}
        elif query["how"] == "cookie":
            text, headers = "{}", {"Set-Cookie": f"k={key}; Path=/"}
        elif query["how"] == "location":
            text, headers, status = "", {"Location": f"/?key={quote(key, safe='')}"}, 302
        elif query["how"] == "gzip":
            self.reply(200, gzip.compress(key.encode()), Content_Encoding="gzip")
            return
        elif query["how"] == "reason":
            self.wfile.write(f"HTTP/1.1 200 {key}\r\nContent-Length: 0\r\n\r\n".encode())
            return
        elif query["how"] == "chunks":
            self._in_chunks(key)
            return
        elif query["how"] == "range" and "Range" in self.headers:
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            self.reply(206, key.encode()[int(first) : int(last) + 1])
            return
        self.reply(status, text if isinstance(text, bytes) else text.encode(), **headers)

    def _in_chunks(self, key: str) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for letter in f"<{key}>":
            self.wfile.write(b"1\r\n%b\r\n" % letter.encode())
            self.wfile.flush()
            time.sleep(0.001)
        self.wfile.write(b"0\r\n\r\n")


def _written(key: str, how: str) -> str | bytes:
    encoded = key.encode()
    forms: dict[str, str | bytes] = {
        "plain": key,
        "upper": key.upper(),
        "percent": quote(key, safe=""),
        "percent_all": "".join(f"%{byte:02X}" for byte in encoded),
        "base64": base64.b64encode(encoded),
        "base64_bearer": base64.b64encode(b"Bearer " + encoded),
        "base64_user": base64.b64encode(b"u:" + encoded),
        "base64_three": base64.b64encode(b"x" + encoded),
        "hex": encoded.hex(),
        "json": json.dumps(key).replace("/", "\\/"),
        "unicode": "".join(f"\\u{byte:04x}" for byte in encoded),
        "utf16": codecs.encode(key, "utf-16"),
        "twice": f"{key}{key}",
        "html": "".join(f"&#{byte};" for byte in encoded),
    }
    return forms.get(how, key)


class NameServer(threading.Thread):
    """Answers questions for addresses from `ZONE`, and notes them all."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sock.bind(("127.0.0.53", 53))

    def run(self) -> None:
        """Answer for ever."""
        while True:
            question, sender = self._sock.recvfrom(512)
            self._sock.sendto(_name_answer(question), sender)


def _name_answer(question: bytes) -> bytes:
    labels: list[str] = []
    at = 12
    while question[at]:
        labels.append(question[at + 1 : at + 1 + question[at]].decode("latin-1"))
        at += question[at] + 1
    name, kind = ".".join(labels).lower(), struct.unpack_from(">H", question, at + 1)[0]
    asked.append(name)
    found = ZONE.get(name)
    if name == "changing.example.net" and kind == 1:
        found = [["93.184.216.34"], ["10.0.0.5"]][asked.count(name) > 2]
    family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
    wanted = [each for each in found or [] if (":" in each) == (kind == 28)]  # AAAA
    addresses = [socket.inet_pton(family, each) for each in wanted] if family else []
    flags = 0x8180 if found is not None else 0x8183
    head = question[:2] + struct.pack(">HHHHH", flags, 1, len(addresses), 0, 0)
    records = b"".join(
        struct.pack(">HHHIH", 0xC00C, kind, 1, 0, len(address)) + address for address in addresses
    )
    return head + question[12 : at + 5] + records


@contextmanager
def served_locally() -> Generator[int]:
    """Serve HTTP on a free port of this machine, which is given."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def serve(trusted: ssl.SSLContext, untrusted: ssl.SSLContext) -> None:
    """Serve on all addresses: HTTP on 80 and 8080, HTTPS on 443."""
    NameServer().start()
    for port, context in ((80, None), (8080, None), (443, trusted)):
        server = ThreadingHTTPServer(("0.0.0.0", port), Origin)  # noqa: S104 - of a namespace
        server.daemon_threads = True
        if context is not None:
            context.sni_callback = _by_name(trusted, untrusted)
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=server.serve_forever, daemon=True).start()


def _by_name(trusted: ssl.SSLContext, untrusted: ssl.SSLContext) -> Any:
    def choose(sock: ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
        sock.context = untrusted if name == "untrusted.example.net" else trusted

    return choose
