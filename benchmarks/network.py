"""What a network costs: the start of a session, and the CPU of a request in all processes.

The origin is a process of its own, and not counted.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import ssl
import statistics
import tempfile
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path

import trustme

from tinyagent import Sandbox
from tinyagent.execution import ProcessExecutor

SESSIONS = 40
REQUESTS = 300
CODE = """
import time, requests
session = requests.Session()
url = "{scheme}://localhost:{port}/x"
session.get(url)
before = time.process_time()
for _ in range({count}):
    session.get(url).content
print(time.process_time() - before)
"""


class Origin(BaseHTTPRequestHandler):
    """Answers with ten bytes."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(200)
        self.send_header("Content-Length", "10")
        self.end_headers()
        self.wfile.write(b"0123456789")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Print nothing."""


def cpu() -> float:
    """Seconds of CPU of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def start_ms(network: Sequence[str]) -> tuple[float, float]:
    """The median times to start a session and run a first step: without and with a network."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for number in range(2 * SESSIONS + 6):
        has_network = bool(number % 2)
        async with ProcessExecutor(Sandbox(network=network if has_network else ())) as executor:
            started = time.perf_counter()
            await executor.run("1")
            times[has_network].append(time.perf_counter() - started)
        await asyncio.sleep(0.03)  # the template forks the next process ahead
    return statistics.median(times[False]) * 1000, statistics.median(times[True]) * 1000


def serve(pipe: Connection, certificate: str | None) -> None:
    """Serve for ever; the port is sent to the parent."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    pipe.send(server.server_address[1])
    server.serve_forever()


def start(certificate: str | None) -> int:
    """Start an origin in a process of its own; returns its port."""
    ours, theirs = multiprocessing.Pipe()
    multiprocessing.Process(target=serve, args=(theirs, certificate), daemon=True).start()
    port: int = ours.recv()
    return port


async def request_ms(scheme: str, port: int) -> str:
    """CPU of a request, in the session and in the host."""
    async with ProcessExecutor(Sandbox(network=[f"localhost:{port}"])) as executor:
        await executor.run(CODE.format(scheme=scheme, port=port, count=3))
        before = cpu()
        result = await executor.run(CODE.format(scheme=scheme, port=port, count=REQUESTS))
        host = (cpu() - before) / REQUESTS * 1000
    if result.error is not None:
        raise SystemExit(result.error)
    inside = float(result.output) / REQUESTS * 1000
    return (
        f"CPU of a request ({scheme}, requests.Session): {inside + host:.2f} ms, of it"
        f" {inside:.2f} ms in the session and {host:.2f} ms in the host"
    )


async def main(folder: Path) -> None:
    """Measure and print."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    os.environ["SSL_CERT_FILE"] = str(folder / "ca.pem")
    pem = folder / "server.pem"
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(pem)
    port, secure = start(None), start(str(pem))
    without, having = await start_ms([f"localhost:{port}"])
    print(f"session start: {without:.1f} ms, with a network {having:.1f} ms")
    print(await request_ms("http", port))
    print(await request_ms("https", secure))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(main(Path(place)))
