"""The probes for sessions with a network: they list a server of their own, on this machine."""

from __future__ import annotations

import os
import secrets
import socket
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tinyagent.execution.definition import Sandbox
from tinyagent.execution.doctor.bench import Bench, Probe, ProbeFailed, ProbeResult
from tinyagent.execution.network.names import host_name
from tinyagent.execution.network.rules import Allow
from tinyagent.execution.network.secrets import Bearer
from tinyagent.execution.trust import NETWORK_PROMISES

_SETUP = """
import http.client, os, socket

def ask(host, port, method="GET", path="/"):
    connection = http.client.HTTPConnection(host, port, timeout=3)
    connection.request(method, path)
    answer = connection.getresponse()
    if answer.getheader("X-Refused-By") == "sandbox":
        raise PermissionError(answer.read())
    return answer.read()
"""


@dataclass(slots=True)
class ListedServer:
    """A server that the probes list: where it is, and what it was asked for."""

    port: int = 0
    asked: list[str] = field(default_factory=list[str])
    headers: list[str] = field(default_factory=list[str])


@contextmanager
def _listed_server() -> Generator[ListedServer]:
    noted = ListedServer()

    class Handler(BaseHTTPRequestHandler):
        """Notes each request."""

        protocol_version = "HTTP/1.1"
        timeout = 10

        def answer(self) -> None:
            noted.asked.append(f"{self.command} {self.path}")
            noted.headers.append(str(self.headers))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_POST = do_HEAD = answer  # noqa: N815 - the base class's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as above
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        noted.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield noted
        finally:
            server.shutdown()
            thread.join()


async def only_listed(bench: Bench) -> ProbeResult:
    """Reach what is not listed, and what is listed by other methods and paths."""
    acts = {
        "another port": "ask('localhost', TCP)",
        "another name": "ask('example.com', 80)",
        "an address": "ask('127.0.0.1', TCP)",
        "UDP": "socket.socket(type=socket.SOCK_DGRAM)",
        "a listener": "socket.socket().bind(('127.0.0.1', 0))",
        "another method": "ask('localhost', PORT, 'POST', '/open/x')",
        "another path": "ask('localhost', PORT, 'GET', '/closed')",
        "a path out of the listed one": "ask('localhost', PORT, 'GET', '/open/../closed')",
    }
    with _listed_server() as server:
        rule = Allow("GET", f"http://localhost:{server.port}/open/*")
        setup = f"{_SETUP}\nPORT = {server.port}\nask('localhost', PORT, 'GET', '/open/x')"
        finding = await bench.attempts(acts, setup, Sandbox(network=[rule]))
        if finding.held and server.asked != ["GET /open/x"]:
            return ProbeResult(held=False, tried=f"the server was asked {server.asked!r}")
    return finding


async def only_public(bench: Bench) -> ProbeResult:
    """Look up a name that is not listed, and reach this machine by its own name."""
    name = host_name(socket.gethostname()) or "localhost.localdomain"
    port: int = bench.canaries.facts()["TCP"]
    acts = {
        "look up another name": "socket.getaddrinfo('example.com', 80)",
        "look it up without the session's hook": "REAL('example.com', 80)",
        "this machine by its name": f"ask({name!r}, {port})",
    }
    setup = f"{_SETUP}\nimport _socket\nREAL = _socket.getaddrinfo"
    return await bench.attempts(acts, setup, Sandbox(network=[f"{name}:{port}"]))


async def keys(bench: Bench) -> ProbeResult:
    """Find a key in the session, and have it sent in the clear."""
    variable, key = f"TINYAGENT_KEY_{secrets.token_hex(4).upper()}", secrets.token_hex(16)
    acts = {
        "os.environ": "holds(os.environ[VARIABLE])",
        "/proc/self": "holds(open('/proc/self/environ').read())",
        "memory": "[o for o in gc.get_objects() if isinstance(o, dict) and held(o)][0]",
        "files of /etc": "holds(''.join(map(read, os.listdir('/etc'))))",
    }
    half = len(key) // 2
    setup = f"""{_SETUP}
import gc
VARIABLE, HALVES = {variable!r}, ({key[:half]!r}, {key[half:]!r})
def held(value):
    text = repr(value)
    return HALVES[0] + HALVES[1] in text
def holds(value):
    held(value) or fail()
def read(name):
    path = f"/etc/{{name}}"
    return open(path).read() if os.path.isfile(path) else ""
ask("localhost", {{port}})
"""
    os.environ[variable] = key
    try:
        with _listed_server() as server:
            code = setup.replace("{port}", str(server.port))
            sandbox = Sandbox(
                network=[f"localhost:{server.port}", "localhost:443"],
                secrets={"localhost": Bearer(env=variable)},
            )
            finding = await bench.attempts(acts, code, sandbox)
            if key in "".join(server.headers):
                return ProbeResult(held=False, tried="the key was sent in the clear")
    finally:
        del os.environ[variable]
    return finding


async def connections(bench: Bench) -> ProbeResult:
    """Keep a connection from one step to the next, and use it from a thread meanwhile."""
    with _listed_server() as server:
        first = f"""{_SETUP}
connection = http.client.HTTPConnection("localhost", {server.port}, timeout=3)
connection.request("GET", "/first")
connection.getresponse().read()
"""
        second = """
connection.sock.sendall(b"GET /second HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
connection.sock.recv(1)
"""
        sandbox = Sandbox(network=[f"localhost:{server.port}"])
        before, after = await bench.steps(first, second, sandbox=sandbox)
        if before.error is not None:
            raise ProbeFailed(before.error.strip().splitlines()[-1])
        is_dead = after.error is not None or after.value == b""
        held = is_dead and server.asked == ["GET /first"]
    tried = "a connection kept for the next step"
    return ProbeResult(held, f"{tried}: closed" if held else f"went through: {tried}")


async def nothing_without(bench: Bench) -> ProbeResult:
    """Use sockets in a session without a network."""
    acts = {
        "TCP": "socket.socket()",
        "UDP": "socket.socket(type=socket.SOCK_DGRAM)",
        "IPv6": "socket.socket(socket.AF_INET6)",
        "a name": "socket.getaddrinfo('example.com', 80)",
        "a hosts file": "open('/etc/hosts')",
        "a certificate": "open('/etc/sandbox-ca.pem')",
    }
    return await bench.attempts(acts, _SETUP)


_TRIED: Mapping[str, Probe] = {
    "N1": only_listed,
    "N2": only_public,
    "N3": keys,
    "N4": connections,
    "N5": nothing_without,
}
NETWORK_PROBES: Mapping[str, Probe] = {
    NETWORK_PROMISES[key]: probe for key, probe in _TRIED.items()
}
"""The probes, by the promise that each tries."""
